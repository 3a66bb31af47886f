// Derivatives of functions, instruction by instruction.
#include "libraries/elementwise/requests/function/graph.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

namespace troupe::elementwise {
namespace {

using maybe = std::optional<value>;  // nothing stands for 0

maybe sum(const maybe& a, const maybe& b) {
  if (!a) return b;
  return b ? *a + *b : *a;
}
maybe times(const maybe& a, const value& factor) {
  if (!a) return {};
  using detail::graph;
  const bool is_one = graph::is_constant(*a) && graph::number_of(*a) == scalar(1.0);
  return is_one ? factor : *a * factor;
}

/// The data of one instruction: its value, its operands, and their derivatives.
struct step {
  const value& y;
  const value& a;
  const value& b;
  const value& c;
  const maybe& da;
  const maybe& db;
  const maybe& dc;
};

// For functions of one real value: dy/da.
maybe slope(opcode op, const value& y, const value& a) {
  constexpr double two_over_root_pi = 2 * std::numbers::inv_sqrtpi;
  switch (op) {
    case opcode::sqrt:
      return 0.5 / y;
    case opcode::rsqrt:
      return -0.5 * y / a;
    case opcode::cbrt:
      return 1 / (3 * y * y);
    case opcode::exp:
      return y;
    case opcode::exp2:
      return y * std::numbers::ln2;
    case opcode::expm1:
      return y + 1;
    case opcode::log:
      return 1 / a;
    case opcode::log2:
      return std::numbers::log2e / a;
    case opcode::log10:
      return std::numbers::log10e / a;
    case opcode::log1p:
      return 1 / (1 + a);
    case opcode::sin:
      return cos(a);
    case opcode::cos:
      return -sin(a);
    case opcode::tan:
      return 1 + y * y;
    case opcode::asin:
      return 1 / sqrt(1 - a * a);
    case opcode::acos:
      return -1 / sqrt(1 - a * a);
    case opcode::atan:
      return 1 / (1 + a * a);
    case opcode::sinh:
      return cosh(a);
    case opcode::cosh:
      return sinh(a);
    case opcode::tanh:
      return 1 - y * y;
    case opcode::asinh:
      return 1 / sqrt(a * a + 1);
    case opcode::acosh:
      return 1 / sqrt(a * a - 1);
    case opcode::atanh:
      return 1 / (1 - a * a);
    case opcode::erf:
      return two_over_root_pi * exp(-(a * a));
    case opcode::erfc:
      return -two_over_root_pi * exp(-(a * a));
    default:
      return {};
  }
}

// For the larger or smaller of two: equal ones have half of each.
maybe of_chosen(const step& s) {
  const value share_of_a = select(s.a == s.b, 0.5, select(s.y == s.a, 1.0, 0.0));
  return sum(times(s.da, share_of_a), times(s.db, 1.0 - share_of_a));
}

// The order avoids 0 · ∞ if b is large. If b is infinite, the quotient is 0 and stays so.
maybe of_quotient(const step& s) {
  const maybe by_a = s.da ? maybe(*s.da / s.b) : maybe();
  if (!s.db) return by_a;
  const value rate = *s.db / s.b;
  const bool is_finite = detail::graph::is_constant(*s.db);
  const value by_b = s.y * (is_finite ? rate : select(apply(opcode::is_infinite, s.b), 0.0, rate));
  return by_a ? *by_a - by_b : -by_b;
}

maybe of_power(const step& s) {
  maybe by_a;
  if (s.da && detail::graph::is_constant(s.b)) {
    const auto power = detail::graph::number_of(s.b).as<double>();
    if (power == 1) by_a = s.da;
    if (power != 0 && power != 1) by_a = times(s.da, s.b * pow(s.a, s.b - 1));
  } else if (s.da) {
    by_a = times(s.da, select(s.b == 0, 0.0, s.b * pow(s.a, s.b - 1)));
  }
  if (!s.db) return by_a;
  // For 0 to a positive power the logarithm contributes nothing.
  return sum(by_a, times(s.db, select(s.a == 0, 0.0, s.y * log(s.a))));
}

maybe derivative_of(opcode op, const step& s) {
  switch (op) {
    case opcode::negative:
      return s.da ? maybe(-*s.da) : maybe();
    case opcode::absolute:
      return times(s.da, sign(s.a));
    case opcode::add:
      return sum(s.da, s.db);
    case opcode::subtract:
      return sum(s.da, s.db ? maybe(-*s.db) : maybe());
    case opcode::multiply:
      return sum(times(s.da, s.b), times(s.db, s.a));
    case opcode::divide:
      return of_quotient(s);
    case opcode::remainder:
      return sum(s.da, times(s.db, -quotient(s.a, s.b)));
    case opcode::power:
      return of_power(s);
    case opcode::atan2:
      return sum(times(s.da, s.b / (s.a * s.a + s.b * s.b)),
                 times(s.db, -s.a / (s.a * s.a + s.b * s.b)));
    case opcode::hypot:
      return sum(times(s.da, s.a / s.y), times(s.db, s.b / s.y));
    case opcode::copysign:
      return times(s.da, select(s.y == s.a, 1.0, -1.0));
    case opcode::minimum:
    case opcode::maximum:
    case opcode::fmin:
    case opcode::fmax:
      return of_chosen(s);
    case opcode::fma:
      return sum(sum(times(s.da, s.b), times(s.db, s.a)), s.dc);
    case opcode::select:
      if (!s.db && !s.dc) return {};
      return select(s.a, s.db.value_or(0.0), s.dc.value_or(0.0));
    case opcode::cast:
      return s.da;
    default: {
      const maybe by_a = slope(op, s.y, s.a);
      return by_a ? times(s.da, *by_a) : maybe();
    }
  }
}

}  // namespace

function function::derivative(int input, int output) const {
  if (input < 0 || input >= inputs() || output < 0 || output >= outputs()) {
    detail::graph::refuse(fmt::format("derivative of output {} by input {}; there are {} and {}",
                                      output, input, outputs(), inputs()));
  }
  const building now(inputs());
  const std::vector<result_value> own(now.inputs().begin(), now.inputs().end());
  const std::vector<value> values = detail::graph::current().replay(*this, own);
  std::vector<maybe> derivatives(size());
  const maybe none;
  const value nothing(0);
  maybe of_output;
  for (std::size_t i = 0; i < size(); ++i) {
    const instruction one = at(i);
    const int operands = traits_of(one.op).operands;
    if (one.op == opcode::input) {
      if (one.a == input) derivatives[i] = value(1.0);
      continue;
    }
    const maybe& da = operands > 0 ? derivatives[one.a] : none;
    const maybe& db = operands > 1 ? derivatives[one.b] : none;
    const maybe& dc = operands > 2 ? derivatives[one.c] : none;
    if (one.op == opcode::output) {
      if (one.b != output) continue;
      if (one.c != 0)
        detail::graph::refuse(fmt::format("derivative of output {}, which is complex", output));
      of_output = da;
      continue;
    }
    if (!da && !db && !dc) continue;
    if (is_row(one.op) || one.op == opcode::lgamma || one.op == opcode::tgamma) {
      detail::graph::refuse(fmt::format("{} has no derivative here", traits_of(one.op).name));
    }
    const bool truncates = one.op == opcode::cast && !is_float(static_cast<dtype>(one.b));
    if (truncates) continue;
    derivatives[i] = derivative_of(one.op, {.y = values[i],
                                            .a = operands > 0 ? values[one.a] : nothing,
                                            .b = operands > 1 ? values[one.b] : nothing,
                                            .c = operands > 2 ? values[one.c] : nothing,
                                            .da = da,
                                            .db = db,
                                            .dc = dc});
  }
  return now.finish({result_value(of_output.value_or(0.0))});
}

}  // namespace troupe::elementwise
