#include "libraries/elementwise/shared/parametric.hpp"
#include "libraries/elementwise/shared/steps.hpp"
#include "libraries/elementwise/shared/views.hpp"

namespace troupe::elementwise {
namespace {

constexpr std::size_t comparisons = 6;
static_assert(static_cast<std::size_t>(comparison::greater_equal) + 1 == comparisons);

value compared(comparison how, const value& a, const value& b) {
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
  return a;
}

/// A function of two numbers that a request gives: as real ones for floats, else as integers.
class of_two_numbers {
 public:
  template <class Real, class Integer>
  of_two_numbers(int inputs, Real real, Integer integer)
      : real_({.inputs = inputs, .reals = 2}, real),
        integer_({.inputs = inputs, .integers = 2}, integer) {}

  [[nodiscard]] function with(dtype type, const scalar& a, const scalar& b) const {
    if (is_float(type)) return real_.with({a.as<double>(), b.as<double>()});
    return integer_.with({a.as<std::int64_t>(), b.as<std::int64_t>()});
  }

 private:
  parametric real_;
  parametric integer_;
};

}  // namespace

steps steps_of(const clamp& r) {
  const auto limited = [](std::span<const value> x, std::span<const value> limits) {
    return clip(x[0], limits[0], limits[1]);
  };
  static const of_two_numbers what(1, limited, limited);
  return {map{.inputs = {r.x}, .outputs = {r.y}, .what = what.with(r.x.type(), r.low, r.high)}};
}

steps steps_of(const where& r) {
  static const function what =
      function::of(3, [](std::span<const value> x) { return select(x[0], x[1], x[2]); });
  return {map{.inputs = {r.condition, r.a, r.b}, .outputs = {r.y}, .what = what}};
}

steps steps_of(const compare& r) {
  static functions_by_configuration<function, comparisons> functions;
  const function& what = functions.get(static_cast<std::size_t>(r.how), [&] {
    return function::of(2, [&](std::span<const value> x) { return compared(r.how, x[0], x[1]); });
  });
  return {map{.inputs = {r.a, r.b}, .outputs = {r.y}, .what = what}};
}

steps steps_of(const one_hot& r) {
  // Constants alone would be f32.
  static const of_two_numbers what(
      1,
      [](std::span<const value> x, std::span<const value> numbers) {
        return select(x[0] == index(0), cast(numbers[0], dtype::f64), cast(numbers[1], dtype::f64));
      },
      [](std::span<const value> x, std::span<const value> numbers) {
        return select(x[0] == index(0), numbers[0], numbers[1]);
      });
  return {map{.inputs = {with_trailing_ones(r.indices, 1)},
              .outputs = {r.y},
              .what = what.with(r.y.type(), r.on, r.off)}};
}

steps steps_of(const arange& r) {
  static const of_two_numbers what(
      0,
      [](std::span<const value>, std::span<const value> numbers) {
        return numbers[0] + cast(index(0), dtype::f64) * numbers[1];
      },
      [](std::span<const value>, std::span<const value> numbers) {
        return numbers[0] + index(0) * numbers[1];
      });
  return {map{.inputs = {}, .outputs = {r.y}, .what = what.with(r.y.type(), r.start, r.step)}};
}

}  // namespace troupe::elementwise
