#include "named_cases.hpp"
#include "reference.hpp"

#include <troupe/elementwise.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <optional>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::reduce;
using elementwise::reduction;
using elementwise::value;
using namespace elementwise_reference;
using result_list = std::vector<elementwise::result_value>;

constexpr reduction all_reductions[] = {reduction::sum,     reduction::product, reduction::minimum,
                                        reduction::maximum, reduction::argmin,  reduction::argmax,
                                        reduction::mean,    reduction::any,     reduction::all};

bool gives_index(reduction op) { return op == reduction::argmin || op == reduction::argmax; }
bool gives_boolean(reduction op) { return op == reduction::any || op == reduction::all; }

/// The definition, of the elements of one row in their order.
double reduced(reduction op, const reals& row) {
  const auto first_nan = std::ranges::find_if(row, [](double x) { return std::isnan(x); });
  const auto place = [&](auto found) {
    return static_cast<double>((first_nan != row.end() ? first_nan : found) - row.begin());
  };
  switch (op) {
    case reduction::sum:
      return std::accumulate(row.begin(), row.end(), 0.0);
    case reduction::product:
      return std::accumulate(row.begin(), row.end(), 1.0, std::multiplies<>());
    case reduction::minimum:
      return first_nan != row.end() ? nan : row.empty() ? infinity : std::ranges::min(row);
    case reduction::maximum:
      return first_nan != row.end() ? nan : row.empty() ? -infinity : std::ranges::max(row);
    case reduction::argmin:
      return row.empty() ? -1 : place(std::ranges::min_element(row));
    case reduction::argmax:
      return row.empty() ? -1 : place(std::ranges::max_element(row));
    case reduction::mean:
      return std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
    case reduction::any:
      return std::ranges::any_of(row, [](double x) { return x != 0; }) ? 1 : 0;
    case reduction::all:
      return std::ranges::all_of(row, [](double x) { return x != 0; }) ? 1 : 0;
  }
  return nan;
}

/// The scale of the errors of intermediate results.
double magnitude(reduction op, const reals& x, const reals& reduced) {
  double most = 0;
  for (const double one : reduced)
    most = std::max(most, std::isfinite(one) ? std::abs(one) : 0);
  if (op == reduction::product) return most * static_cast<double>(x.size()) / 64;
  return op == reduction::sum || op == reduction::mean ? most : 0;
}

reals reduced_rows(reduction op, const reals& x, const extents& size, const extents& axes) {
  reals made;
  for (const auto& numbers : rows_of(size, axes)) {
    reals row;
    for (const std::size_t i : numbers)
      row.push_back(x[i]);
    made.push_back(reduced(op, row));
  }
  return made;
}

extents from_first(const extents& axes, const extents& size) {
  extents made;
  for (std::size_t d = 0; axes.empty() && d < size.size(); ++d)
    made.push_back(static_cast<std::int64_t>(d));
  for (const std::int64_t axis : axes)
    made.push_back(axis < 0 ? axis + static_cast<std::int64_t>(size.size()) : axis);
  return made;
}

extents reduced_size(const extents& size, const extents& axes, bool keeps) {
  extents made;
  for (std::size_t d = 0; d < size.size(); ++d) {
    const bool is_axis = std::ranges::find(axes, static_cast<std::int64_t>(d)) != axes.end();
    if (!is_axis) made.push_back(size[d]);
    if (is_axis && keeps) made.push_back(1);
  }
  return made;
}

dtype result_type(reduction op, dtype type) {
  if (gives_boolean(op)) return dtype::boolean;
  if (gives_index(op)) return dtype::i64;
  if (is_float(type)) return type;
  return op == reduction::mean ? dtype::f32 : dtype::i64;
}

/// Small numbers, some of them equal, whose products stay in range.
void fill_for(reduction op, scene& s, test_tensor& t) {
  const bool integer = !is_float(t.view.type());
  std::vector<number> all;
  for (std::size_t i = 0; i < t.values.size(); ++i) {
    const auto drawn = static_cast<double>(s.generator()() % 5);
    if (integer && op == reduction::product) {
      all.emplace_back(i % 700 == 3 ? 3 : 1);
    } else {
      all.emplace_back(integer ? drawn : 0.5 + drawn / 4);
    }
  }
  s.fill(t, all);
}

struct axes_case {
  extents size;
  extents strides;
  extents axes;
};
const axes_case axes_cases[] = {
    {{1}, {1}, {0}},
    {{33}, {2}, {}},
    {{3, 1025}, {1025, 1}, {-1}},
    {{3, 1025}, {1, 4}, {0}},
    {{5, 33, 17}, {600, 1, 34}, {1}},
    {{5, 33, 17}, {600, 17, 1}, {2, 0}},
    {{5, 33, 17}, {1, 5, 165}, {}},
    {{2, 3, 4, 5}, {60, 20, 5, 1}, {-3, -1}},
    {{40, 1, 3}, {3, 3, 1}, {1}},
    {{0, 4}, {4, 1}, {1}},
    {{4, 0}, {1, 1}, {1}},
    {{4, 0, 2}, {2, 2, 1}, {}},
    {{2, 0, 3}, {40, 3, 1}, {0, 1}},
    {{0, 2, 3}, {7, 3, 1}, {0, 2}},
};

/// The infinity of integers and booleans.
double bound(dtype type, bool largest) {
  if (type == dtype::boolean) return largest ? 1 : 0;
  const int bits = static_cast<int>(8 * size_of(type));
  const bool is_signed =
      type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
  if (!is_signed) return largest ? std::ldexp(1.0, bits) - (bits < 64 ? 1 : 0) : 0;
  return largest ? std::ldexp(1.0, bits - 1) - (bits < 64 ? 1 : 0) : -std::ldexp(1.0, bits - 1);
}

TEST(ElementwiseReduce, OfNothingGivesTheLimitsOfTheType) {
  for (const dtype type : {dtype::i8, dtype::u8, dtype::i16, dtype::u16, dtype::i32, dtype::u32,
                           dtype::i64, dtype::u64, dtype::boolean, dtype::e4m3}) {
    for (const bool largest : {false, true}) {
      scene s;
      s.name(std::string(to_string(type)));
      auto& x = s.tensor(type, {3, 0}, {1, 1});
      auto& y = s.vector(type, 3);
      const double limit = type == dtype::e4m3 ? (largest ? 448 : -448) : bound(type, largest);
      s.run(reduce{.inputs = {x.view},
                   .outputs = {y.view},
                   .op = largest ? reduction::minimum : reduction::maximum,
                   .axes = {1}});
      expect_reals(s, y, reals(3, limit));
      const auto twice = function::of(
          1, [&](auto in) { return largest ? row_min(in[0] + in[0]) : row_max(in[0] + in[0]); });
      if (type == dtype::boolean) continue;  // a sum of these is no boolean
      s.run(elementwise::rows{.inputs = {x.view},
                              .outputs = {y.view.reshape({3, 1}).value()},
                              .what = twice,
                              .axes = {1}});
      expect_reals(s, y, reals(3, limit));
    }
  }
}

// Their sum is beyond 64 bits.
TEST(ElementwiseReduce, MeansOfIntegersOf64BitsDoNotWrap) {
  for (const dtype type : {dtype::i64, dtype::u64}) {
    scene s;
    auto& x = s.vector(type, 4);
    s.fill(x, {0x1p62, 0x1p62, 0x1p62, 0x1p62});
    auto& y = s.tensor(dtype::f64, {}, {});
    s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = reduction::mean});
    expect_reals(s, y, {0x1p62});
  }
}

TEST(ElementwiseReduce, IsTheDefinitionForEachTypeAndAxes) {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3,
                           dtype::e5m2, dtype::i8, dtype::u8, dtype::i32, dtype::i64}) {
    for (const reduction op : all_reductions) {
      for (const axes_case& c : axes_cases) {
        for (const bool keeps : {true, false}) {
          scene s;
          name_case(s, type, c.size, static_cast<int>(op) * 2 + (keeps ? 1 : 0));
          auto& x = s.tensor(type, c.size, c.strides);
          fill_for(op, s, x);
          const extents axes = from_first(c.axes, c.size);
          const extents size = reduced_size(c.size, axes, keeps);
          auto& y = s.tensor(result_type(op, type), size, packed_strides(size));
          const reals before = content(x);
          const reals wanted = reduced_rows(op, before, c.size, axes);
          s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = op, .axes = c.axes});
          reals rounded;
          for (const double one : wanted)
            rounded.push_back(stored(result_type(op, type), {.what = kind::twice, .real = one}));
          const bool of_nothing = !is_float(type) && x.values.empty();
          if (of_nothing && op == reduction::minimum) std::ranges::fill(rounded, bound(type, true));
          if (of_nothing && op == reduction::maximum)
            std::ranges::fill(rounded, bound(type, false));
          expect_reals(s, y, rounded, magnitude(op, before, wanted));
        }
      }
    }
  }
}

TEST(ElementwiseReduce, TakesFunctionsBeforeAndAfter) {
  const auto square = function::of(1, [](auto x) { return x[0] * x[0]; });
  const auto root = function::of(1, [](auto x) { return sqrt(x[0]); });
  for (const dtype type : norm_types) {
    scene s;
    auto& x = s.tensor(type, {7, 300}, {300, 1});
    auto& y = s.tensor(type, {7}, {1});
    reals squares = content(x);
    for (double& one : squares)
      one *= one;
    reals wanted = reduced_rows(reduction::sum, squares, {7, 300}, {1});
    for (double& one : wanted)
      one = std::sqrt(one);
    s.run(reduce{
        .inputs = {x.view}, .outputs = {y.view}, .before = square, .after = root, .axes = {1}});
    expect_reals(s, y, wanted);
  }
}

// Several values are reduced together: a covariance of two inputs, which are broadcast.
TEST(ElementwiseReduce, ReducesSeveralValues) {
  const auto before = function::of(2, [](auto x) { return result_list{x[0], x[1], x[0] * x[1]}; });
  const auto after =
      function::of(3, [](auto m) { return result_list{m[2] - m[0] * m[1], m[0] + m[1]}; });
  scene s;
  auto& a = s.tensor(dtype::f64, {6, 50}, {50, 1});
  auto& b = s.vector(dtype::f32, 50);
  auto& covariance = s.tensor(dtype::f64, {6, 1}, {1, 1});
  auto& sum = s.tensor(dtype::f32, {6, 1}, {1, 1});
  reals wanted;
  reals wanted_sum;
  for (std::size_t i = 0; i < 6; ++i) {
    double mean_a = 0;
    double mean_b = 0;
    double mean_ab = 0;
    for (std::size_t j = 0; j < 50; ++j) {
      const double x = a.values[i * 50 + j].real();
      const double y = b.values[j].real();
      mean_a += x / 50, mean_b += y / 50, mean_ab += x * y / 50;
    }
    wanted.push_back(mean_ab - mean_a * mean_b);
    wanted_sum.push_back(mean_a + mean_b);
  }
  s.run(reduce{.inputs = {a.view, b.view},
               .outputs = {covariance.view, sum.view},
               .before = before,
               .op = reduction::mean,
               .after = after,
               .axes = {-1}});
  // The mean of b is computed in f32.
  const std::vector<number> now = s.elements_now(covariance);
  for (std::size_t i = 0; i < now.size(); ++i)
    EXPECT_NEAR(now[i].real(), wanted[i], 1e-6);
  expect_reals(s, sum, wanted_sum);
}

TEST(ElementwiseReduce, WithoutFunctionsReducesEachInput) {
  scene s;
  auto& a = s.tensor(dtype::i32, {4, 9}, {9, 1});
  auto& b = s.tensor(dtype::f32, {4, 9}, {1, 4});
  auto& most_a = s.tensor(dtype::i32, {4}, {1});
  auto& most_b = s.tensor(dtype::f32, {4}, {2});
  s.run(reduce{.inputs = {a.view, b.view},
               .outputs = {most_a.view, most_b.view},
               .op = reduction::maximum,
               .axes = {1}});
  expect_reals(s, most_a, reduced_rows(reduction::maximum, content(a), {4, 9}, {1}));
  expect_reals(s, most_b, reduced_rows(reduction::maximum, content(b), {4, 9}, {1}));
}

TEST(ElementwiseReduce, SumsComplexNumbers) {
  for (const dtype type : complex_types) {
    for (const reduction op : {reduction::sum, reduction::mean}) {
      scene s;
      auto& x = s.tensor(type, {3, 70}, {70, 1});
      auto& y = s.tensor(type, {3}, {1});
      s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = op, .axes = {1}});
      const std::vector<number> now = s.elements_now(y);
      for (std::size_t i = 0; i < 3; ++i) {
        number sum = 0;
        for (std::size_t j = 0; j < 70; ++j)
          sum += x.values[i * 70 + j];
        if (op == reduction::mean) sum /= 70;
        EXPECT_LE(std::abs(now[i] - sum), 64 * epsilon(real_of(type)) * 70) << s.note();
      }
    }
  }
  const auto product = function::of(
      2, [](auto x) { return elementwise::complex(x[0]) * conj(elementwise::complex(x[1])); });
  const auto size = function::of(1, [](auto x) { return abs(elementwise::complex(x[0])); });
  scene s;
  auto& a = s.vector(dtype::c128, 40);
  auto& b = s.vector(dtype::c128, 40);
  auto& y = s.tensor(dtype::f64, {}, {});
  number sum = 0;
  for (std::size_t i = 0; i < 40; ++i)
    sum += a.values[i] * std::conj(b.values[i]);
  s.run(reduce{.inputs = {a.view, b.view}, .outputs = {y.view}, .before = product, .after = size});
  EXPECT_NEAR(s.elements_now(y)[0].real(), std::abs(sum), 1e-12);
}

TEST(ElementwiseReduce, PropagatesNaNAndCountsItAsTrue) {
  for (const reduction op : all_reductions) {
    scene s;
    auto& x = s.vector(dtype::f32, 2000);
    std::vector<number> values = x.values;
    values[1200] = values[1900] = nan;
    s.fill(x, values);
    auto& y = s.tensor(result_type(op, dtype::f32), {}, {});
    s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = op});
    expect_reals(s, y, {reduced(op, content(x))});
  }
}

TEST(ElementwiseReduce, OfBooleansIsAnyAndAll) {
  scene s;
  auto& x = s.tensor(dtype::boolean, {3, 4}, {4, 1});
  s.fill(x, {0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1});
  auto& y = s.vector(dtype::boolean, 3);
  s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = reduction::any, .axes = {1}});
  expect_reals(s, y, {0, 1, 1});
  s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .op = reduction::all, .axes = {1}});
  expect_reals(s, y, {0, 0, 1});
  auto& count = s.vector(dtype::i64, 3);
  s.run(reduce{.inputs = {x.view}, .outputs = {count.view}, .axes = {1}});
  expect_reals(s, count, {0, 1, 4});
}

TEST(ElementwiseReduce, GivesTheSameBitsOnEveryRun) {
  scene s;
  auto& x = s.tensor(dtype::f32, {2, 50'000}, {50'000, 1});
  auto& y = s.tensor(dtype::f32, {2}, {1});
  std::optional<std::vector<std::byte>> first;
  for (int run = 0; run < 5; ++run) {
    s.run(reduce{.inputs = {x.view}, .outputs = {y.view}, .axes = {1}});
    const auto now = s.bytes_now(y);
    if (!first) first = now;
    EXPECT_EQ(now, *first);
  }
}

TEST(ElementwiseReduce, RefusesWhatDoesNotFit) {
  scene s;
  auto& x = s.tensor(dtype::f32, {3, 8}, {8, 1});
  auto& z = s.vector(dtype::c64, 8);
  auto& y = s.vector(dtype::f32, 3);
  const auto refused = [&](reduce r, errc code, std::string_view text) {
    if (r.inputs.empty()) r.inputs = {x.view};
    if (r.outputs.empty()) r.outputs = {y.view};
    s.refuse(r, code, text);
  };
  const auto two = function::of(2, [](auto in) { return in[0] + in[1]; });
  s.refuse(reduce{.outputs = {y.view}}, errc::invalid_argument, "0 inputs");
  refused({.axes = {2}}, errc::invalid_argument, "axes is [2]");
  refused({.axes = {1, -1}}, errc::invalid_argument, "axes is [1, -1]");
  refused({.axes = {0}}, errc::shape_mismatch, "outputs[0] is [3] and must be [1, 8] or [8]");
  refused({}, errc::shape_mismatch, "must be [1, 1] or []");
  refused({.before = two, .axes = {1}}, errc::invalid_argument, "before has 2 inputs, and 1 are");
  refused({.after = two, .axes = {1}}, errc::invalid_argument,
          "after has 2 inputs, and there are 1 reduced values");
  refused({.inputs = {x.view, y.view}, .axes = {1}}, errc::shape_mismatch, "inputs[1] is [3]");
  refused({.inputs = {x.view, x.view}, .axes = {1}}, errc::invalid_argument, "2 outputs");
  refused({.before = function::of(1, [](auto in) { return in[0] & 1; }), .axes = {1}},
          errc::type_mismatch, "bit_and takes integers");
  refused({.after = function::of(1, [](auto in) { return in[0] + elementwise::index(0); }),
           .axes = {1}},
          errc::invalid_argument, "not the same for the whole row");
  refused(
      {.inputs = {z.view}, .outputs = {z.view.slice(0, 0, 1).value()}, .op = reduction::maximum},
      errc::type_mismatch, "sums and means");
  refused({.inputs = {x.view},
           .after = function::of(1, [](auto in) { return abs(elementwise::complex(in[0])); }),
           .axes = {1}},
          errc::invalid_argument, "complex() takes an input");
  refused({.outputs = {x.view.slice(1, 0, 1).value()}, .axes = {1}}, errc::aliasing, "outputs[0]");
}

TEST(ElementwiseReduce, NamesTheFunctionThatIsNotValid) {
  scene s;
  auto& x = s.vector(dtype::f32, 8);
  auto& y = s.tensor(dtype::f32, {}, {});
  // As many instructions as there may be, each way: together they are too many.
  const auto many = function::of(1, [](auto in) {
    value sum = in[0];
    for (int i = 0; i < 200; ++i)
      sum = sin(sum);
    return sum;
  });
  s.refuse(reduce{.inputs = {x.view}, .outputs = {y.view}, .before = many, .after = many},
           errc::invalid_argument, "more than 256 instructions");
}

}  // namespace
}  // namespace troupe::conformance
