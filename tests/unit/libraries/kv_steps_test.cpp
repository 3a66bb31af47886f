// Steps with a number of tokens for each sequence, parts of steps, and forks of beginnings.

#include "kv_cache_fixture.hpp"

#include <troupe/memory/copy.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace troupe::kv_testing {
namespace {

class KvSteps : public KvCacheTest {
 protected:
  /// A row of a layer, by its number among those of all pages.
  static any_tensor rows_of(const kv_cache& c, std::int64_t layer, std::int32_t number, bool key) {
    const any_tensor pages = key ? c.keys(layer) : c.values(layer);
    const std::int64_t page = number / page_size;
    const std::int64_t at = number % page_size;
    return pages.slice(0, page, page + 1)
        .value()
        .slice(2, at, at + 1)
        .value()
        .as_strided({heads, size}, {pages.stride(1), 1})
        .value();
  }

  /// Sequences 1 and 2 with 3 and 5 tokens, and room for the places of one more of each.
  struct two_sequences {
    explicit two_sequences(KvSteps& test)
        : cache(test.cache(16)), all{cache.begin(), cache.begin()} {
      const std::vector<part> first = {{1, 0, 3}, {2, 0, 5}};
      EXPECT_TRUE(test.packed_step(cache, all, first).commit());
    }
    [[nodiscard]] dnn::kv_step step() {
      return cache.step(std::vector<kv_growth>{{.sequence = all[0]}, {.sequence = all[1]}}).value();
    }

    kv_cache cache;
    std::vector<kv_sequence> all;
    std::vector<std::int32_t> rows = std::vector<std::int32_t>(2);
    std::vector<std::int32_t> lengths = std::vector<std::int32_t>(2);
    std::vector<std::int32_t> pages = std::vector<std::int32_t>(6);
    dnn::kv_places places{.rows = rows, .lengths = lengths, .pages = pages};
  };

  /// Calls f with each row at the step's places, and what a sequence has there.
  template <class F>
  void for_each_row(const two_sequences& t, F f) {
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      for (std::size_t i = 0; i < t.all.size(); ++i) {
        for (const bool key : {true, false})
          f(rows_of(t.cache, layer, t.rows[i], key),
            row(static_cast<int>(i) + 1, layer, t.lengths[i] - 1, key));
      }
    }
  }
  /// As a graph would.
  void write_rows(const two_sequences& t) {
    for_each_row(t, [&](const any_tensor& token, const std::vector<number>& value) {
      const auto from = device_.tensor<number>({heads, size}).value();
      device_.copy(std::span(value), from).get();
      device_.ask(memory::copy{.from = from, .to = token}).get();
    });
  }
};

TEST_F(KvSteps, TakesChunksAndSingleTokensInOneStep) {
  auto c = cache(64);
  std::vector<kv_sequence> all(5);
  for (kv_sequence& one : all)
    one = c.begin();
  std::vector<std::int64_t> lengths(all.size());
  // Single tokens beside chunks that begin and end within pages, or at their borders.
  const std::vector<std::vector<std::int64_t>> steps = {
      {1, 1, 9, 4, 3}, {1, 1, 1, 1, 1}, {3, 1, 8, 12, 1}, {1, 17, 1, 1, 5}, {4, 4, 4, 4, 4}};
  for (const auto& counts : steps) {
    std::vector<part> parts;
    for (std::size_t i = 0; i < all.size(); ++i)
      parts.push_back({static_cast<int>(i) + 1, lengths[i], counts[i]});
    ASSERT_TRUE(packed_step(c, all, parts).commit());
    for (std::size_t i = 0; i < all.size(); ++i)
      lengths[i] += counts[i];
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    expect_content(c, all[i], std::vector<int>(static_cast<std::size_t>(lengths[i]), int(i) + 1));
}

TEST_F(KvSteps, IsAttendedToByPackedQueriesAsBySequencesAlone) {
  auto c = cache(64, 1);
  std::vector<kv_sequence> all = {c.begin(), c.begin(), c.begin()};
  std::vector<std::int64_t> lengths(all.size());
  for (const auto& counts :
       std::vector<std::vector<std::int64_t>>{{1, 9, 5}, {1, 1, 1}, {7, 1, 2}}) {
    std::vector<part> parts;
    for (std::size_t i = 0; i < all.size(); ++i)
      parts.push_back({static_cast<int>(i) + 1, lengths[i], counts[i]});
    auto step = packed_step(c, all, parts);
    const auto q = packed(parts, 9, true);
    const auto o = device_.tensor<number>({q.extent(0), heads, size}).value();
    const auto attention = step.attend(0, q, o);
    EXPECT_EQ(attention.all_attend, counts == std::vector<std::int64_t>({1, 1, 1}));
    device_.ask(attention).get();
    ASSERT_TRUE(step.commit());
    std::vector<number> got(static_cast<std::size_t>(o.count()));
    device_.copy(o, std::span(got)).get();
    std::size_t at = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::vector<int> name = {static_cast<int>(i) + 1};
      lengths[i] += counts[i];
      const auto heads_first = [&](std::int64_t layer, std::int64_t first, std::int64_t n,
                                   bool key) {
        return rows(name, layer, first, n, key).permute({0, 2, 1, 3}).value();
      };
      auto expected = device_.tensor<number>({1, counts[i], heads, size}).value();
      device_
          .ask(
              dnn::attention_forward{.q = heads_first(9, lengths[i] - counts[i], counts[i], true),
                                     .k = heads_first(0, 0, lengths[i], true),
                                     .v = heads_first(0, 0, lengths[i], false),
                                     .o = expected.permute({0, 2, 1, 3}).value(),
                                     .mask = {.diagonal = dnn::diagonal::bottom_right, .right = 0}})
          .get();
      std::vector<number> wanted(static_cast<std::size_t>(expected.count()));
      device_.copy(expected, std::span(wanted)).get();
      for (const number one : wanted)
        EXPECT_NEAR(static_cast<float>(got[at++]), static_cast<float>(one), 2e-3) << i;
    }
  }
}

TEST_F(KvSteps, KeepsAsManyNewTokensAsAreSaid) {
  auto c = cache(16);
  const std::vector<kv_sequence> all = {c.begin(), c.begin(), c.begin()};
  ASSERT_TRUE(packed_step(c, all, {{1, 0, 6}, {2, 0, 3}, {3, 0, 4}}).commit());
  EXPECT_EQ(c.free_pages(), 16 - 2 - 1 - 1);
  const std::vector<part> more = {{1, 6, 7}, {2, 3, 9}, {3, 4, 5}};
  auto step = packed_step(c, all, more);
  EXPECT_EQ(c.free_pages(), 16 - 4 - 3 - 3);
  ASSERT_TRUE(step.commit(std::vector<std::int64_t>{1, 9, 0}));
  EXPECT_EQ(c.free_pages(), 16 - 2 - 3 - 1);
  expect_content(c, all[0], std::vector<int>(7, 1));
  expect_content(c, all[1], std::vector<int>(12, 2));
  expect_content(c, all[2], std::vector<int>(4, 3));
  for (const auto& kept : std::vector<std::vector<std::int64_t>>{{1, 1}, {1, 1, 3}, {-1, 1, 1}}) {
    auto refused = packed_step(c, all, {{1, 7, 2}, {2, 12, 2}, {3, 4, 2}});
    const auto outcome = refused.commit(kept);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::invalid_argument);
    expect_content(c, all[0], std::vector<int>(7, 1));
  }
  // The rest is written anew.
  ASSERT_TRUE(packed_step(c, all, {{1, 7, 3}, {2, 12, 1}, {3, 4, 1}}).commit());
  expect_content(c, all[0], std::vector<int>(10, 1));
}

TEST_F(KvSteps, ForksBeginWithAsManyTokensAsAreSaid) {
  auto c = cache(16);
  const auto parent = c.begin();
  ASSERT_TRUE(grow(c, {parent}, {1}, 0, 10));
  const std::int64_t before = c.free_pages();
  const auto at_a_border = c.fork(parent, 8).value();
  EXPECT_EQ(c.free_pages(), before) << "nothing is copied";
  const auto within = c.fork(parent, 5).value();
  EXPECT_EQ(c.free_pages(), before - 1);
  ASSERT_TRUE(grow(c, {at_a_border}, {2}, 8, 2));
  ASSERT_TRUE(grow(c, {within}, {3}, 5, 4));
  std::vector<int> of_border(8, 1);
  of_border.insert(of_border.end(), 2, 2);
  std::vector<int> of_within(5, 1);
  of_within.insert(of_within.end(), 4, 3);
  expect_content(c, parent, std::vector<int>(10, 1));
  expect_content(c, at_a_border, of_border);
  expect_content(c, within, of_within);
  expect_content(c, c.fork(parent, 0).value(), {});
  for (const std::int64_t tokens : {-1, 11}) {
    const auto refused = c.fork(parent, tokens);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
  }
}

TEST_F(KvSteps, TellsAProgramThatWritesRowsItselfWhereTheyGo) {
  two_sequences t(*this);
  {
    auto step = t.step();
    ASSERT_TRUE(step.write(t.places));
    EXPECT_EQ(t.lengths, (std::vector<std::int32_t>{4, 6}));
    EXPECT_EQ(t.rows[0], t.pages[0] * page_size + 3);
    EXPECT_EQ(t.rows[1], t.pages[4] * page_size + 1);
    EXPECT_EQ(t.pages[2], 0);  // behind the last
    write_rows(t);
    ASSERT_TRUE(step.commit());
  }
  expect_content(t.cache, t.all[0], {1, 1, 1, 1});
  expect_content(t.cache, t.all[1], {2, 2, 2, 2, 2, 2});

  auto step = t.step();
  const dnn::kv_places short_ones{
      .rows = t.rows, .lengths = t.lengths, .pages = std::span(t.pages).first(2)};
  EXPECT_EQ(step.write(short_ones).error().code, errc::invalid_argument);
  EXPECT_FALSE(step.commit());  // nothing was appended
  auto whole = t.cache.step(t.all, 1).value();
  EXPECT_EQ(whole.write(t.places).error().code, errc::invalid_argument);  // not packed
}

TEST_F(KvSteps, SetsRowsOfAProgramToZeroIfTheStepIsGivenUp) {
  two_sequences t(*this);
  {
    auto step = t.step();
    ASSERT_TRUE(step.write(t.places));
    write_rows(t);
  }
  for_each_row(t, [&](const any_tensor& token, const std::vector<number>&) {
    const auto at = device_.tensor<number>({heads, size}).value();
    device_.ask(memory::copy{.from = token, .to = at}).get();
    std::vector<number> now(static_cast<std::size_t>(heads * size), number(1.0F));
    device_.copy(at, std::span(now)).get();
    EXPECT_EQ(now, std::vector<number>(now.size()));
  });
  expect_content(t.cache, t.all[0], {1, 1, 1});
  expect_content(t.cache, t.all[1], {2, 2, 2, 2, 2});
}

}  // namespace
}  // namespace troupe::kv_testing
