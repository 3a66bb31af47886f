#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/sorting.hpp>

#include <fmt/format.h>

#include <limits>

namespace troupe::primitives {

void sort::describe(description<sort>& d) {
  const extent n = d.size("n");
  d.about("Sorts a vector.");
  d.reads("x", &sort::x, {n}, "vector");
  d.updates("y", &sort::y, {n}, "takes the elements in order")
      .updated_where(d.same_view(&sort::y, &sort::x))
      .may_be(&sort::x);
  d.value("descending", &sort::descending, "the largest first");
  d.layouts(layout::vector, {&sort::x, &sort::y});
  d.same_type({&sort::x, &sort::y}, ordered_types);
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
           offsets_bound_segments(check, r.offsets)
               .rule(r.x.extent(0) <= most, errc::size_overflow,
                     [&] {
                       return fmt::format("x has {} elements, {} is the most", r.x.extent(0), most);
                     })
               .rule(r.offsets.extent(0) - 1 <= most, errc::size_overflow, [&] {
                 return fmt::format("offsets bounds {} segments, {} is the most",
                                    r.offsets.extent(0) - 1, most);
               });
         });
}

void top_k::describe(description<top_k>& d) {
  const extent n = d.size("n"), k = d.size("k");
  d.about("Finds the k largest or smallest elements of a vector, sorted, and their indices.");
  d.reads("x", &top_k::x, {n}, "vector");
  d.writes("values", &top_k::values, {k}, "takes the elements, the extreme one first");
  d.writes("indices", &top_k::indices, {k}, "takes their indices in x").optional();
  d.value("smallest", &top_k::smallest, "the smallest elements and not the largest");
  d.layouts(layout::vector, {&top_k::x, &top_k::values, &top_k::indices});
  d.same_type({&top_k::x, &top_k::values}, ordered_types);
  d.same_type({&top_k::indices}, {dtype::i64});
  d.rule("x has at least k elements", [](argument_checks& check, const top_k& r) {
    check.rule(r.values.extent(0) <= r.x.extent(0), errc::shape_mismatch, [&] {
      return fmt::format("values has {} elements, but x has only {}", r.values.extent(0),
                         r.x.extent(0));
    });
  });
}

}  // namespace troupe::primitives
