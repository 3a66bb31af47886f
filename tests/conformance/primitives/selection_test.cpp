#include "vectors.hpp"

#include <troupe/primitives/selection.hpp>

#include <algorithm>

namespace troupe::conformance {
namespace {

/// Flags of either type, of which a part is set.
test_tensor& flags(scene& s, std::int64_t n, unsigned one_in, std::int64_t stride) {
  const dtype type = s.generator()() % 2 == 0 ? dtype::boolean : dtype::u8;
  test_tensor& t = s.vector(type, n, stride);
  std::vector<element_bits> bits(static_cast<std::size_t>(n));
  for (element_bits& one : bits) {
    const bool set = one_in != 0 && s.generator()() % one_in == 0;
    one.words[0] = set ? (type == dtype::u8 ? 1 + s.generator()() % 255 : 1) : 0;
  }
  fill_bits(t, bits);
  return t;
}

/// Calls `f(type, n, contents)` for every type and length.
template <class F>
void for_each_selection_case(F f) {
  for (const dtype type : every_type) {
    for (const content with : contents) {
      for (const std::int64_t n : lengths) {
        if (n < 5000 || with == content::any || with == content::few) f(type, n, with);
      }
    }
    f(type, long_length, content::few);
  }
}

std::vector<element_bits> flagged(const std::vector<element_bits>& x,
                                  const std::vector<element_bits>& flags, bool set) {
  std::vector<element_bits> kept;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if ((flags[i].words[0] != 0) == set) kept.push_back(x[i]);
  }
  return kept;
}

struct run {
  element_bits element;
  std::int64_t length;
};
std::vector<run> runs_of(const std::vector<element_bits>& x) {
  std::vector<run> runs;
  for (const element_bits& one : x) {
    if (runs.empty() || runs.back().element != one) runs.push_back({one, 0});
    ++runs.back().length;
  }
  return runs;
}

/// The first elements of a longer result.
std::vector<element_bits> first_of(std::vector<element_bits> bits, std::size_t n) {
  bits.resize(std::min(n, bits.size()));
  return bits;
}

TEST(PrimitivesSelect, KeepsTheFlaggedElements) {
  for_each_selection_case([](dtype type, std::int64_t n, content with) {
    for (const unsigned one_in : {0U, 1U, 3U}) {
      scene s;
      s.name(case_name(type, n, with));
      auto& x = s.vector(type, n, n % 2 == 0 ? 2 : 1);
      fill_bits(s, x, with);
      auto& chosen = flags(s, n, one_in, n % 3 == 0 ? 2 : 1);
      const auto expected = flagged(bits_before(x), bits_before(chosen), true);
      const auto number = static_cast<std::int64_t>(expected.size());
      auto& y = s.vector(type, number, n % 5 == 0 ? 3 : 1);
      auto& count = s.vector(dtype::i64, 1);
      const std::int64_t reply = s.run(
          primitives::select{.x = x.view, .flags = chosen.view, .y = y.view, .count = count.view});
      EXPECT_EQ(reply, number) << s.note();
      EXPECT_EQ(integers_now(s, count)[0], number) << s.note();
      EXPECT_EQ(bits_now(s, y), expected) << s.note();
    }
  });
}

TEST(PrimitivesSelect, PutsTheFlaggedElementsFirst) {
  for_each_selection_case([](dtype type, std::int64_t n, content with) {
    scene s;
    s.name(case_name(type, n, with));
    auto& x = s.vector(type, n, n % 2 == 0 ? 2 : 1);
    fill_bits(s, x, with);
    auto& chosen = flags(s, n, static_cast<unsigned>(n % 4), n % 3 == 0 ? 2 : 1);
    auto expected = flagged(bits_before(x), bits_before(chosen), true);
    const auto number = static_cast<std::int64_t>(expected.size());
    const auto others = flagged(bits_before(x), bits_before(chosen), false);
    expected.insert(expected.end(), others.begin(), others.end());
    auto& y = s.vector(type, n, n % 5 == 0 ? 3 : 1);
    auto& count = s.vector(dtype::i64, 1);
    const std::int64_t reply = s.run(
        primitives::partition{.x = x.view, .flags = chosen.view, .y = y.view, .count = count.view});
    EXPECT_EQ(reply, number) << s.note();
    EXPECT_EQ(integers_now(s, count)[0], number) << s.note();
    EXPECT_EQ(bits_now(s, y), expected) << s.note();
  });
}

TEST(PrimitivesSelect, KeepsOneOfEachRun) {
  for_each_selection_case([](dtype type, std::int64_t n, content with) {
    scene s;
    s.name(case_name(type, n, with));
    auto& x = s.vector(type, n, n % 2 == 0 ? 2 : 1);
    fill_bits(s, x, with);
    const auto runs = runs_of(bits_before(x));
    // With room for more than there are.
    const auto number = static_cast<std::int64_t>(runs.size());
    auto& y = s.vector(type, number + n % 3, n % 5 == 0 ? 3 : 1);
    auto& count = s.vector(dtype::i64, 1);
    const std::int64_t reply =
        s.run(primitives::unique{.x = x.view, .y = y.view, .count = count.view});
    EXPECT_EQ(reply, number) << s.note();
    EXPECT_EQ(integers_now(s, count)[0], number) << s.note();
    const auto now = first_of(bits_now(s, y), runs.size());
    for (std::size_t i = 0; i < runs.size(); ++i)
      ASSERT_EQ(now[i], runs[i].element) << i << s.note();
  });
}

TEST(PrimitivesSelect, MeasuresEachRun) {
  for_each_selection_case([](dtype type, std::int64_t n, content with) {
    scene s;
    s.name(case_name(type, n, with));
    auto& x = s.vector(type, n, n % 2 == 0 ? 2 : 1);
    fill_bits(s, x, with);
    const auto runs = runs_of(bits_before(x));
    const auto number = static_cast<std::int64_t>(runs.size());
    auto& values = s.vector(type, number + n % 2, n % 3 == 0 ? 2 : 1);
    auto& run_lengths = s.vector(dtype::i64, number + n % 2, n % 5 == 0 ? 3 : 1);
    auto& count = s.vector(dtype::i64, 1);
    const std::int64_t reply = s.run(primitives::run_length{
        .x = x.view, .values = values.view, .lengths = run_lengths.view, .count = count.view});
    EXPECT_EQ(reply, number) << s.note();
    EXPECT_EQ(integers_now(s, count)[0], number) << s.note();
    const auto elements = bits_now(s, values);
    const auto found = integers_now(s, run_lengths);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ASSERT_EQ(elements[i], runs[i].element) << i << s.note();
      ASSERT_EQ(found[i], runs[i].length) << i << s.note();
    }
  });
}

template <class Attempt>
void expect_too_small(std::int64_t needed, std::int64_t capacity, Attempt attempt) {
  scene s;
  auto& count = s.vector(dtype::i64, 1);
  const auto answer = attempt(s, count.view);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, errc::capacity_exceeded);
  EXPECT_NE(answer.error().message.find("needs " + std::to_string(needed) +
                                        " elements, but the result has room for " +
                                        std::to_string(capacity)),
            std::string::npos)
      << answer.error().message;
  EXPECT_EQ(integers_now(s, count)[0], needed);
}

TEST(PrimitivesSelect, SaysHowManyElementsItNeedsRoomFor) {
  for (const std::int64_t n : {std::int64_t{5}, std::int64_t{1000}, long_length}) {
    for (const dtype type : {dtype::e5m2, dtype::f32, dtype::c128}) {
      expect_too_small(n, n - 1, [&](scene& s, const any_tensor& count) {
        return s.attempt(primitives::select{.x = s.vector(type, n).view,
                                            .flags = flags(s, n, 1, 1).view,
                                            .y = s.vector(type, n - 1, 2).view,
                                            .count = count});
      });
    }
    expect_too_small(1, 0, [&](scene& s, const any_tensor& count) {
      auto& x = s.vector(dtype::i16, n);
      fill_bits(s, x, content::equal);
      return s.attempt(
          primitives::unique{.x = x.view, .y = s.vector(dtype::i16, 0).view, .count = count});
    });
    expect_too_small(n, 3, [&](scene& s, const any_tensor& count) {
      auto& x = s.vector(dtype::u32, n);
      std::vector<element_bits> bits(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < bits.size(); ++i)
        bits[i].words[0] = i;
      fill_bits(x, bits);
      return s.attempt(primitives::run_length{.x = x.view,
                                              .values = s.vector(dtype::u32, 3).view,
                                              .lengths = s.vector(dtype::i64, 3).view,
                                              .count = count});
    });
  }
}

TEST(PrimitivesSelect, RepliesWithoutACount) {
  scene s;
  auto& x = s.vector(dtype::i32, 5);
  s.fill(x, std::vector<number>{4, 4, 4, 2, 4});
  EXPECT_EQ(s.run(primitives::unique{.x = x.view, .y = s.vector(dtype::i32, 5).view}), 3);
  EXPECT_EQ(s.run(primitives::run_length{.x = x.view,
                                         .values = s.vector(dtype::i32, 3).view,
                                         .lengths = s.vector(dtype::i64, 3).view}),
            3);
}

TEST(PrimitivesSelect, ComparesBits) {
  scene s;
  auto& x = s.vector(dtype::f32, 5);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  s.fill(x, std::vector<number>{0.0, -0.0, nan, nan, -nan});
  EXPECT_EQ(s.run(primitives::unique{.x = x.view, .y = s.vector(dtype::f32, 5).view}), 4);
}

}  // namespace
}  // namespace troupe::conformance
