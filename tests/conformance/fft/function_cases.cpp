#include "function_cases.hpp"

#include <troupe/elementwise/value.hpp>
#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

using elementwise::function;
using elementwise::value;

scene::extents whole(const scene::extents& size) { return size; }
scene::extents last(const scene::extents& size) { return {size.back()}; }
scene::extents one(const scene::extents&) { return {1}; }
scene::extents column(const scene::extents& size) {
  scene::extents made = size;
  made.back() = 1;
  return made;
}

/// The place of an operand's element that is used at number `flat` of `size`.
std::size_t broadcast(std::size_t flat, const scene::extents& size, const scene::extents& operand) {
  std::size_t at = 0;
  std::size_t step = 1;
  for (std::size_t back = 1; back <= size.size(); ++back) {
    const auto n = static_cast<std::size_t>(size[size.size() - back]);
    const std::size_t index = flat % n;
    flat /= n;
    if (back > operand.size()) continue;
    const auto own = static_cast<std::size_t>(operand[operand.size() - back]);
    if (own > 1) at += index * step;
    step *= own;
  }
  return at;
}

struct bound_function {
  const known_function* f;
  scene::extents size;
  std::vector<test_tensor*> operands;

  bound_function(scene& s, const known_function& of, const scene::extents& to) : f(&of), size(to) {
    for (const auto& extents : of.operands)
      operands.push_back(&elements(s, of.operand_type, extents(to), arrangement::gaps));
  }
  [[nodiscard]] std::vector<any_tensor> views() const {
    std::vector<any_tensor> all;
    all.reserve(operands.size());
    for (const test_tensor* one : operands)
      all.push_back(one->view);
    return all;
  }
  [[nodiscard]] std::vector<number> at(std::size_t flat) const {
    std::vector<number> all;
    all.reserve(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i)
      all.push_back(operands[i]->values[broadcast(flat, size, f->operands[i](size))]);
    return all;
  }
};

double norm_of(const std::vector<number>& x, std::size_t first, std::size_t count) {
  double squares = 0;
  for (std::size_t i = first; i < first + count; ++i)
    squares += std::norm(x[i]);
  return std::sqrt(squares);
}

/// Runs a request of the case with these operands.
void send(scene& s, const functional_case& f, const any_tensor& in, const any_tensor& out,
          const bound_function& load, const bound_function& store) {
  const auto filled = [&](auto r) {
    r.in = in;
    r.out = out;
    r.rank = f.c.rank;
    r.scale = f.c.scale;
    r.load = f.load.what;
    r.load_operands = load.views();
    r.store = f.store.what;
    r.store_operands = store.views();
    if (f.loads() && f.stores()) {
      r.precision = f.c.precision == dtype::f64 ? fft::precision::f64 : fft::precision::f32;
    }
    return r;
  };
  switch (f.what) {
    case sort::c2c:
      return s.run(filled(fft::c2c{.direction = f.c.direction}));
    case sort::r2c:
      return s.run(filled(fft::r2c{}));
    case sort::c2r:
      return s.run(filled(fft::c2r{}));
  }
}

// A number, or the real part of a complex one.
value real_of(const value& x) { return elementwise::complex(x).real; }

}  // namespace

known_function none() { return {}; }
known_function windowed() {
  return {.what = function::of(2, [](auto x) { return real_of(x[0]) * x[1]; }),
          .operands = {last},
          .by_hand = [](number x, const auto& w) { return number(x.real() * w[0].real()); },
          .slope = [](number, const auto& w) { return std::abs(w[0]); }};
}
known_function paired() {
  return {.what = function::of(
              2, [](auto x) { return elementwise::complex_value{real_of(x[0]), x[1] * 2}; }),
          .operands = {whole},
          .operand_type = dtype::f16,
          .by_hand = [](number x, const auto& w) { return number(x.real(), 2 * w[0].real()); },
          .slope = [](number, const auto&) { return 1.0; }};
}
known_function filtered(dtype precision) {
  return {.what = function::of(
              2, [](auto x) { return elementwise::complex(x[0]) * elementwise::complex(x[1]); }),
          .operands = {whole},
          .operand_type = element_type(precision, true),
          .by_hand = [](number x, const auto& w) { return x * w[0]; },
          .slope = [](number, const auto& w) { return std::abs(w[0]); }};
}
known_function power() {
  return {.what = function::of(1,
                               [](auto x) {
                                 return square(real_of(x[0])) +
                                        square(elementwise::complex(x[0]).imaginary);
                               }),
          .by_hand = [](number x, const auto&) { return number(std::norm(x)); },
          .slope = [](number x, const auto&) { return 2 * std::abs(x); }};
}
known_function conjugated() {
  return {
      .what = function::of(1, [](auto x) { return conj(elementwise::complex(x[0])) * value(0.5); }),
      .by_hand = [](number x, const auto&) { return std::conj(x) * 0.5; },
      .slope = [](number, const auto&) { return 0.5; }};
}
known_function moved() {
  return {.what = function::of(4, [](auto x) { return fma(real_of(x[0]), x[1], x[2] * x[3]); }),
          .operands = {one, column, last},
          .by_hand =
              [](number x, const auto& w) {
                return number(x.real() * w[0].real() + w[1].real() * w[2].real());
              },
          .slope = [](number, const auto& w) { return std::abs(w[0]); }};
}
known_function scaled() {
  return {.what = function::of(2, [](auto x) { return elementwise::complex(x[0]) * x[1]; }),
          .operands = {one},
          .by_hand = [](number x, const auto& w) { return x * w[0].real(); },
          .slope = [](number, const auto& w) { return std::abs(w[0]); }};
}

std::string functional_case::text() const {
  return std::string(what == sort::c2c   ? "c2c "
                     : what == sort::r2c ? "r2c "
                                         : "c2r ") +
         c.text() + " " + std::string(to_string(in)) + " to " + std::string(to_string(out)) +
         " load " + load.what.to_string() + " store " + store.what.to_string() + " arrangements " +
         std::to_string(static_cast<int>(from)) + " " + std::to_string(static_cast<int>(to)) +
         (in_place ? " in place" : "");
}

namespace {

void check_in(scene& s, functional_case f) {
  s.name(f.text());
  if (f.what == sort::c2r) f.c.direction = fft::direction::inverse;
  const bool shares = f.in_place && f.what == sort::r2c;
  test_tensor* in = nullptr;
  test_tensor* out = nullptr;
  if (shares) {
    out = &elements(s, f.out, f.out_size(), f.to);
    in = &s.again(*out, fft::real_rows(out->view, f.c.size.back()).value());
  } else {
    in = &elements(s, f.in, f.in_size(), f.from);
  }
  if (f.what == sort::c2r && is_complex(f.in)) {
    std::size_t count = 1;
    for (const std::int64_t n : f.c.size)
      count *= static_cast<std::size_t>(n);
    std::vector<number> real(count);
    for (number& x : real)
      x = s.random(dtype::f64);
    const auto all = transformed(real, f.c.size, f.c.rank, fft::direction::forward);
    s.fill(*in, halved(hermitian(all, f.c.size, f.c.rank), f.c.size));
  }
  if (f.in_place && !shares) {
    out = f.what == sort::c2c ? &s.again(*in, in->view)
                              : &s.again(*in, fft::real_rows(in->view, f.c.size.back()).value());
  } else if (!f.in_place) {
    out = &elements(s, f.out, f.out_size(), f.to);
  }
  const bound_function load(s, f.load, f.in_size());
  const bound_function store(s, f.store, f.out_size());

  std::vector<number> x = in->values;
  for (std::size_t i = 0; f.loads() && i < x.size(); ++i) {
    x[i] = f.load.by_hand(x[i], load.at(i));
    if (!f.complex_in()) x[i] = x[i].real();
  }
  if (f.what == sort::c2r) x = completed(x, f.c.size, f.c.rank);
  std::vector<number> y = transformed(x, f.c.size, f.c.rank, f.c.direction);
  if (f.what == sort::r2c) y = halved(y, f.c.size);

  send(s, f, in->view, out->view, load, store);
  const std::vector<number> now = s.elements_now(*out);
  ASSERT_EQ(now.size(), y.size()) << s.note();
  if (y.empty()) return;
  const auto block = static_cast<std::size_t>(f.c.transformed_numbers());
  const std::size_t out_block = y.size() / (x.size() / block);
  const auto terms = static_cast<std::int64_t>(std::ceil(std::log2(static_cast<double>(block))));
  const double factor = f.c.factor();
  double length = 0;  // the norm of the transform that i belongs to
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (i % out_block == 0) length = norm_of(x, i / out_block * block, block) * factor;
    number expected = y[i] * factor;
    if (!f.complex_out()) expected = expected.real();
    double bound = length;
    if (f.stores()) {
      const std::vector<number> operands = store.at(i);
      // The other terms are for the rounding of what the function itself computes.
      bound = length * f.store.slope(expected, operands);
      expected = f.store.by_hand(expected, operands);
      bound += std::abs(expected) + 1e-3 * length * length + (operands.empty() ? 0 : 1);
    }
    s.expect_near(f.out, now[i], expected, bound, terms, f.c.precision,
                  "number " + std::to_string(i));
    if (testing::Test::HasFailure()) return;  // the first wrong number says enough
  }
}

}  // namespace

void check(const functional_case& f) {
  scene s;
  check_in(s, f);
}
void check(const functional_case& f, runner& on) {
  scene s(on);
  check_in(s, f);
}

}  // namespace troupe::conformance
