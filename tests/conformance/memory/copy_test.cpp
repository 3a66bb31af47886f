#include "conformance/scene.hpp"

#include <troupe/memory/copy.hpp>

#include <algorithm>
#include <numeric>

namespace troupe::conformance {
namespace {

using extents = scene::extents;

/// Strides for `size` with the dimensions laid out in `order`, outermost first, and gaps.
extents laid_out(const extents& size, const std::vector<std::size_t>& order, std::int64_t gap) {
  extents strides(size.size());
  std::int64_t step = 1 + gap;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step = step * std::max<std::int64_t>(size[order[i]], 1) + gap;
  }
  return strides;
}

void check_copy(dtype type, const extents& size, const extents& from_strides,
                const extents& to_strides) {
  scene s;
  std::string text(to_string(type));
  for (const std::int64_t e : size)
    text += " " + std::to_string(e);
  s.name(text);
  auto& from = s.tensor(type, size, from_strides);
  auto& to = s.tensor(type, size, to_strides);
  s.run(memory::copy{.from = from.view, .to = to.view});
  EXPECT_EQ(s.elements_now(to), from.values) << s.note();
}

TEST(MemoryCopy, CopiesEveryTypeBetweenAnyStrides) {
  const extents shapes[] = {{},          {0},          {1},          {7},
                            {100},       {5, 3},       {3, 0, 2},    {70, 90},
                            {3, 40, 50}, {2, 3, 4, 5}, {1, 6, 1, 3}, {2, 1, 2, 1, 2, 1, 2, 3}};
  for (int t = 0; t < dtype_count; ++t) {
    for (const extents& size : shapes) {
      std::vector<std::size_t> rows(size.size());
      std::iota(rows.begin(), rows.end(), 0u);
      const std::vector<std::size_t> columns(rows.rbegin(), rows.rend());
      std::vector<std::size_t> mixed = rows;
      if (mixed.size() > 2) std::rotate(mixed.begin(), mixed.begin() + 1, mixed.end());
      for (const auto& from : {rows, columns, mixed}) {
        for (const auto& to : {rows, columns, mixed}) {
          for (const std::int64_t gap : {0, 2}) {
            check_copy(static_cast<dtype>(t), size, laid_out(size, from, gap),
                       laid_out(size, to, 0));
            check_copy(static_cast<dtype>(t), size, laid_out(size, from, 0),
                       laid_out(size, to, gap));
          }
        }
      }
    }
  }
}

TEST(MemoryCopy, RepeatsWhereTheSourceHasStrideZero) {
  scene s;
  auto& row = s.tensor(dtype::i32, {1, 5}, {5, 1});
  const std::int64_t repeated[] = {0, 1};
  auto& from = s.again(row, row.view.as_strided({4, 5}, repeated).value());
  auto& to = s.tensor(dtype::i32, {4, 5}, {1, 4});
  s.run(memory::copy{.from = from.view, .to = to.view});
  EXPECT_EQ(s.elements_now(to), from.values);
}

// Rows long enough for whatever moves rows, and pieces of them that do not begin where vectors do.
TEST(MemoryCopy, CopiesLongRows) {
  for (const dtype type : {dtype::u8, dtype::bf16, dtype::f32, dtype::c128}) {
    for (const std::int64_t gap : {0, 1, 8, 64}) {
      for (const std::int64_t length : {640, 1027}) {
        check_copy(type, {9, length}, {length + gap, 1}, {length, 1});
        check_copy(type, {9, length}, {length, 1}, {length + gap, 1});
        check_copy(type, {4, 3, length}, {3 * length + gap, length, 1}, {length, 4 * length, 1});
      }
    }
  }
  scene s;
  auto& whole = s.vector(dtype::u8, 100'000);
  auto& from = s.again(whole, whole.view.slice(0, 3, 90'000).value());
  auto& to = s.vector(dtype::u8, 90'000 - 3);
  s.run(memory::copy{.from = from.view, .to = to.view});
  EXPECT_EQ(s.bytes_now(to), s.bytes_now(from));
}

TEST(MemoryCopy, MovesHugeStrides) {
  scene s;
  auto& from = s.tensor(dtype::u8, {3, 2}, {100003, 50021});
  auto& to = s.tensor(dtype::u8, {3, 2}, {1, 65537});
  s.run(memory::copy{.from = from.view, .to = to.view});
  EXPECT_EQ(s.elements_now(to), from.values);
}

TEST(MemoryCopy, OfAViewToItselfChangesNothing) {
  scene s;
  auto& t = s.matrix_of(dtype::f32, 4, 5, layout::row_padded);
  s.run(memory::copy{.from = t.view, .to = t.view});
  EXPECT_EQ(s.elements_now(t), t.values);
}

TEST(MemoryCopy, RefusesWhatItCannotDo) {
  scene s;
  const auto t = s.matrix_of(dtype::f32, 4, 4, layout::row).view;
  s.refuse(memory::copy{.from = t, .to = s.matrix_of(dtype::f32, 4, 5, layout::row).view},
           errc::shape_mismatch, "to must have the extents of from, [4, 4]; it is [4, 5]");
  s.refuse(memory::copy{.from = t, .to = s.matrix_of(dtype::i32, 4, 4, layout::row).view},
           errc::type_mismatch, "to must be f32 because from is f32; it is i32");
  s.refuse(memory::copy{.from = t, .to = t.transpose()}, errc::aliasing, "to is written");
  s.refuse(memory::copy{.from = t.slice(0, 0, 3).value(), .to = t.slice(0, 1, 4).value()},
           errc::aliasing, "must not overlap from");
}

}  // namespace
}  // namespace troupe::conformance
