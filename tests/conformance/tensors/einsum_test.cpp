#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::einsum;

void check_einsum(scene& s, dtype type, const std::vector<std::string>& lists,
                  const std::string& result, const sizes& of, const sizes& of_first) {
  std::string modes;
  std::vector<operand> operands;
  std::vector<any_tensor> views;
  for (const std::string& one : lists) {
    modes += (modes.empty() && &one == &lists.front() ? "" : ",") + one;
    const sizes& own = &one == &lists.front() ? of_first : of;
    operands.push_back({one, &make(s, type, one, own, one == "abi")});
    views.push_back(operands.back().tensor->view);
  }
  modes += "->" + result;
  s.name(modes + " " + std::string(to_string(type)));
  auto& d = make(s, type, result, of);
  const scalar alpha = factor(type, 0.5, 0.25);
  const sums expected = scaled(summed(operands, result, of.size(result)), alpha, 0, {});
  s.run(einsum{.modes = modes, .operands = views, .d = d.view, .alpha = alpha});
  const auto count = static_cast<int>(lists.size());
  const bool rounds = s.as_on_gpu() && compute_of(type) != real_of(type);
  expect_sums(s, d, expected, rounds ? 3 * count : 0);
}

TEST(TensorsEinsum, IsTheSumOfProductsForEachType) {
  const sizes of{{{'a', 3}, {'b', 4}, {'c', 5}, {'d', 2}, {'e', 6}, {'i', 7}, {'k', 3}, {'o', 1}}};
  const std::pair<std::vector<std::string>, std::string> some[] = {
      {{"ab"}, "ab"},
      {{"ab"}, "ba"},
      {{"ab"}, "a"},
      {{"aab"}, "ba"},
      {{"aa"}, ""},
      {{"ab", "bc"}, "ac"},
      {{"ab", "bc", "cd"}, "ad"},
      {{"ab", "bc", "cd", "de"}, "ae"},
      {{"ab", "bc", "cd", "de", "ei"}, "ai"},
      {{"abi", "bck", "cdi", "dek"}, "aike"},
      {{"ab", "cd", "e"}, "eacbd"},
      {{"ab", "ab", "ab"}, "ab"},
      {{"ab", "ab", "ab"}, ""},
      {{"aab", "bcc", "cdk"}, "ad"},
      {{"", "ab", ""}, "ba"},
      {{"aob", "bo", "boc"}, "aoc"},
      {{"a", "b", "c", "d", "e", "i", "k", "a", "b"}, "ace"},
      {{"ab", "bc", "cd", "de", "ei", "ik", "ka", "ab", "cd", "e"}, "c"},
  };
  for (const dtype type : element_types) {
    for (const auto& [lists, result] : some) {
      scene s;
      check_einsum(s, type, lists, result, of, of);
    }
  }
}

TEST(TensorsEinsum, TakesRandomModes) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> lists;
    std::string others;
    for (std::size_t n = 1 + random() % 5; n > 0; --n) {
      lists.push_back(random_list(random, "abcdeZ", 4));
      if (lists.size() > 1) others += lists.back();
    }
    scene s;
    const sizes of = random_sizes(random, "abcdeZ");
    check_einsum(s, element_types[random() % std::size(element_types)], lists,
                 random_result(random, lists.front() + others), of, narrowed(random, of, others));
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST(TensorsEinsum, Refuses) {
  scene s;
  auto& a = s.tensor(dtype::f32, {4, 5}, {5, 1});
  auto& b = s.tensor(dtype::f64, {5, 6}, {6, 1});
  auto& d = s.tensor(dtype::f32, {4, 6}, {6, 1});
  s.refuse(einsum{.modes = "->", .operands = {}, .d = d.view}, errc::invalid_argument,
           "0 operands; there must be from 1 to 32");
  s.refuse(einsum{.modes = "ik,kj->ij", .operands = {a.view, b.view}, .d = d.view},
           errc::type_mismatch, "operands[1]");
  s.refuse(einsum{.modes = "ik,ij->kj", .operands = {a.view, a.view}, .d = d.view},
           errc::shape_mismatch, "mode 'k' is 5, and 4 in d");
  s.refuse(einsum{.modes = "ik,ki->i", .operands = {a.view, a.view}, .d = d.view},
           errc::shape_mismatch, "mode 'k' is 5 in operands[0] and 4 in operands[1]");
  s.refuse(einsum{.modes = "ij->ij", .operands = {d.view}, .d = d.view}, errc::aliasing, "d");
  s.refuse(einsum{.modes = "ij,k->ij", .operands = {a.view, any_tensor()}, .d = d.view},
           errc::invalid_argument, "operands[1]");
  // Every two of these share one mode, so that any three give more than eight.
  auto& wide = s.tensor(dtype::f32, {2, 2, 2, 2, 2, 2}, {32, 16, 8, 4, 2, 1});
  auto& one = s.tensor(dtype::f32, {}, {});
  s.refuse(einsum{.modes = "abcdef,aghijk,bglmno,chlpqr,dimpst,ejnqsu,fkortu->",
                  .operands = {wide.view, wide.view, wide.view, wide.view, wide.view, wide.view,
                               wide.view},
                  .d = one.view},
           errc::unsupported, "more than 8 dimensions");
  // The same of five, which repeat one element, so that any two give 2^84 elements.
  const any_tensor large =
      one.view.as_strided({1 << 14, 1 << 14, 1 << 14, 1 << 14}, {0, 0, 0, 0}).value();
  s.refuse(einsum{.modes = "abcd,aefg,behi,cfhj,dgij->",
                  .operands = {large, large, large, large, large},
                  .d = d.view.as_strided({}, {}).value()},
           errc::unsupported, "281474976710656 elements");
}

}  // namespace
}  // namespace troupe::conformance
