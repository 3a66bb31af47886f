#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::contract;

constexpr dtype factor_types[] = {dtype::f32, dtype::f64,  dtype::f16, dtype::bf16,
                                  dtype::c64, dtype::c128, dtype::i32, dtype::i64};

struct three_lists {
  std::string a, b, d;
  [[nodiscard]] std::string modes() const { return a + "," + b + "->" + d; }
};

void check_contract(dtype type, const three_lists& l, const sizes& of, addend with, bool packed,
                    const sizes* of_a = nullptr) {
  scene s;
  s.name(l.modes() + " " + std::string(to_string(type)) + " " +
         std::to_string(static_cast<int>(with)));
  auto& a = make(s, type, l.a, of_a != nullptr ? *of_a : of, packed);
  auto& b = make(s, type, l.b, of, packed);
  auto& d = make(s, type, l.d, of, packed);
  const bool whole = is_integer(type);
  const scalar alpha = with == addend::none ? scalar(1) : whole ? 3 : factor(type, 1.25, -0.5);
  const scalar beta = with == addend::none ? scalar(0) : whole ? -2 : factor(type, -0.75, 0.25);
  const test_tensor& c = with == addend::apart ? make(s, type, l.d, of) : d;
  const sums expected =
      scaled(summed({{l.a, &a}, {l.b, &b}}, l.d, of.size(l.d)), alpha, beta, c.values);
  s.run(contract{.modes = l.modes(),
                 .a = a.view,
                 .b = b.view,
                 .c = with == addend::none ? any_tensor() : c.view,
                 .d = d.view,
                 .alpha = alpha,
                 .beta = beta});
  // Modes of a single factor are summed first, on a GPU in its own type.
  expect_sums(s, d, expected, s.as_on_gpu() && compute_of(type) != real_of(type) ? 3 : 0);
}

const sizes usual{{{'a', 2},
                   {'b', 3},
                   {'c', 5},
                   {'d', 4},
                   {'e', 7},
                   {'f', 6},
                   {'i', 17},
                   {'j', 9},
                   {'k', 33},
                   {'l', 2},
                   {'o', 1},
                   {'q', 1}}};

const three_lists cases[] = {
    {"ik", "kj", "ij"},
    {"ki", "kj", "ij"},
    {"ik", "jk", "ij"},
    {"ik", "kj", "ji"},
    {"aik", "akj", "aij"},
    {"iak", "kja", "jai"},
    {"abik", "abkj", "abij"},
    {"aibk", "akbj", "abij"},
    {"abcd", "ck", "abkd"},
    {"abcd", "kb", "akcd"},
    {"abcd", "cdef", "abef"},
    {"abcd", "cefd", "afbe"},
    {"abcd", "ecfd", "eafb"},
    {"ik", "k", "i"},
    {"k", "kj", "j"},
    {"k", "k", ""},
    {"ik", "ik", "i"},
    {"ik", "ik", ""},
    {"i", "j", "ij"},
    {"i", "j", "ji"},
    {"ij", "ij", "ij"},
    {"ij", "ji", "ij"},
    {"ij", "j", "ij"},
    {"", "ij", "ji"},
    {"", "", ""},
    {"ii", "ij", "ij"},
    {"iik", "kjj", "ij"},
    {"iij", "j", "i"},
    {"ikl", "kj", "ij"},
    {"ika", "kjb", "ij"},
    {"ik", "jb", "ij"},
    {"ika", "b", "ik"},
    {"io", "oj", "ij"},
    {"iok", "qkj", "iqj"},
    {"abcde", "cdbaf", "ef"},
    {"abcdef", "fedc", "ba"},
    {"abcdef", "abcdef", ""},
    {"abcdel", "lfj", "abcdefj"},
    {"oko", "kk", "o"},
};

TEST(TensorsContract, IsTheSumOfProductsForEachTypeAndModes) {
  for (const dtype type : factor_types) {
    for (const three_lists& one : cases) {
      for (const addend with : addends)
        check_contract(type, one, usual, with, false);
      check_contract(type, one, usual, addend::none, true);
    }
  }
}

TEST(TensorsContract, TakesRandomModes) {
  std::mt19937_64 random(test_seed());
  for (int i = 0; i < 600; ++i) {
    three_lists l{random_list(random, "abcdeZ", 6), random_list(random, "abcdeZ", 6), {}};
    l.d = random_result(random, l.a + l.b);
    const sizes of = random_sizes(random, "abcdeZ");
    const sizes of_a = narrowed(random, of, l.b);
    check_contract(factor_types[random() % std::size(factor_types)], l, of, addends[random() % 3],
                   random() % 4 == 0, &of_a);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// Sizes at which every way of taking the tensors is the cheapest for some.
TEST(TensorsContract, TakesLargerTensorsInEachWay) {
  const sizes large{{{'a', 3}, {'b', 12}, {'c', 40}, {'d', 35}, {'i', 130}, {'j', 67}, {'k', 70}}};
  const three_lists lists[] = {
      {"ik", "kj", "ij"},       {"aik", "akj", "aij"},  {"iak", "jak", "aij"},
      {"aibk", "kbja", "jabi"}, {"aibk", "kj", "abij"}, {"abcd", "ck", "abkd"},
      {"ibk", "bk", "ib"},      {"ibk", "kb", "bi"},    {"kai", "kaj", "ij"},
      {"dak", "cak", "cd"},     {"k", "ik", "i"},       {"ik", "jk", "j"},
  };
  for (const dtype type : element_types) {
    for (const three_lists& one : lists)
      check_contract(type, one, large, addend::none, true);
    check_contract(type, {"aibk", "kbja", "jabi"}, large, addend::in_place, false);
  }
}

TEST(TensorsContract, RepeatsExtentOne) {
  for (const dtype type : element_types) {
    scene s;
    auto& a = s.tensor(type, {5, 1, 4}, {4, 4, 1});
    auto& b = s.tensor(type, {1, 6, 3}, {18, 3, 1});
    auto& d = s.tensor(type, {5, 3}, {3, 1});
    const sums expected = summed({{"aik", &a}, {"aij", &b}}, "aj", {5, 3});
    s.run(contract{.modes = "aik,aij->aj", .a = a.view, .b = b.view, .d = d.view});
    expect_sums(s, d, expected, 3);
  }
}

TEST(TensorsContract, ReadsNothingThatCountsForNothing) {
  for (const dtype type : element_types) {
    scene s;
    auto& a = s.tensor(type, {4, 5}, {5, 1});
    auto& b = s.tensor(type, {5, 6}, {6, 1});
    auto& c = s.tensor(type, {4, 6}, {6, 1});
    auto& d = s.tensor(type, {4, 6}, {1, 4});
    const sums product = summed({{"ik", &a}, {"kj", &b}}, "ij", {4, 6});
    s.fill(c, number(nan, nan));
    s.run(contract{.modes = "ik,kj->ij", .a = a.view, .b = b.view, .c = c.view, .d = d.view});
    expect_sums(s, d, product, 0);

    scene t;
    auto& nans = t.tensor(type, {4, 5}, {5, 1});
    auto& e = t.tensor(type, {5, 6}, {6, 1});
    auto& f = t.tensor(type, {4, 6}, {6, 1});
    auto& g = t.tensor(type, {4, 6}, {1, 4});
    t.fill(nans, number(nan, nan));
    sums expected{f.values, std::vector<double>(f.values.size(), 1), 1};
    for (number& one : expected.values)
      one *= 0.5;
    t.run(contract{.modes = "ik,kj->ij",
                   .a = nans.view,
                   .b = e.view,
                   .c = f.view,
                   .d = g.view,
                   .alpha = 0,
                   .beta = 0.5});
    expect_sums(t, g, expected, 0);
  }
}

TEST(TensorsContract, OfNothingIsBetaTimesC) {
  for (const dtype type : element_types) {
    for (const bool in_place : {true, false}) {
      scene s;
      auto& a = s.tensor(type, {4, 0}, {1, 1});
      auto& b = s.tensor(type, {0, 6}, {6, 1});
      auto& d = s.tensor(type, {6, 4}, {4, 1});
      sums expected{in_place ? d.values : std::vector<number>(24), std::vector<double>(24, 1), 1};
      for (number& one : expected.values)
        one *= 2;
      s.run(contract{.modes = "ik,kj->ji",
                     .a = a.view,
                     .b = b.view,
                     .c = in_place ? d.view : any_tensor(),
                     .d = d.view,
                     .beta = in_place ? 2 : 0});
      expect_sums(s, d, expected, 0);
    }
    scene s;
    auto& a = s.tensor(type, {0, 3}, {3, 1});
    auto& b = s.tensor(type, {3, 6}, {6, 1});
    auto& d = s.tensor(type, {0, 6}, {6, 1});
    s.run(contract{.modes = "ik,kj->ij", .a = a.view, .b = b.view, .d = d.view});
  }
}

// Extents that repeat one element, or of which there are none, need no memory.
TEST(TensorsContract, TakesHugeExtents) {
  constexpr std::int64_t huge = std::int64_t{1} << 50;
  for (const dtype type : element_types) {
    scene s;
    auto& one = s.tensor(type, {1, 1}, {1, 1});
    auto& d = s.tensor(type, {4, 6}, {6, 1});
    const any_tensor a = one.view.as_strided({4, huge}, {0, 0}).value();
    const any_tensor b = one.view.as_strided({huge, 6}, {0, 0}).value();
    sums expected{d.values, std::vector<double>(d.values.size(), 1), 1};
    for (number& value : expected.values)
      value *= 0.5;
    s.run(contract{
        .modes = "ik,kj->ij", .a = a, .b = b, .c = d.view, .d = d.view, .alpha = 0, .beta = 0.5});
    expect_sums(s, d, expected, 0);

    scene t;
    auto& none = t.tensor(type, {0, 3}, {3, 1});
    auto& other = t.tensor(type, {3, 4}, {4, 1});
    auto& empty = t.tensor(type, {0, 4}, {4, 1});
    const any_tensor wide = none.view.as_strided({huge, 0}, {0, 1}).value();
    const any_tensor high = none.view.as_strided({0, 4}, {huge, 1}).value();
    auto& zero = t.tensor(type, {4}, {1});
    t.run(contract{.modes = "ik,kj->ij", .a = none.view, .b = other.view, .d = empty.view});
    t.run(contract{.modes = "ik,kj->j", .a = wide, .b = high, .d = zero.view});
    expect_sums(t, zero, {std::vector<number>(4), std::vector<double>(4), 0}, 0);
  }
}

TEST(TensorsContract, RefusesWhatModesCannotSay) {
  scene s;
  auto& a = s.tensor(dtype::f32, {4, 5}, {5, 1});
  auto& b = s.tensor(dtype::f32, {5, 6}, {6, 1});
  auto& c = s.tensor(dtype::f32, {4, 6}, {6, 1});
  auto& d = s.tensor(dtype::f32, {4, 6}, {6, 1});
  contract r{.modes = "ik,kj->ij", .a = a.view, .b = b.view, .d = d.view};
  const auto refuse = [&](const std::string& modes, errc code, std::string_view text) {
    contract bad = r;
    bad.modes = modes;
    s.refuse(bad, code, text);
  };
  refuse("ik,kj", errc::invalid_argument, R"(modes "ik,kj" have no "->")");
  refuse("ik,k1->ij", errc::invalid_argument, "'1' at position 4 is no letter");
  refuse("ik,kj->i,j", errc::invalid_argument, "',' at position 8 is behind the arrow");
  refuse("ik,kj->ij->", errc::invalid_argument, "'-' at position 9 begins a second arrow");
  refuse("ik,kj->i\xff", errc::invalid_argument, "byte 255 at position 8");
  refuse("ik,kj,i->ij", errc::invalid_argument,
         "3 lists before the arrow, and there are 2 operands");
  refuse("ik,kj->iz", errc::invalid_argument, "'z' at position 8 is in no operand");
  refuse("ik,kj->ii", errc::invalid_argument, "'i' twice, at positions 7 and 8");
  refuse("...k,k...j->j", errc::invalid_argument,
         "the result has no ellipsis, which stands for 1 dimensions");
  refuse("...ik...,kj->ij", errc::invalid_argument, "'.' at position 5 begins a second ellipsis");
  refuse("..ik,kj->ij", errc::invalid_argument, "'.' at position 0 is no letter");
  refuse("ik...l,kj->ij...", errc::shape_mismatch, "a has 3 modes beside an ellipsis, and is [4");
  refuse("...k,...j->...kj", errc::shape_mismatch,
         "dimension 0 of the ellipsis is 4 in a and 5 in b");
  refuse("...k,kj->j...", errc::shape_mismatch, "mode 'j' is 6, and 4 in d");
  refuse("i...,...j->...", errc::shape_mismatch, "d has 1 modes, \"...\", and is [4, 6]");
  refuse("ikl,kj->ij", errc::shape_mismatch, "a has 3 modes, \"ikl\", and is [4, 5]");
  refuse("ik,kj->i", errc::shape_mismatch, "d has 1 modes, \"i\", and is [4, 6]");
  refuse("ik,jk->ij", errc::shape_mismatch, "mode 'k' is 5 in a and 6 in b");
  refuse("kk,kj->kj", errc::shape_mismatch, "mode 'k' is 4 and 5 in a");
  refuse("ik,kj->ji", errc::shape_mismatch, "mode 'j' is 6, and 4 in d");

  contract without_c = r;
  without_c.beta = 1;
  s.refuse(without_c, errc::invalid_argument, "beta is not zero, and c is not given");
  contract complex_factor = r;
  complex_factor.alpha = number(0, 1);
  s.refuse(complex_factor, errc::invalid_argument, "alpha");
  contract on_a = r;
  on_a.modes = "ik,kj->ik";
  on_a.d = a.view;
  s.refuse(on_a, errc::aliasing, "d");
  contract other_type = r;
  auto& wide = s.tensor(dtype::f64, {4, 6}, {6, 1});
  other_type.d = wide.view;
  s.refuse(other_type, errc::type_mismatch, "");
  contract shifted = r;
  shifted.c = c.view.slice(1, 0, 6).value();
  shifted.c = c.view.as_strided({4, 6}, {1, 4}).value();
  shifted.d = c.view;
  shifted.beta = 1;
  s.refuse(shifted, errc::aliasing, "");
  contract repeated = r;
  repeated.d = d.view.as_strided({4, 6}, {0, 1}).value();
  s.refuse(repeated, errc::aliasing, "");
}

}  // namespace
}  // namespace troupe::conformance
