#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <string>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;
using elementwise::scatter_mode;
using enum dtype;

/// A table of n rows, and a list of rows in some shape.
struct rows_case {
  std::int64_t n;
  std::int64_t w;
  extents batch;
  std::int64_t gap;  ///< between elements
};
const std::vector<rows_case>& rows_cases() {
  static const std::vector<rows_case> all = {
      {1, 1, {}, 0},     {5, 33, {1}, 0},       {9, 2500, {7}, 0}, {33, 17, {4, 5, 3}, 1},
      {3, 1, {1025}, 0}, {100, 64, {3, 65}, 0}, {4, 3, {0}, 0},    {4, 0, {3}, 0}};
  return all;
}

extents with_last(extents size, std::int64_t n) {
  size.push_back(n);
  return size;
}
extents strides_of(const extents& size, std::int64_t gap) {
  extents strides = packed_strides(size);
  for (std::int64_t& one : strides)
    one *= 1 + gap;
  return strides;
}
test_tensor& indices_of(scene& s, dtype type, const rows_case& c) {
  test_tensor& t = s.tensor(type, c.batch, strides_of(c.batch, c.gap));
  std::vector<number> values;
  for (std::size_t i = 0; i < t.values.size(); ++i)
    values.emplace_back(static_cast<double>(s.generator()() % static_cast<std::uint64_t>(c.n)));
  s.fill(t, values);
  return t;
}
test_tensor& list_of(scene& s, dtype type, const rows_case& c) {
  const extents size = with_last(c.batch, c.w);
  return s.tensor(type, size, strides_of(size, c.gap));
}
test_tensor& table_of(scene& s, dtype type, const rows_case& c) {
  return s.tensor(type, {c.n, c.w}, strides_of({c.n, c.w}, c.gap));
}

TEST(ElementwiseGatherRows, CopiesRowsByTheirNumbers) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    for (const dtype index_type : {i32, i64}) {
      for (const rows_case& c : rows_cases()) {
        scene s;
        name_case(s, type, c.batch, c.w);
        auto& table = table_of(s, type, c);
        auto& indices = indices_of(s, index_type, c);
        auto& y = list_of(s, type, c);
        s.run(elementwise::gather_rows{.table = table.view, .indices = indices.view, .y = y.view});
        const auto w = static_cast<std::size_t>(c.w);
        const std::vector<number> now = s.elements_now(y);
        for (std::size_t i = 0; i < now.size(); ++i) {
          const auto row = static_cast<std::size_t>(content(indices)[i / w]);
          ASSERT_EQ(now[i], table.values[row * w + i % w]) << i << s.note();
        }
      }
    }
  }
}

TEST(ElementwiseGatherRows, HaveSumsAsGradient) {
  for (const dtype type : norm_types) {
    for (const dtype index_type : {i32, i64}) {
      for (const rows_case& c : rows_cases()) {
        scene s;
        name_case(s, type, c.batch, c.w);
        auto& dy = list_of(s, type, c);
        auto& indices = indices_of(s, index_type, c);
        auto& dtable = table_of(s, type, c);
        s.run(elementwise::gather_rows_backward{
            .dy = dy.view, .indices = indices.view, .dtable = dtable.view});
        const auto w = static_cast<std::size_t>(c.w);
        reals wanted(dtable.values.size());
        const reals added = content(dy);
        const reals rows = content(indices);
        for (std::size_t i = 0; i < added.size(); ++i)
          wanted[static_cast<std::size_t>(rows[i / w]) * w + i % w] += added[i];
        expect_reals(s, dtable, wanted, 16);
      }
    }
  }
}

TEST(ElementwiseScatterRows, SetAndAddInOrder) {
  for (const dtype type : norm_types) {
    for (const dtype index_type : {i32, i64}) {
      for (const rows_case& c : rows_cases()) {
        for (const scatter_mode mode : {scatter_mode::set, scatter_mode::add}) {
          scene s;
          name_case(s, type, c.batch, c.w);
          auto& x = list_of(s, type, c);
          auto& indices = indices_of(s, index_type, c);
          auto& table = table_of(s, type, c);
          s.run(elementwise::scatter_rows{
              .x = x.view, .indices = indices.view, .table = table.view, .mode = mode});
          const auto w = static_cast<std::size_t>(c.w);
          reals wanted = content(table);
          const reals values = content(x);
          const reals rows = content(indices);
          for (std::size_t i = 0; i < values.size(); ++i) {
            double& one = wanted[static_cast<std::size_t>(rows[i / w]) * w + i % w];
            one = mode == scatter_mode::set ? values[i] : one + values[i];
          }
          expect_reals(s, table, wanted, 16);
        }
      }
    }
  }
}

// The value of an index is known only when the request runs; nothing is written then.
TEST(ElementwiseGatherRows, FailWhereAnIndexIsOutOfRange) {
  for (const double wrong : {-1.0, 5.0}) {
    scene s;
    s.keep_layouts();
    auto& table = s.tensor(f32, {5, 3}, {3, 1});
    auto& indices = s.vector(i32, 4);
    s.fill(indices, {0, 4, wrong, wrong});
    auto& y = s.tensor(f32, {4, 3}, {3, 1});
    auto& dtable = s.tensor(f32, {5, 3}, {3, 1});
    auto& x = s.tensor(f32, {4, 3}, {3, 1});
    const std::string text =
        "index number 2 is " + std::to_string(static_cast<int>(wrong)) + ", not within 0 and 4";
    const auto expect_failure = [&](const result<void>& answer) {
      ASSERT_FALSE(answer);
      EXPECT_EQ(answer.error().code, errc::invalid_argument);
      EXPECT_NE(answer.error().message.find(text), std::string::npos) << answer.error().message;
    };
    expect_failure(s.attempt(
        elementwise::gather_rows{.table = table.view, .indices = indices.view, .y = y.view}));
    expect_failure(s.attempt(elementwise::gather_rows_backward{
        .dy = y.view, .indices = indices.view, .dtable = dtable.view}));
    const reals before = content(table);
    expect_failure(s.attempt(
        elementwise::scatter_rows{.x = x.view, .indices = indices.view, .table = table.view}));
    expect_reals(s, table, before, 0);
  }
}

TEST(ElementwiseCumulate, GoesAlongTheAxis) {
  for (const dtype type : {f64, f32, f16, bf16, i32, i64}) {
    for (const tensor_case& c : tensor_cases()) {
      for (int option = 0; option < 16; ++option) {
        const bool product = (option & 1) != 0;
        const bool exclusive = (option & 2) != 0;
        const bool reverse = (option & 4) != 0;
        const bool in_place = (option & 8) != 0;
        scene s;
        name_case(s, type, c.size, option);
        auto& x = tensor_of(s, type, c);
        std::vector<number> values = x.values;
        // Products that stay within range.
        for (std::size_t i = 0; product && i < values.size(); ++i)
          values[i] = is_integer(type) ? (i % 2 == 0 ? 1.0 : -1.0) : 1 + values[i].real() / 64;
        s.fill(x, values);
        auto& y = in_place ? s.again(x, x.view) : tensor_of(s, type, c);
        const auto rank = static_cast<std::int64_t>(c.size.size());
        const reals from = content(x);
        reals wanted(from.size());
        for (auto row : rows_of(c.size, {c.axis < 0 ? c.axis + rank : c.axis})) {
          if (reverse) std::ranges::reverse(row);
          double sum = product ? 1 : 0;
          for (const std::size_t i : row) {
            const double next = product ? sum * from[i] : sum + from[i];
            wanted[i] = exclusive ? sum : next;
            sum = next;
          }
        }
        s.run(elementwise::cumulate{
            .x = x.view,
            .y = y.view,
            .axis = c.axis,
            .how = product ? elementwise::cumulation::product : elementwise::cumulation::sum,
            .exclusive = exclusive,
            .reverse = reverse});
        expect_reals(s, y, wanted, 32);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
