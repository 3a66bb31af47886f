#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/sorting.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace troupe::primitives {

namespace {

// Indices of i64 are what a request gets that leaves them open.
type_rows rows_with_indices() {
  type_rows rows({});
  for (const dtype type : ordered_types) {
    rows.rows.push_back({type, type, dtype::i64});
    rows.rows.push_back({type, type, dtype::i32});
  }
  return rows;
}

}  // namespace

void sort::describe(description<sort>& d) {
  const extent all = d.sizes("shape", 1);
  d.about("Sorts each row of a tensor along an axis; equal elements keep their order.");
  d.reads("x", &sort::x, {all}, "elements");
  d.updates("y", &sort::y, {all}, "takes the elements in order")
      .updated_where(d.same_view(&sort::y, &sort::x))
      .may_be(&sort::x);
  d.value("descending", &sort::descending, "the largest first");
  d.value("axis", &sort::axis, "the axis of rows; a negative one counts from the last");
  d.writes("indices", &sort::indices, {all}, "takes where in its row of x each element was")
      .optional();
  d.types({&sort::x, &sort::y, &sort::indices}, rows_with_indices());
  d.rule("the axis exists, and its indices fit in 31 bits",
         [](argument_checks& check, const sort& r) {
           if (!axis_exists(check, r.axis, r.x.rank()).good()) return;
           if (r.x.rank() == 1 && r.indices.null()) return;
           const auto axis = static_cast<int>(r.axis < 0 ? r.axis + r.x.rank() : r.axis);
           are_counted(check, "rows of x have", r.x.extent(axis));
         });
}

void sort_pairs::describe(description<sort_pairs>& d) {
  using R = sort_pairs;
  const extent n = d.size("n");
  d.about("Sorts pairs of a key and a value by key; equal keys keep their order.");
  d.reads("keys", &R::keys, {n}, "keys to compare");
  d.reads("values", &R::values, {n}, "what goes along");
  d.updates("sorted_keys", &R::sorted_keys, {n}, "takes the keys in order")
      .updated_where(d.same_view(&R::sorted_keys, &R::keys))
      .may_be(&R::keys);
  d.updates("sorted_values", &R::sorted_values, {n}, "takes the values in the order of their keys")
      .updated_where(d.same_view(&R::sorted_values, &R::values))
      .may_be(&R::values);
  d.value("descending", &R::descending, "the largest key first");
  d.layouts(layout::vector, {&R::keys, &R::values, &R::sorted_keys, &R::sorted_values});
  d.same_type({&R::keys, &R::sorted_keys}, ordered_types);
  d.same_type({&R::values, &R::sorted_values}, every_type);
}

void segmented_sort::describe(description<segmented_sort>& d) {
  using R = segmented_sort;
  const extent n = d.size("n"), bounds = d.size("bounds");
  d.about("Sorts each segment of a vector; elements of no segment are copied.");
  d.reads("x", &R::x, {n}, "vector");
  d.reads("offsets", &R::offsets, {bounds},
          "where segments begin, ascending; the last is the end of the last segment");
  d.updates("y", &R::y, {n}, "takes the elements in order")
      .updated_where(d.same_view(&R::y, &R::x))
      .may_be(&R::x);
  d.value("descending", &R::descending, "the largest first");
  d.layouts(layout::vector, {&R::x, &R::offsets, &R::y});
  d.same_type({&R::x, &R::y}, ordered_types);
  d.same_type({&R::offsets}, {dtype::i64});
  d.rule("there are fewer than 2^31 elements and segments, and at least one offset",
         [](argument_checks& check, const R& r) {
           constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
           offsets_bound_segments(check, r.offsets);
           are_counted(check, "x has", r.x.extent(0))
               .rule(r.offsets.extent(0) - 1 <= most, errc::size_overflow, [&] {
                 return fmt::format("offsets bounds {} segments, {} is the most",
                                    r.offsets.extent(0) - 1, most);
               });
         });
}

void top_k::describe(description<top_k>& d) {
  const extent batch = d.sizes("batch", 0, max_rank - 1), n = d.size("n"), k = d.size("k");
  d.about(
      "Finds the k largest or smallest elements of each row, sorted, and their indices; of equal "
      "ones the first.");
  d.reads("x", &top_k::x, {batch, n}, "rows");
  d.writes("values", &top_k::values, {batch, k}, "takes the elements, the extreme one first");
  d.writes("indices", &top_k::indices, {batch, k}, "takes their indices in their rows").optional();
  d.value("smallest", &top_k::smallest, "the smallest elements and not the largest");
  d.value("k", &top_k::k, "how many; 0: as many as values has room for").at_least(0);
  d.types({&top_k::x, &top_k::values, &top_k::indices}, rows_with_indices());
  d.derived(k, [](const top_k& r, std::vector<std::int64_t>& extents) {
    if (r.k < 1 || r.x.rank() < 1) return;
    // More than there are is refused, but not before its results are allocated.
    extents.push_back(std::min(r.k, r.x.extent(r.x.rank() - 1) + 1));
  });
  d.rule("k is the length of values, and at most that of x's rows", [](argument_checks& check,
                                                                       const top_k& r) {
    const std::int64_t has = r.x.extent(r.x.rank() - 1);
    const std::int64_t room = r.values.extent(r.values.rank() - 1);
    check
        .rule(r.k <= has, errc::shape_mismatch,
              [&] { return fmt::format("k is {}, but x has only {}", r.k, has); })
        .rule(room <= has, errc::shape_mismatch,
              [&] { return fmt::format("values has {} elements, but x has only {}", room, has); })
        .rule(r.k == 0 || r.k == room, errc::shape_mismatch, [&] {
          return fmt::format("values has {} elements in a row, but k is {}", room, r.k);
        });
    const bool short_indices = !r.indices.null() && r.indices.type() == dtype::i32;
    if (r.x.rank() > 1 || short_indices) are_counted(check, "rows of x have", has);
  });
}

}  // namespace troupe::primitives
