#include "programs.hpp"

#include "under_sanitizers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string_view>

namespace troupe::conformance::elementwise_reference {
namespace {

using elementwise::function;

/// The space of a request, from its tensors' extents.
std::vector<std::int64_t> broadcast(const std::vector<test_tensor*>& inputs,
                                    const std::vector<test_tensor*>& outputs) {
  std::vector<std::int64_t> all;
  const auto add = [&](const any_tensor& t) {
    if (static_cast<std::size_t>(t.rank()) > all.size())
      all.insert(all.begin(), static_cast<std::size_t>(t.rank()) - all.size(), 1);
    for (int d = 0; d < t.rank(); ++d) {
      auto& extent = all[all.size() - static_cast<std::size_t>(t.rank() - d)];
      if (extent == 1) extent = t.extent(d);
    }
  };
  for (const test_tensor* t : inputs)
    add(t->view);
  for (const test_tensor* t : outputs)
    add(t->view);
  return all;
}

/// The row-major number of the element of `t` that the element at `at` of the space uses.
std::size_t element_of(const any_tensor& t, const std::vector<std::int64_t>& at) {
  std::int64_t n = 0;
  for (int d = 0; d < t.rank(); ++d) {
    const std::int64_t index = at[at.size() - static_cast<std::size_t>(t.rank() - d)];
    n = n * t.extent(d) + (t.extent(d) == 1 ? 0 : index);
  }
  return static_cast<std::size_t>(n);
}

double ulp_of(dtype type, double x) {
  int digits = 24;
  int least = -149;
  switch (real_of(type)) {
    case dtype::f64:
      digits = 53, least = -1074;
      break;
    case dtype::f16:
      digits = 11, least = -24;
      break;
    case dtype::bf16:
      digits = 8, least = -133;
      break;
    case dtype::e4m3:
      digits = 4, least = -9;
      break;
    case dtype::e5m2:
      digits = 3, least = -16;
      break;
    default:
      break;
  }
  if (x == 0 || !std::isfinite(x)) return std::ldexp(1.0, least);
  return std::ldexp(1.0, std::max(std::ilogb(x) - digits + 1, least));
}

bool near(dtype type, double actual, double expected, double ulps) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (actual == expected) return std::signbit(actual) == std::signbit(expected) || ulps > 0;
  if (is_integer(type) || type == dtype::boolean) return false;
  const bool small = size_of(real_of(type)) < 4;
  // A result of f32 that is off by a little may round to the next element of a smaller type.
  const double steps = small ? (ulps > 0 ? 1 : 0) : ulps;
  if (std::isinf(expected) || std::isinf(actual)) {
    constexpr double largest = std::numeric_limits<float>::max();
    return steps > 0 && real_of(type) == dtype::f32 && std::abs(actual) >= largest &&
           std::abs(expected) >= largest && std::signbit(actual) == std::signbit(expected);
  }
  return std::abs(actual - expected) <= steps * ulp_of(type, expected);
}

}  // namespace

std::vector<expectation> expected(const function& f, const std::vector<test_tensor*>& inputs,
                                  const std::vector<test_tensor*>& outputs,
                                  const std::vector<std::int64_t>& axes) {
  const std::vector<std::int64_t> space = broadcast(inputs, outputs);
  const auto rank = static_cast<std::int64_t>(space.size());
  std::vector<bool> in_row(space.size(), false);
  for (const std::int64_t axis : axes)
    in_row[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  std::vector<dtype> input_types;
  std::vector<dtype> output_types;
  std::vector<expectation> made;
  for (const test_tensor* t : inputs)
    input_types.push_back(t->view.type());
  for (const test_tensor* t : outputs) {
    output_types.push_back(t->view.type());
    const auto count = static_cast<std::size_t>(t->view.count());
    made.push_back({std::vector<value>(count), std::vector<value>(count)});
  }
  const auto count_of = [&](bool row) {
    std::int64_t n = 1;
    for (std::size_t d = 0; d < space.size(); ++d)
      n *= in_row[d] == row ? space[d] : 1;
    return n;
  };
  const auto place = [&](std::int64_t number, bool row, std::vector<std::int64_t>& at) {
    for (std::size_t d = space.size(); d-- > 0;) {
      if (in_row[d] != row) continue;
      at[d] = number % space[d];
      number /= space[d];
    }
  };
  for (std::int64_t r = 0; r < count_of(false); ++r) {
    std::vector<element> row;
    std::vector<std::int64_t> at(space.size(), 0);
    place(r, false, at);
    // An empty row has one element, for outputs of one element.
    const bool empty = count_of(true) == 0;
    for (std::int64_t e = 0; e < count_of(true); ++e) {
      place(e, true, at);
      element one{.inputs = {}, .indices = at, .position = 0};
      for (std::size_t d = 0; d < space.size(); ++d)
        one.position = one.position * space[d] + at[d];
      for (const test_tensor* t : inputs)
        one.inputs.push_back(t->values[element_of(t->view, at)]);
      row.push_back(std::move(one));
    }
    if (empty) continue;
    const outcome results = run(f, input_types, output_types, row);
    for (std::size_t e = 0; e < row.size(); ++e) {
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        const std::size_t n = element_of(outputs[k]->view, row[e].indices);
        made[k].real[n] = results.real[e][k];
        made[k].imaginary[n] = results.imaginary[e][k];
      }
    }
  }
  return made;
}

bool check(scene& s, const function& f, const std::vector<test_tensor*>& inputs,
           const std::vector<test_tensor*>& outputs, double ulps,
           const std::vector<std::int64_t>& axes, bool as_rows) {
  const std::vector<expectation> wanted = expected(f, inputs, outputs, axes);
  std::vector<any_tensor> in;
  std::vector<any_tensor> out;
  for (const test_tensor* t : inputs)
    in.push_back(t->view);
  for (const test_tensor* t : outputs)
    out.push_back(t->view);
  if (axes.empty() && !as_rows) {
    s.run(elementwise::map{.inputs = in, .outputs = out, .what = f});
  } else {
    s.run(elementwise::rows{.inputs = in, .outputs = out, .what = f, .axes = axes});
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const dtype type = outputs[k]->view.type();
    const std::vector<number> now = s.elements_now(*outputs[k]);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const double real = stored(is_complex(type) ? real_of(type) : type, wanted[k].real[i]);
      const double imaginary = is_complex(type) ? stored(real_of(type), wanted[k].imaginary[i]) : 0;
      if (near(type, now[i].real(), real, ulps) &&
          (!is_complex(type) || near(type, now[i].imag(), imaginary, ulps)))
        continue;
      std::ostringstream operands;
      for (const test_tensor* t : inputs) {
        const number x = t->values.size() == now.size() ? t->values[i] : number();
        operands << to_string(t->view.type()) << " " << x << " ";
      }
      ADD_FAILURE() << "outputs[" << k << "], " << to_string(type) << ", element " << i << " is "
                    << now[i] << ", expected (" << real << ", " << imaginary << ") of "
                    << operands.str() << ": " << f.to_string() << s.note();
      return false;
    }
  }
  return true;
}

double bound_ulps(elementwise::opcode op, kind what) {
  using elementwise::opcode;
  const bool single = what == kind::single;
  switch (op) {
    case opcode::exp:
    case opcode::exp2:
    case opcode::log10:
    case opcode::sin:
    case opcode::cos:
    case opcode::acos:
    case opcode::atan:
    case opcode::cosh:
    case opcode::tanh:
    case opcode::erf:
    case opcode::rsqrt:
    case opcode::expm1:
    case opcode::log:
    case opcode::log2:
    case opcode::log1p:
      return 2;
    case opcode::tan:
    case opcode::cbrt:
    case opcode::asin:
    case opcode::acosh:
      return 4;
    case opcode::sinh:
    case opcode::asinh:
    case opcode::atanh:
    case opcode::hypot:
    case opcode::atan2:
      return 3;
    case opcode::power:
      return single ? 4 : 2;
    case opcode::erfc:
      return 5;
    case opcode::lgamma:
      return 6;
    case opcode::tgamma:
      return 10;
    default:
      return 0;
  }
}

bool on_gpu() {
  const char* const backend = std::getenv("TROUPE_BACKEND");
  return backend != nullptr && std::string_view(backend) == "cuda";
}

int random_programs() {
  if (const char* const given = std::getenv("TROUPE_RANDOM_PROGRAMS")) return std::atoi(given);
  if (on_gpu()) return 600;  // each is compiled, too
  return test::under_sanitizers ? 1000 : 10'000;
}

}  // namespace troupe::conformance::elementwise_reference
