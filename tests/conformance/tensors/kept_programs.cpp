#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <string>
#include <utility>
#include <vector>

// Backends keep what they have planned. It must not be taken for that of a request which differs
// in one thing alone: so each of these follows one that differs in that thing.
namespace troupe::conformance {
namespace {

using namespace named;
using tensors::contract;
using tensors::einsum;

constexpr double factors[] = {1, 2, -0.5, 1};
// Square, so that other modes have the same layouts.
const sizes square{{{'i', 6}, {'j', 6}, {'k', 6}}};

template <class Run>
void check(const std::string& what, dtype type, const std::string& d_modes, double alpha,
           double beta, Run run) {
  scene s;
  s.name(what + " " + std::string(to_string(type)));
  auto& a = make(s, type, "ik", square, true);
  auto& b = make(s, type, "kj", square, true);
  auto& d = make(s, type, d_modes, square, true);
  const sums expected = scaled(summed({{"ik", &a}, {"kj", &b}}, d_modes, square.size(d_modes)),
                               scalar(alpha), scalar(beta), d.values);
  run(s, a.view, b.view, d.view);
  expect_sums(s, d, expected, 0);
}

void check_contract(dtype type, const std::string& d_modes, double alpha, double beta) {
  check("contract", type, d_modes, alpha, beta,
        [&](scene& s, const any_tensor& a, const any_tensor& b, const any_tensor& d) {
          s.run(contract{.modes = "ik,kj->" + d_modes,
                         .a = a,
                         .b = b,
                         .c = d,
                         .d = d,
                         .alpha = alpha,
                         .beta = beta});
        });
}

TEST(TensorsKeptPrograms, AreNotThoseOfOtherFactorsOfContract) {
  for (const double alpha : factors)
    check_contract(dtype::f32, "ij", alpha, 1);
  for (const double beta : factors)
    check_contract(dtype::f32, "ij", 1, beta);
}

TEST(TensorsKeptPrograms, AreNotThoseOfOtherFactorsOfEinsum) {
  for (const double alpha : factors) {
    check("einsum", dtype::f32, "ij", alpha, 0,
          [&](scene& s, const any_tensor& a, const any_tensor& b, const any_tensor& d) {
            s.run(einsum{.modes = "ik,kj->ij", .operands = {a, b}, .d = d, .alpha = alpha});
          });
  }
}

TEST(TensorsKeptPrograms, AreNotThoseOfOtherModesOrTypes) {
  for (int turn = 0; turn < 2; ++turn) {
    for (const dtype type : element_types) {
      for (const char* const d_modes : {"ij", "ji"})
        check_contract(type, d_modes, 1, 2);
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
