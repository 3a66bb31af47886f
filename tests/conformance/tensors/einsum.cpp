#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::contract;
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
  const scalar alpha = is_integer(type) ? scalar(-3) : factor(type, 0.5, 0.25);
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

// The ellipsis stands for the batch, which is named in the same operation without one.
TEST(TensorsEinsum, TakesAnEllipsisForDimensionsWithoutNames) {
  for (const dtype type : element_types) {
    scene s;
    auto& a = s.tensor(type, {3, 4, 5}, {20, 5, 1});
    auto& b = s.tensor(type, {2, 1, 5, 6}, {30, 30, 6, 1});
    auto& d = s.tensor(type, {2, 3, 6, 4}, {72, 24, 4, 1});
    const sums expected = summed({{"bik", &a}, {"abkj", &b}}, "abji", {2, 3, 6, 4});
    s.run(einsum{.modes = "...iZ, ...Zj -> ...ji", .operands = {a.view, b.view}, .d = d.view});
    expect_sums(s, d, expected, 0);
    // One of many requests that take modes.
    auto& most = s.tensor(type, {5, 4, 3}, {12, 1, 4});
    const sums turned = summed({{"bik", &a}}, "kib", {5, 4, 3});
    s.run(tensors::permute{.modes = "b...k->k...b", .a = a.view, .d = most.view});
    expect_sums(s, most, turned, 0);
  }
}

// Sums modulo 2^64, or 2^32, which numbers of f64 do not hold.
TEST(TensorsEinsum, WrapsIntegers) {
  const auto check = [](auto zero) {
    using integer = decltype(zero);
    using bits = std::make_unsigned_t<integer>;
    constexpr dtype type = dtype_of<integer>;
    scene s;
    auto& a = s.tensor(type, {3, 70}, {1, 4});
    auto& b = s.tensor(type, {70, 5}, {5, 1});
    auto& c = s.tensor(type, {5}, {1});
    auto& d = s.tensor(type, {3}, {1});
    const auto large = [&](test_tensor& t) {
      std::vector<number> values(t.values.size());
      for (number& one : values)
        one =
            std::ldexp(std::round(s.random(dtype::f64).real() * 0x1p30), sizeof zero == 8 ? 32 : 0);
      s.fill(t, values);
    };
    large(a);
    large(b);
    large(c);
    s.fill(a, [&] {
      std::vector<number> odd = a.values;
      for (number& one : odd)
        one += 1;
      return odd;
    }());
    const integer alpha = static_cast<integer>(-7 - (integer{1} << (sizeof zero * 8 - 4)));
    const auto at = [](const test_tensor& t, std::size_t i) {
      return static_cast<bits>(static_cast<integer>(t.values[i].real()));
    };
    std::vector<bits> expected(3);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 70; ++k) {
        for (std::size_t j = 0; j < 5; ++j)
          expected[i] += at(a, i * 70 + k) * at(b, k * 5 + j) * at(c, j);
      }
      expected[i] *= static_cast<bits>(alpha);
    }
    s.run(einsum{
        .modes = "ik,kj,j->i", .operands = {a.view, b.view, c.view}, .d = d.view, .alpha = alpha});
    const auto now = s.bytes_now(d);
    std::vector<bits> found(3);
    std::memcpy(found.data(), now.data(), now.size());
    EXPECT_EQ(found, expected) << s.note();
  };
  check(std::int32_t{});
  check(std::int64_t{});
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
    // i32 would wrap.
    const dtype type =
        random() % 8 == 0 ? dtype::i64 : element_types[random() % std::size(element_types)];
    check_einsum(s, type, lists, random_result(random, lists.front() + others), of,
                 narrowed(random, of, others));
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
  auto& many = s.tensor(dtype::i32, {2, 1, 1, 1, 1}, {1, 1, 1, 1, 1});
  const any_tensor more = many.view.as_strided({2, 2, 2, 2, 2}, {0, 0, 0, 0, 0}).value();
  const any_tensor one_more = many.view.as_strided({2, 2, 2, 2, 2}, {1, 0, 0, 0, 0}).value();
  auto& whole = s.tensor(dtype::i32, {2}, {1});
  s.refuse(
      einsum{
          .modes = "abcde,fghij->a", .operands = {more, one_more}, .d = whole.view, .alpha = 0.5},
      errc::invalid_argument, "alpha is 0.5, it must be a 32-bit integer where d is i32");
  auto& d8 = s.tensor(dtype::i32, {2, 2, 2, 2, 2, 2, 2, 2}, {128, 64, 32, 16, 8, 4, 2, 1});
  s.refuse(contract{.modes = "abcde,efghi->abcdfghi", .a = more, .b = one_more, .d = d8.view},
           errc::unsupported, "multiplies integers over more than 8 modes");
}

}  // namespace
}  // namespace troupe::conformance
