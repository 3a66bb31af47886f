#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;
using elementwise::comparison;
using enum dtype;

constexpr dtype ordered_types[] = {f64, f32, f16, bf16, e4m3, e5m2, i8,
                                   u8,  i16, u16, i32,  u32,  i64};
constexpr dtype all_types[] = {f64, f32, f16, bf16, e4m3, e5m2, i8,     u8,
                               i16, u16, i32, u32,  i64,  u64,  boolean};

TEST(ElementwiseClamp, LimitsToAnInterval) {
  for (const dtype type : ordered_types) {
    for (const tensor_case& c : tensor_cases()) {
      scene s;
      name_case(s, type, c.size);
      auto& x = tensor_of(s, type, c);
      auto& y = c.size.size() == 2 ? s.again(x, x.view) : tensor_of(s, type, c);
      const bool is_real = is_float(type);
      const double low = is_real ? -0.25 : 3;
      const double high = is_real ? 0.5 : 40;
      reals wanted = content(x);
      for (double& one : wanted)
        one = std::min(std::max(one, low), high);
      const scalar least = is_real ? scalar(low) : scalar(3);
      s.run(elementwise::clamp{.x = x.view, .y = y.view, .low = least, .high = high});
      expect_reals(s, y, wanted);
    }
  }
}

TEST(ElementwiseClamp, OfIntegersKeepsAllBits) {
  scene s;
  auto& x = s.vector(i64, 2);
  s.fill(x, std::vector<number>{0x1p62, -0x1p62});
  auto& y = s.vector(i64, 2);
  s.run(elementwise::clamp{
      .x = x.view, .y = y.view, .low = (std::int64_t{1} << 60) + 1, .high = std::int64_t{1} << 61});
  std::int64_t now[2] = {};
  std::memcpy(now, s.bytes_now(y).data(), sizeof now);
  EXPECT_EQ(now[0], std::int64_t{1} << 61);
  EXPECT_EQ(now[1], (std::int64_t{1} << 60) + 1);
}

TEST(ElementwiseWhere, ChoosesAndBroadcasts) {
  for (const dtype type : all_types) {
    for (const tensor_case& c : tensor_cases()) {
      scene s;
      name_case(s, type, c.size);
      auto& condition = tensor_of(s, boolean, c);
      std::vector<number> truths;
      for (std::size_t i = 0; i < condition.values.size(); ++i)
        truths.emplace_back(s.generator()() % 2 == 0 ? 1 : 0);
      s.fill(condition, truths);
      auto& a = tensor_of(s, type, c);
      auto& b = s.tensor(type, {1}, {1});
      auto& y = c.size.size() == 2 ? s.again(a, a.view) : tensor_of(s, type, c);
      reals wanted = content(a);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = truths[i] != 0.0 ? wanted[i] : content(b)[0];
      s.run(elementwise::where{.condition = condition.view, .a = a.view, .b = b.view, .y = y.view});
      expect_reals(s, y, wanted, 0);
    }
  }
}

bool holds(comparison how, double a, double b) {
  switch (how) {
    case comparison::equal:
      return a == b;
    case comparison::not_equal:
      return a != b;
    case comparison::less:
      return a < b;
    case comparison::less_equal:
      return a <= b;
    case comparison::greater:
      return a > b;
    case comparison::greater_equal:
      return a >= b;
  }
  return false;
}

TEST(ElementwiseCompare, IsTrueWhereTheRelationHolds) {
  for (const dtype type : all_types) {
    for (int how = 0; how < 6; ++how) {
      for (const tensor_case& c : tensor_cases()) {
        scene s;
        name_case(s, type, c.size, how);
        auto& a = tensor_of(s, type, c);
        auto& b = tensor_of(s, type, c);
        std::vector<number> values = b.values;
        for (std::size_t i = 0; i < values.size(); i += 3)
          values[i] = a.values[i];
        if (is_float(type) && size_of(type) > 1 && values.size() > 1) values[1] = NAN;
        s.fill(b, values);
        auto& y = tensor_of(s, boolean, c);
        reals wanted;
        for (std::size_t i = 0; i < values.size(); ++i) {
          wanted.push_back(holds(static_cast<comparison>(how), content(a)[i], content(b)[i]) ? 1
                                                                                             : 0);
        }
        s.run(elementwise::compare{
            .a = a.view, .b = b.view, .y = y.view, .how = static_cast<comparison>(how)});
        expect_reals(s, y, wanted, 0);
      }
    }
  }
}

TEST(ElementwiseCompare, RefusesWhatCannotBeBroadcast) {
  scene s;
  auto& a = s.tensor(f32, {3, 4}, {4, 1});
  auto& b = s.tensor(f32, {3}, {1});
  auto& y = s.tensor(boolean, {3, 4}, {4, 1});
  s.refuse(elementwise::compare{.a = a.view, .b = b.view, .y = y.view}, errc::shape_mismatch,
           "b is [3] and cannot be broadcast to y, which is [3, 4]");
}

TEST(ElementwiseOneHot, WritesOneNumberAtEachIndex) {
  for (const dtype indices : {i32, i64}) {
    for (const dtype type : all_types) {
      for (const tensor_case& c : tensor_cases()) {
        constexpr std::int64_t classes = 7;
        scene s;
        name_case(s, type, c.size, indices == i32 ? 0 : 1);
        auto& at = tensor_of(s, indices, c);
        std::vector<number> places;
        for (std::size_t i = 0; i < at.values.size(); ++i)
          places.emplace_back(static_cast<double>(s.generator()() % 9) - 1);
        s.fill(at, places);
        extents size = c.size;
        size.push_back(classes);
        auto& y = s.tensor(type, size, packed_strides(size));
        const bool is_real = is_float(type);
        const double on = is_real ? 0.75 : 1;
        const double off = is_real ? 0.1 : 0;
        s.run(elementwise::one_hot{.indices = at.view, .y = y.view, .on = on, .off = off});
        reals wanted;
        for (const number& place : places) {
          for (std::int64_t k = 0; k < classes; ++k)
            wanted.push_back(place.real() == static_cast<double>(k) ? on : off);
        }
        expect_reals(s, y, wanted, 0);
      }
    }
  }
}

TEST(ElementwiseArange, IsAnArithmeticProgression) {
  for (const dtype type : all_types) {
    if (type == boolean) continue;
    for (const std::int64_t n : {0, 1, 7, 1025}) {
      for (const std::int64_t stride : {1, 3}) {
        scene s;
        name_case(s, type, {n}, stride);
        auto& y = s.vector(type, n, stride);
        const bool is_real = is_float(type);
        const bool is_small = size_of(type) == 1;
        const double start = is_real ? -0.3 : 2;
        const double step = is_real ? (is_small ? 0.01 : 0.7) : (is_small ? 0 : 3);
        s.run(elementwise::arange{.y = y.view, .start = start, .step = step});
        reals wanted;
        for (std::int64_t i = 0; i < n; ++i)
          wanted.push_back(start + static_cast<double>(i) * step);
        expect_reals(s, y, wanted, 0);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
