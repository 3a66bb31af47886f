#include "named_loops.hpp"

#include <troupe/tensors.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using namespace named;
using tensors::contract_blocks;
using numbers = std::vector<std::int64_t>;

constexpr dtype block_types[] = {dtype::f32, dtype::f64, dtype::c64, dtype::c128};

using sections = std::map<char, numbers>;

std::int64_t begin_of(const numbers& of_mode, std::int64_t section) {
  return std::accumulate(of_mode.begin(), of_mode.begin() + section, std::int64_t{0});
}

/// Calls `f(element of the packed blocks, index in the dense tensor)`.
template <class F>
void for_each_stored(const std::string& modes, const sections& of, const numbers& blocks, F f) {
  const std::size_t rank = modes.size();
  const std::size_t count = rank == 0 ? 1 : blocks.size() / rank;
  std::size_t element = 0;
  for (std::size_t block = 0; block < count; ++block) {
    numbers extents;
    numbers begins;
    for (std::size_t d = 0; d < rank; ++d) {
      const numbers& of_mode = of.at(modes[d]);
      const std::int64_t section = blocks[block * rank + d];
      extents.push_back(of_mode[static_cast<std::size_t>(section)]);
      begins.push_back(begin_of(of_mode, section));
    }
    numbers index(rank, 0);
    for (bool more = true; more; ++element) {
      std::int64_t dense = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        const numbers& of_mode = of.at(modes[d]);
        dense = dense * begin_of(of_mode, std::ssize(of_mode)) + begins[d] + index[d];
      }
      f(element, static_cast<std::size_t>(dense));
      more = false;
      for (std::size_t d = rank; d-- > 0;) {
        if (++index[d] < extents[d]) {
          more = true;
          break;
        }
        index[d] = 0;
      }
    }
  }
}

std::int64_t stored(const std::string& modes, const sections& of, const numbers& blocks) {
  std::int64_t all = 0;
  for_each_stored(modes, of, blocks, [&](std::size_t, std::size_t) { ++all; });
  return all;
}

struct block_case {
  std::string a, b, d;
  sections of;
  numbers a_blocks, b_blocks, d_blocks;

  [[nodiscard]] std::string modes() const { return a + "," + b + "->" + d; }
  /// Modes in the order in which they are first named.
  [[nodiscard]] std::string order() const {
    std::string made;
    for (const char mode : a + b) {
      if (made.find(mode) == std::string::npos) made += mode;
    }
    return made;
  }
  [[nodiscard]] contract_blocks request() const {
    contract_blocks made{
        .modes = modes(), .a_blocks = a_blocks, .b_blocks = b_blocks, .d_blocks = d_blocks};
    for (const char mode : order()) {
      made.section_counts.push_back(std::ssize(of.at(mode)));
      made.sections.insert(made.sections.end(), of.at(mode).begin(), of.at(mode).end());
    }
    return made;
  }
  [[nodiscard]] sizes dense() const {
    sizes made;
    for (const auto& [mode, of_mode] : of)
      made.of[mode] = begin_of(of_mode, std::ssize(of_mode));
    return made;
  }
};

/// A dense tensor with these blocks, and zeros between.
test_tensor& dense_of(scene& s, dtype type, const std::string& modes, const block_case& c,
                      const numbers& blocks, const test_tensor& packed) {
  auto& dense = make(s, type, modes, c.dense(), true);
  std::vector<number> values(dense.values.size(), number(0));
  for_each_stored(modes, c.of, blocks,
                  [&](std::size_t from, std::size_t to) { values[to] = packed.values[from]; });
  s.fill(dense, values);
  return dense;
}

void check_blocks(dtype type, const block_case& c, addend with) {
  scene s;
  s.name(c.modes() + " " + std::string(to_string(type)) + " " +
         std::to_string(static_cast<int>(with)));
  auto& a = s.vector(type, stored(c.a, c.of, c.a_blocks));
  auto& b = s.vector(type, stored(c.b, c.of, c.b_blocks));
  auto& d = s.vector(type, stored(c.d, c.of, c.d_blocks));
  test_tensor& addend_of =
      with == addend::apart ? s.vector(type, stored(c.d, c.of, c.d_blocks)) : d;
  const scalar alpha = with == addend::none ? scalar(1) : factor(type, 1.25, -0.5);
  const scalar beta = with == addend::none ? scalar(0) : factor(type, -0.75, 0.25);
  if (with != addend::in_place) s.fill(d, nan);
  // The reference has all elements, stored or not.
  const auto& left = dense_of(s, type, c.a, c, c.a_blocks, a);
  const auto& right = dense_of(s, type, c.b, c, c.b_blocks, b);
  const sums whole = summed({{c.a, &left}, {c.b, &right}}, c.d, c.dense().size(c.d));
  sums expected{.values = std::vector<number>(d.values.size()),
                .magnitudes = std::vector<double>(d.values.size()),
                .terms = whole.terms};
  for_each_stored(c.d, c.of, c.d_blocks, [&](std::size_t to, std::size_t from) {
    expected.values[to] = whole.values[from];
    expected.magnitudes[to] = whole.magnitudes[from];
  });
  expected = scaled(std::move(expected), alpha, beta, addend_of.values);

  contract_blocks r = c.request();
  r.a = a.view;
  r.b = b.view;
  r.d = d.view;
  if (with != addend::none) r.c = addend_of.view;
  r.alpha = alpha;
  r.beta = beta;
  s.run(r);
  expect_sums(s, d, expected, 0);
}

void check_all(const block_case& c) {
  for (const dtype type : block_types) {
    for (const addend with : addends)
      check_blocks(type, c, with);
  }
}

TEST(TensorsContractBlocks, IsTheSumOfProductsOfStoredBlocks) {
  const sections of{{'i', {3, 5}}, {'j', {4, 1, 2}}, {'k', {7, 2}}, {'l', {3}}};
  // One product, several for one block, none for another; blocks in any order; one that is not
  // asked for.
  check_all({"ik", "kj", "ij", of, {1, 0}, {0, 2}, {1, 2}});
  check_all({"ik", "kj", "ij", of, {1, 1, 0, 0, 1, 0}, {0, 0, 1, 2, 1, 0}, {1, 0, 0, 1, 0, 0}});
  check_all({"ik", "kj", "ji", of, {1, 1, 0, 0}, {0, 0, 1, 2}, {2, 1, 0, 0}});
  check_all({"ikl", "lkj", "ij", of, {1, 0, 0, 1, 1, 0}, {0, 0, 1, 0, 1, 1}, {1, 1, 0, 1}});
  // Outer, elementwise, summed within one tensor, without modes.
  check_all({"i", "j", "ij", of, {1}, {0, 2}, {1, 0, 1, 2, 0, 0}});
  check_all({"ij", "ij", "ij", of, {1, 0, 0, 2}, {0, 2, 1, 1}, {0, 2, 1, 1}});
  check_all({"ikl", "j", "ij", of, {1, 0, 0, 1, 1, 0}, {2}, {1, 2}});
  check_all({"ik", "ik", "", of, {1, 0, 0, 0}, {0, 0, 1, 1}, {}});
  check_all({"", "ij", "ij", of, {}, {1, 2}, {1, 2, 0, 0}});
  check_all({"", "", "", of, {}, {}, {}});
}

TEST(TensorsContractBlocks, MayStoreNothing) {
  const sections of{{'i', {3, 5}}, {'j', {4, 1, 2}}, {'k', {7, 2}}};
  check_all({"ik", "kj", "ij", of, {}, {0, 2}, {1, 2}});
  check_all({"ik", "kj", "ij", of, {1, 0}, {}, {1, 2}});
  check_all({"ik", "kj", "ij", of, {1, 0}, {0, 2}, {}});
  check_all({"ik", "kj", "", of, {}, {}, {}});
}

numbers random_blocks(std::mt19937_64& random, const std::string& modes, const sections& of) {
  std::vector<numbers> all{{}};
  for (const char mode : modes) {
    std::vector<numbers> longer;
    for (const numbers& one : all) {
      for (std::int64_t i = 0; i < std::ssize(of.at(mode)); ++i) {
        longer.push_back(one);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  std::ranges::shuffle(all, random);
  if (!modes.empty()) all.resize(random() % (all.size() + 1));
  numbers flat;
  for (const numbers& one : all)
    flat.insert(flat.end(), one.begin(), one.end());
  return flat;
}

TEST(TensorsContractBlocks, TakesRandomModesAndBlocks) {
  std::mt19937_64 random(test_seed());
  const auto once = [](std::string modes) {
    std::ranges::sort(modes);
    modes.erase(std::ranges::unique(modes).begin(), modes.end());
    return modes;
  };
  for (int i = 0; i < 150; ++i) {
    block_case c{.a = once(random_list(random, "abcZ", 4)),
                 .b = once(random_list(random, "abcZ", 4)),
                 .d = {},
                 .of = {},
                 .a_blocks = {},
                 .b_blocks = {},
                 .d_blocks = {}};
    std::ranges::shuffle(c.a, random);
    std::ranges::shuffle(c.b, random);
    c.d = random_result(random, c.a + c.b);
    for (const char mode : std::string("abcZ")) {
      numbers& of_mode = c.of[mode];
      for (std::uint64_t n = 1 + random() % 3; n > 0; --n)
        of_mode.push_back(1 + static_cast<std::int64_t>(random() % 5));
    }
    c.a_blocks = random_blocks(random, c.a, c.of);
    c.b_blocks = random_blocks(random, c.b, c.of);
    c.d_blocks = random_blocks(random, c.d, c.of);
    check_blocks(block_types[random() % std::size(block_types)], c, addends[random() % 3]);
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

// With alpha or beta zero nothing of what they scale is read.
TEST(TensorsContractBlocks, ReadsNothingThatCountsForNothing) {
  for (const dtype type : block_types) {
    scene s;
    auto& a = s.vector(type, 6);
    auto& b = s.vector(type, 6);
    auto& c = s.vector(type, 4);
    auto& d = s.vector(type, 4);
    s.fill(a, nan);
    contract_blocks r{.modes = "ik,kj->ij",
                      .section_counts = {1, 1, 1},
                      .sections = {2, 3, 2},
                      .a = a.view,
                      .a_blocks = {0, 0},
                      .b = b.view,
                      .b_blocks = {0, 0},
                      .c = c.view,
                      .d = d.view,
                      .d_blocks = {0, 0},
                      .alpha = 0,
                      .beta = 1};
    s.run(r);
    s.expect_exactly(d, c.before());
  }
}

TEST(TensorsContractBlocks, RefusesWhatIsNoBlock) {
  scene s;
  auto& a = s.vector(dtype::f32, 15);
  auto& b = s.vector(dtype::f32, 20);
  auto& d = s.vector(dtype::f32, 12);
  const contract_blocks good{.modes = "ik,kj->ij",
                             .section_counts = {2, 1, 1},
                             .sections = {3, 7, 5, 4},
                             .a = a.view,
                             .a_blocks = {0, 0},
                             .b = b.view,
                             .b_blocks = {0, 0},
                             .d = d.view,
                             .d_blocks = {0, 0}};
  s.run(good);
  const auto refuse = [&](auto change, errc code, std::string_view text) {
    contract_blocks bad = good;
    change(bad);
    s.refuse(bad, code, text);
  };
  using enum errc;
  refuse([](auto& r) { r.modes = "ik,kj->iz"; }, invalid_argument, "'z'");
  refuse([](auto& r) { r.modes = "ii,ij->ij"; }, invalid_argument, "a has mode 'i' twice");
  refuse([](auto& r) { r.modes = "abcdefghi,i->a"; }, invalid_argument, "a has 9 modes");
  refuse([](auto& r) { r.section_counts = {2, 1}; }, invalid_argument,
         "section_counts has 2 numbers, and there are 3 modes: i, k, j");
  refuse([](auto& r) { r.section_counts = {2, 0, 1}; }, invalid_argument,
         "section_counts[1], of mode 'k', is 0");
  refuse([](auto& r) { r.section_counts[2] = 2; }, invalid_argument,
         "sections has 4 numbers, too few for mode 'j' of 2 sections");
  refuse([](auto& r) { r.sections.push_back(1); }, invalid_argument, "1 more than");
  refuse([](auto& r) { r.sections[1] = 0; }, invalid_argument, "sections[1] is 0");
  refuse([](auto& r) { r.a_blocks = {0}; }, invalid_argument, "a_blocks has 1 numbers");
  refuse([](auto& r) { r.a_blocks = {2, 0}; }, invalid_argument,
         "a_blocks has the block (2, 0); mode 'i' has 2 sections");
  refuse([](auto& r) { r.b_blocks = {0, -1}; }, invalid_argument, "b_blocks has the block (0, -1)");
  refuse([](auto& r) { r.d_blocks = {1, 0, 0, 0, 1, 0}; }, invalid_argument,
         "d_blocks has the block (1, 0) twice");
  refuse([](auto& r) { r.a_blocks = {1, 0}; }, shape_mismatch, "a_blocks");
  refuse([](auto& r) { r.d_blocks = {}; }, shape_mismatch, "d_blocks");
  refuse([](auto& r) { r.beta = 1; }, invalid_argument, "c is not given");
  refuse([](auto& r) { r.sections = {std::int64_t{1} << 40, 7, std::int64_t{1} << 40, 4}; },
         shape_mismatch, "no tensor has so many");
  refuse([&](auto& r) { r.d = a.view; }, aliasing, "");
}

TEST(TensorsContractBlocks, RefusesTooManyProducts) {
  constexpr std::int64_t blocks = 260;  // 67 600 products
  scene s;
  auto& a = s.vector(dtype::f32, blocks);
  auto& b = s.vector(dtype::f32, blocks);
  auto& d = s.vector(dtype::f32, 1);
  contract_blocks r{.modes = "i,j->ij",
                    .section_counts = {blocks, blocks},
                    .sections = numbers(2 * blocks, 1),
                    .a = a.view,
                    .b = b.view,
                    .d = d.view,
                    .d_blocks = {0, 0}};
  for (std::int64_t i = 0; i < blocks; ++i) {
    r.a_blocks.push_back(i);
    r.b_blocks.push_back(i);
  }
  s.refuse(r, errc::unsupported, "more than 65536 pairs");
}

}  // namespace
}  // namespace troupe::conformance
