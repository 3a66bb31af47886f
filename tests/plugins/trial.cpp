#include "trial.hpp"

namespace trial {

void affine::describe(troupe::description<affine>& d) {
  const troupe::extent n = d.size("n");
  d.about("y[i] = a x[i] + b, once the program has set `until`, or after three seconds.");
  d.reads("x", &affine::x, {n}, "vector");
  d.writes("y", &affine::y, {n}, "result");
  d.reads("until", &affine::until, {1}, "flag that is waited for").optional().in_host_memory();
  d.value("a", &affine::a, "factor of x");
  d.value("b", &affine::b, "what is added");
  d.same_type({&affine::x, &affine::y}, {troupe::dtype::f32});
  d.same_type({&affine::until}, {troupe::dtype::u32});
}

void total::describe(troupe::description<total>& d) {
  const troupe::extent n = d.size("n");
  d.about("Answers the sum of x.");
  d.reads("x", &total::x, {n}, "vector");
  d.same_type({&total::x}, {troupe::dtype::f32});
}

void misdeed::describe(troupe::description<misdeed>& d) {
  d.about("What no executor should do.");
  d.value("what", &misdeed::what, "what it does");
  d.writes("y", &misdeed::y, {}, "tensor that is said to be written").optional();
}

}  // namespace trial
