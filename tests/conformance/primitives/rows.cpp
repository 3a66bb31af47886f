// Requests on the rows of tensors, and what goes along with sorted elements.
#include "combining.hpp"

#include <troupe/primitives/scans.hpp>
#include <troupe/primitives/selection.hpp>
#include <troupe/primitives/sorting.hpp>

#include <algorithm>
#include <numeric>

namespace troupe::conformance {
namespace {

using extents = scene::extents;

/// A tensor whose dimensions lie in memory in another order, the last one of `order` innermost and
/// with a gap after each of its elements.
test_tensor& ordered_tensor(scene& s, dtype type, const extents& size, std::vector<int> order) {
  extents strides(size.size());
  std::int64_t next = s.generator()() % 2 == 0 ? 1 : 2;
  std::ranges::reverse(order);
  for (const int d : order) {
    strides[static_cast<std::size_t>(d)] = next;
    next *= std::max<std::int64_t>(size[static_cast<std::size_t>(d)], 1);
  }
  return s.tensor(type, size, strides);
}
test_tensor& any_order(scene& s, dtype type, const extents& size) {
  std::vector<int> order(size.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, s.generator());
  return ordered_tensor(s, type, size, order);
}

/// Calls `f(row)` with the flat row-major numbers of each row's elements.
template <class F>
void for_each_row(const extents& size, std::size_t axis, F f) {
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < size.size(); ++d)
    inner *= static_cast<std::size_t>(size[d]);
  const auto length = static_cast<std::size_t>(size[axis]);
  std::size_t outer = 1;
  for (std::size_t d = 0; d < axis; ++d)
    outer *= static_cast<std::size_t>(size[d]);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < inner; ++i) {
      std::vector<std::size_t> row(length);
      for (std::size_t j = 0; j < length; ++j)
        row[j] = (o * length + j) * inner + i;
      f(row);
    }
  }
}

/// The first k elements of a row in order, by an independent sort.
std::vector<std::size_t> first_of_row(dtype type, const std::vector<element_bits>& all,
                                      std::vector<std::size_t> row, bool descending,
                                      std::size_t k) {
  std::ranges::partial_sort(
      row, row.begin() + static_cast<std::ptrdiff_t>(k), [&](std::size_t a, std::size_t b) {
        const auto& [low, high] = descending ? std::pair(b, a) : std::pair(a, b);
        if (goes_before(type, all[low], all[high])) return true;
        return !goes_before(type, all[high], all[low]) && a < b;
      });
  row.resize(k);
  return row;
}
std::vector<std::size_t> sorted_row(dtype type, const std::vector<element_bits>& all,
                                    const std::vector<std::size_t>& row, bool descending) {
  return first_of_row(type, all, row, descending, row.size());
}

std::int64_t index_in(const element_bits& bits, dtype type) {
  return type == dtype::i32 ? static_cast<std::int32_t>(bits.words[0])
                            : static_cast<std::int64_t>(bits.words[0]);
}

std::string row_case(dtype type, const extents& size, std::size_t axis, content with) {
  std::string name = case_name(type, size[axis], with) + " of";
  for (const std::int64_t n : size)
    name += " " + std::to_string(n);
  return name + " along " + std::to_string(axis);
}

struct row_shape {
  extents size;
  std::size_t axis;
};
/// Rows that a warp, a block, a tile and more have room for; one long row; none.
const row_shape row_shapes[] = {{{5}, 0},         {{3, 40, 2}, 1}, {{2, 3, 700}, 2},
                                {{1500, 4}, 0},   {{2049, 3}, 0},  {{2, 4100}, 1},
                                {{1, 20'011}, 1}, {{300, 17}, 1},  {{2, 2, 3, 2, 2, 9}, 3},
                                {{4, 0, 3}, 0},   {{4, 0}, 1},     {{2, 0, 5}, 2}};

template <class F>
void for_each_row_case(F f) {
  std::size_t number = 0;
  for (const dtype type : ordered_types) {
    for (const row_shape& shape : row_shapes)
      f(type, shape, contents[number++ % std::size(contents)]);
  }
}

void expect_sorted(scene& s, primitives::sort r, test_tensor& x, test_tensor& y,
                   test_tensor* indices, const row_shape& shape) {
  const dtype type = x.view.type();
  const auto before = bits_before(x);
  s.run(std::move(r));
  const auto now = bits_now(s, y);
  const auto places = indices == nullptr ? std::vector<element_bits>() : bits_now(s, *indices);
  for_each_row(shape.size, shape.axis, [&](const std::vector<std::size_t>& row) {
    const auto order = sorted_row(type, before, row, r.descending);
    for (std::size_t j = 0; j < row.size() && !testing::Test::HasFailure(); ++j) {
      EXPECT_EQ(now[row[j]], before[order[j]]) << j << s.note();
      if (indices == nullptr) continue;
      const auto place = index_in(places[row[j]], indices->view.type());
      ASSERT_TRUE(place >= 0 && place < static_cast<std::int64_t>(row.size())) << s.note();
      EXPECT_EQ(row[static_cast<std::size_t>(place)], order[j]) << j << s.note();
    }
  });
}

TEST(PrimitivesRows, AreSortedAlongAnyAxisWithTheirIndices) {
  std::size_t number = 0;
  for_each_row_case([&](dtype type, const row_shape& shape, content with) {
    scene s;
    s.name(row_case(type, shape.size, shape.axis, with));
    auto& x = any_order(s, type, shape.size);
    auto& y = any_order(s, type, shape.size);
    fill_bits(s, x, with);
    test_tensor* indices = nullptr;
    if (++number % 3 != 0)
      indices = &any_order(s, number % 2 == 0 ? dtype::i32 : dtype::i64, shape.size);
    auto axis = static_cast<std::int64_t>(shape.axis);
    if (number % 4 == 0) axis -= static_cast<std::int64_t>(shape.size.size());
    expect_sorted(s,
                  {.x = x.view,
                   .y = y.view,
                   .descending = number % 5 < 2,
                   .axis = axis,
                   .indices = indices == nullptr ? any_tensor() : indices->view},
                  x, y, indices, shape);
  });
}

TEST(PrimitivesRows, AreSortedInPlace) {
  for (const row_shape& shape : row_shapes) {
    for (const bool has_indices : {false, true}) {
      scene s;
      s.name(row_case(dtype::i16, shape.size, shape.axis, content::few));
      auto& x = any_order(s, dtype::i16, shape.size);
      fill_bits(s, x, content::few);
      auto* const indices = has_indices ? &any_order(s, dtype::i64, shape.size) : nullptr;
      expect_sorted(s,
                    {.x = x.view,
                     .y = x.view,
                     .axis = static_cast<std::int64_t>(shape.axis),
                     .indices = has_indices ? indices->view : any_tensor()},
                    x, x, indices, shape);
    }
  }
}

void expect_top(dtype type, const extents& size, std::int64_t k, content with, bool smallest) {
  scene s;
  s.name(row_case(type, size, size.size() - 1, with) + " k=" + std::to_string(k));
  extents to = size;
  to.back() = k;
  auto& x = any_order(s, type, size);
  auto& values = any_order(s, type, to);
  auto& indices = any_order(s, k % 2 == 0 ? dtype::i32 : dtype::i64, to);
  fill_bits(s, x, with);
  const auto before = bits_before(x);
  s.run(primitives::top_k{.x = x.view,
                          .values = values.view,
                          .indices = indices.view,
                          .smallest = smallest,
                          .k = k % 3 == 0 ? 0 : k});
  const auto now = bits_now(s, values);
  const auto places = bits_now(s, indices);
  std::size_t at = 0;
  for_each_row(size, size.size() - 1, [&](const std::vector<std::size_t>& row) {
    const auto order = first_of_row(type, before, row, !smallest, static_cast<std::size_t>(k));
    for (std::size_t j = 0; j < static_cast<std::size_t>(k); ++j, ++at) {
      if (testing::Test::HasFailure()) return;
      EXPECT_EQ(now[at], before[order[j]]) << j << s.note();
      const auto place = static_cast<std::size_t>(index_in(places[at], indices.view.type()));
      ASSERT_LT(place, row.size()) << j << s.note();
      EXPECT_EQ(row[place], order[j]) << j << s.note();
    }
  });
}

TEST(PrimitivesTopK, FindsTheExtremesOfEachRow) {
  std::size_t number = 0;
  for (const dtype type : ordered_types) {
    for (const extents& size : {extents{3, 1}, extents{4, 2, 70}, extents{2, 3, 1100},
                                extents{5, 3000}, extents{2, 40'001}, extents{0, 7}}) {
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{8}, std::int64_t{64},
                                   std::int64_t{1000}, std::int64_t{2500}}) {
        if (k > size.back()) continue;
        const content with = contents[number++ % std::size(contents)];
        expect_top(type, size, k, with, number % 3 == 0);
      }
    }
  }
}

// Each row is searched in parts on a GPU, whose results are merged; what is sorted either way is
// the most work.
TEST(PrimitivesTopK, FindsTheExtremesOfLongRows) {
  for (const content with : contents) {
    expect_top(dtype::f32, {3, 60'001}, 100, with, false);
    expect_top(dtype::i64, {1, 70'001}, 1024, with, true);
  }
  expect_top(dtype::u8, {2, (1 << 20) + 3}, 1500, content::any, false);
}

TEST(PrimitivesTopK, RefusesWhatDoesNotFit) {
  scene s;
  auto& x = s.tensor(dtype::f32, {2, 3}, {3, 1});
  auto& values = s.tensor(dtype::f32, {2, 2}, {2, 1});
  s.refuse(primitives::top_k{.x = x.view, .values = values.view, .k = 1}, errc::shape_mismatch,
           "values has 2 elements in a row, but k is 1");
  s.refuse(primitives::top_k{.x = x.view, .values = values.view, .k = 4}, errc::shape_mismatch,
           "k is 4, but x has only 3");
  s.refuse(primitives::top_k{.x = x.view, .values = s.vector(dtype::f32, 2).view},
           errc::shape_mismatch);
  s.refuse(primitives::sort{.x = x.view, .y = x.view, .axis = 2}, errc::invalid_argument,
           "axis must be from -2 to 1; it is 2");
  s.refuse(primitives::scan{.x = x.view, .y = x.view, .axis = -3}, errc::invalid_argument,
           "axis must be from -2 to 1; it is -3");
}

TEST(PrimitivesRows, AreScannedAlongAnyAxis) {
  std::size_t number = 0;
  const auto expect = [&](dtype type, const row_shape& shape, content with,
                          primitives::combination op) {
    scene s;
    s.name(row_case(type, shape.size, shape.axis, with) + " " + name_of(op));
    const auto types = types_of_result(type, op);
    const dtype to = types[number++ % types.size()];
    auto& x = any_order(s, type, shape.size);
    auto& y = to == type && number % 3 == 0 ? x : any_order(s, to, shape.size);
    fill_to_combine(s, x, with, op);
    const auto before = bits_before(x);
    const bool exclusive = number % 4 == 0;
    s.run(primitives::scan{.x = x.view,
                           .y = y.view,
                           .op = op,
                           .exclusive = exclusive,
                           .axis = static_cast<std::int64_t>(shape.axis)});
    const auto now = bits_now(s, y);
    for_each_row(shape.size, shape.axis, [&](const std::vector<std::size_t>& row) {
      combined all = none(type, op);
      for (const std::size_t i : row) {
        if (testing::Test::HasFailure()) return;
        if (!exclusive) extend(all, type, before[i], op);
        expect_element(to, now[i], type, all, " at " + std::to_string(i) + s.note());
        if (exclusive) extend(all, type, before[i], op);
      }
    });
  };
  for (const dtype type : ordered_types) {
    for (const row_shape& shape : row_shapes) {
      const content with = number % 2 == 0 ? content::any : content::special;
      expect(type, shape, with, combinations[number / 2 % std::size(combinations)]);
      expect(type, shape, with, primitives::combination::maximum);
    }
  }
  // Many long rows whose neighbours are nearer than their elements.
  expect(dtype::f32, {{70, 5000}, 0}, content::any, primitives::combination::minimum);
}

struct kept_elements {
  std::vector<element_bits> values;
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> inverse;
};
kept_elements unique_of(const std::vector<element_bits>& x, const std::vector<std::size_t>& order) {
  kept_elements kept;
  kept.inverse.resize(x.size());
  for (const std::size_t i : order) {
    if (kept.values.empty() || kept.values.back() != x[i]) {
      kept.values.push_back(x[i]);
      kept.counts.push_back(0);
    }
    ++kept.counts.back();
    kept.inverse[i] = static_cast<std::int64_t>(kept.values.size()) - 1;
  }
  return kept;
}

TEST(PrimitivesSelect, KeepsEachElementOnceWithCountsAndInverse) {
  std::size_t number = 0;
  for (const dtype type : every_type) {
    for (const content with : contents) {
      const std::int64_t n = lengths[number++ % std::size(lengths)];
      const bool sorts = !is_complex(type) && number % 4 != 0;
      scene s;
      s.name(case_name(type, n, with) + (sorts ? " sorted" : ""));
      auto& x = s.vector(type, n, number % 2 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      const auto before = bits_before(x);
      std::vector<std::size_t> order(before.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      if (sorts) order = sorted_row(type, before, order, false);
      const auto kept = unique_of(before, order);
      const auto most = static_cast<std::int64_t>(kept.values.size());
      auto& y = s.vector(type, most + 2, number % 3 == 0 ? 2 : 1);
      auto& counts = s.vector(dtype::i64, most + 2, number % 5 == 0 ? 2 : 1);
      auto& inverse = s.vector(dtype::i64, n, number % 7 == 0 ? 2 : 1);
      primitives::unique request{.x = x.view, .y = y.view, .sort = sorts};
      if (number % 3 != 1) request.counts = counts.view;
      if (number % 5 < 3) request.inverse = inverse.view;
      EXPECT_EQ(s.run(request), most) << s.note();
      auto values = bits_now(s, y);
      values.resize(kept.values.size());
      EXPECT_EQ(values, kept.values) << s.note();
      if (!request.counts.null()) {
        auto found = integers_now(s, counts);
        found.resize(kept.counts.size());
        EXPECT_EQ(found, kept.counts) << s.note();
      }
      if (!request.inverse.null()) {
        EXPECT_EQ(integers_now(s, inverse), kept.inverse) << s.note();
      }
    }
  }
}

TEST(PrimitivesSelect, RefusesToSortWhatHasNoOrder) {
  scene s;
  s.refuse(
      primitives::unique{
          .x = s.vector(dtype::c64, 3).view, .y = s.vector(dtype::c64, 3).view, .sort = true},
      errc::type_mismatch, "x is c64, which has no order to sort by");
}

}  // namespace
}  // namespace troupe::conformance
