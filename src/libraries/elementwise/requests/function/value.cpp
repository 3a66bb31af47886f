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

value square(const value& a) { return a * a; }
value clip(const value& a, const value& least, const value& most) {
  return min(max(a, least), most);
}
value sigmoid(const value& a) { return 1 / (1 + exp(-a)); }
value silu(const value& a) { return a / (1 + exp(-a)); }
value relu(const value& a) { return max(a, 0); }
value leaky_relu(const value& a, const value& slope) { return select(a > 0, a, a * slope); }
value elu(const value& a, const value& alpha) { return select(a > 0, a, alpha * expm1(a)); }
value gelu(const value& a) { return 0.5 * a * (1 + erf(a * (1 / std::numbers::sqrt2))); }
value gelu_tanh(const value& a) {
  const double factor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // √(2/π)
  return 0.5 * a * (1 + tanh(factor * (a + 0.044715 * a * a * a)));
}
value softplus(const value& a) { return max(a, 0) + log1p(exp(-abs(a))); }
value mish(const value& a) { return a * tanh(softplus(a)); }

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
  return {input, now.source(opcode::input, what.a, 1)};
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
