#include "libraries/elementwise/requests/function/graph.hpp"

#include <troupe/elementwise/value.hpp>

#include <numbers>

namespace troupe::elementwise {

using detail::graph;

value apply(opcode op, const value& a) {
  const value operands[] = {a};
  return graph::apply(op, operands);
}
value apply(opcode op, const value& a, const value& b) {
  const value operands[] = {a, b};
  return graph::apply(op, operands);
}
value apply(opcode op, const value& a, const value& b, const value& c) {
  const value operands[] = {a, b, c};
  return graph::apply(op, operands);
}
value cast(const value& a, dtype type) { return graph::current().cast(a, type); }

value index(int axis_from_last) {
  return graph::current().source(opcode::index, static_cast<std::uint16_t>(axis_from_last));
}
value position() { return graph::current().source(opcode::position, 0); }
value row_length() { return graph::current().source(opcode::row_length, 0); }

namespace {

// e^−|x|, which does not overflow. By two branches, as |x| would give 0 as slope at 0, and so wrong
// derivatives of all orders. (The factor, as u64 has no negative numbers.)
value falling(const value& x) { return exp(select(x > 0, -1.0 * x, x)); }

// x · gate, for a gate that falls to 0 below and rises to 1 above faster than any power. Far out it
// is its limit, where the product and its derivatives would be 0 · ∞.
value gated(const value& x, const value& gate) {
  constexpr double far = 800;  // e⁻⁸⁰⁰ is 0 in every type
  return select(x > far, x, select(x < -far, -0.0, x * gate));
}

}  // namespace

value square(const value& a) { return a * a; }
value clip(const value& a, const value& least, const value& most) {
  return min(max(a, least), most);
}
value sigmoid(const value& a) {
  const value e = falling(a);
  return select(a > 0, 1, e) / (1 + e);
}
value silu(const value& a) { return gated(a, sigmoid(a)); }
value relu(const value& a) { return max(a, 0); }
value leaky_relu(const value& a, const value& slope) { return select(a > 0, a, a * slope); }
value elu(const value& a, const value& alpha) { return select(a > 0, a, alpha * expm1(a)); }
// 1 + erf(x) would cancel below 0.
value gelu(const value& a) { return gated(a, 0.5 * erfc(a * (-1 / std::numbers::sqrt2))); }
// (1 + tanh(x)) / 2 = sigmoid(2x), which does not cancel below 0.
value gelu_tanh(const value& a) {
  constexpr double factor = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // 2 · √(2/π)
  return gated(a, sigmoid(factor * (a + 0.044715 * a * a * a)));
}
value softplus(const value& a) { return select(a > 0, a, 0) + log1p(falling(a)); }
// tanh(log(1 + eˣ)) = n / (n + 2), n = eˣ · (eˣ + 2); above 0 divided by e²ˣ.
value mish(const value& a) {
  const value e = falling(a);
  const value square = e * e;
  const value n = select(a > 0, 1, square) + 2 * e;
  return gated(a, n / (n + select(a > 0, 2 * square, 2)));
}

value random_uniform(const value& seed, const value& number) {
  return ((random_bits(seed, number) >> 9) + 0.5) * 0x1p-23;  // exact in f32
}
value random_normal(const value& seed, const value& number) {
  const value radius = sqrt(-2 * log(random_uniform(seed, 2 * number)));
  return radius * cos(2 * std::numbers::pi * random_uniform(seed, 2 * number + 1));
}

complex_value complex(const value& input) {
  if (graph::is_constant(input)) return {input, 0};
  graph& now = graph::current();
  const instruction what = now.at(input);
  if (what.op != opcode::input) graph::refuse("complex() takes an input");
  return {now.source(opcode::input, what.a, input_real),
          now.source(opcode::input, what.a, input_imaginary)};
}
complex_value operator+(const complex_value& a, const complex_value& b) {
  return {a.real + b.real, a.imaginary + b.imaginary};
}
complex_value operator-(const complex_value& a, const complex_value& b) {
  return {a.real - b.real, a.imaginary - b.imaginary};
}
complex_value operator*(const complex_value& a, const complex_value& b) {
  return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}
complex_value operator*(const complex_value& a, const value& b) {
  return {a.real * b, a.imaginary * b};
}
complex_value conj(const complex_value& a) { return {a.real, -a.imaginary}; }
value abs(const complex_value& a) { return hypot(a.real, a.imaginary); }

}  // namespace troupe::elementwise
