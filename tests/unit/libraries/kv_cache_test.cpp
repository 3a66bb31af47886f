// Keys and values in pages: sharing between sequences, and that they outlive lost workers bit for
// bit.

#include "kv_cache_fixture.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault/inject.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <future>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace troupe::kv_testing {
namespace {

class KvCache : public KvCacheTest {};

TEST_F(KvCache, HoldsWhatStepsOfAnyLengthAppend) {
  auto c = cache(32);
  const std::vector<kv_sequence> both = {c.begin(), c.begin()};
  std::int64_t length = 0;
  for (const std::int64_t n : {1, 1, 7, 3, 4, 1, 9, 8}) {
    ASSERT_TRUE(grow(c, both, {1, 2}, length, n));
    length += n;
    EXPECT_EQ(c.free_pages(), 32 - 2 * ((length + page_size - 1) / page_size));
  }
  expect_content(c, both[0], std::vector<int>(34, 1));
  expect_content(c, both[1], std::vector<int>(34, 2));
  EXPECT_TRUE(c.end(both[0]));
  EXPECT_TRUE(c.end(both[1]));
  EXPECT_EQ(c.free_pages(), 32);
}

TEST_F(KvCache, IsAttendedToAsContiguousKeysAre) {
  auto c = cache(64, 1);
  const std::vector<kv_sequence> one = {c.begin()};
  const std::vector<int> name = {3};
  std::int64_t length = 0;
  for (const std::int64_t n : {21, 1, 1, 10, 1}) {  // prefill, decode, a chunk, decode
    auto q = rows(name, 9, length, n, true).permute({0, 2, 1, 3}).value();
    auto o = device_.tensor<number>({1, heads, n, size}).value();
    auto step = c.step(one, n).value();
    auto appended = step.append(0, rows(name, 0, length, n, true), rows(name, 0, length, n, false));
    device_.ask(step.attend(0, q, o)).get();
    appended.get();
    ASSERT_TRUE(step.commit());
    length += n;
    auto expected = device_.tensor<number>({1, heads, n, size}).value();
    device_
        .ask(dnn::attention_forward{
            .q = q,
            .k = rows(name, 0, 0, length, true).permute({0, 2, 1, 3}).value(),
            .v = rows(name, 0, 0, length, false).permute({0, 2, 1, 3}).value(),
            .o = expected,
            .mask = {.diagonal = dnn::diagonal::bottom_right, .right = 0}})
        .get();
    std::vector<number> got(static_cast<std::size_t>(o.count()));
    std::vector<number> wanted(got.size());
    device_.copy(o, std::span(got)).get();
    device_.copy(expected, std::span(wanted)).get();
    if (device_.description().architecture.starts_with("sm_")) {
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(static_cast<float>(got[i]), static_cast<float>(wanted[i]), 2e-3);
    } else {
      EXPECT_EQ(got, wanted) << "after " << length;
    }
  }
}

TEST_F(KvCache, ForksShareFullPagesAndGoOnByThemselves) {
  auto c = cache(16);
  const auto parent = c.begin();
  ASSERT_TRUE(grow(c, {parent}, {1}, 0, 10));  // two full pages and a half
  EXPECT_EQ(c.free_pages(), 13);
  const auto child = c.fork(parent).value();
  EXPECT_EQ(c.free_pages(), 12);
  EXPECT_EQ(c.pages_of(child).value()[0], c.pages_of(parent).value()[0]);
  EXPECT_EQ(c.pages_of(child).value()[1], c.pages_of(parent).value()[1]);
  EXPECT_NE(c.pages_of(child).value()[2], c.pages_of(parent).value()[2]);
  ASSERT_TRUE(grow(c, {parent}, {1}, 10, 3));
  ASSERT_TRUE(grow(c, {child}, {2}, 10, 5));
  std::vector<int> of_child(10, 1);
  of_child.insert(of_child.end(), 5, 2);
  expect_content(c, parent, std::vector<int>(13, 1));
  expect_content(c, child, of_child);
  ASSERT_TRUE(c.end(parent));
  expect_content(c, child, of_child);
  const auto grandchild = c.fork(child).value();
  ASSERT_TRUE(c.end(child));
  expect_content(c, grandchild, of_child);
  ASSERT_TRUE(c.end(grandchild));
  EXPECT_EQ(c.free_pages(), 16);
  const auto empty = c.begin();
  expect_content(c, c.fork(empty).value(), {});
}

TEST_F(KvCache, ForgetsAStepThatIsNotCommitted) {
  auto c = cache(8);
  const auto one = c.begin();
  ASSERT_TRUE(grow(c, {one}, {1}, 0, 6));
  {
    auto step = c.step(std::vector{one}, 9).value();
    (void)step.append(0, rows(std::vector{2}, 0, 6, 9, true), rows(std::vector{2}, 0, 6, 9, false));
    EXPECT_EQ(c.free_pages(), 4);
  }
  const auto grown = grow(c, {one}, {1}, 6, 2);  // waits for what the step had sent
  ASSERT_TRUE(grown) << grown.error().message;
  EXPECT_EQ(c.free_pages(), 6);
  expect_content(c, one, std::vector<int>(8, 1));
  auto step = c.step(std::vector{one}, 1).value();
  const auto missing = step.commit();
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("the step has appended nothing in layer 0"),
            std::string::npos)
      << missing.error().message;
  EXPECT_FALSE(step.commit());
  expect_content(c, one, std::vector<int>(8, 1));
}

TEST_F(KvCache, StepsAgainWhileAnotherThreadWaitsForTheStepThatWasAbandoned) {
  auto c = cache(8);
  const std::vector mine{c.begin()};
  const std::vector others{c.begin()};
  auto k = rows(std::vector{1}, 0, 0, 2, true);
  {
    // Nothing can read k, so the append does not end.
    auto mapped = device_.mapped(k, access::write).get_result();
    if (!mapped) GTEST_SKIP() << "this program has no CUDA context to map with";
    std::optional held = std::move(mapped).value();
    {
      auto step = c.step(mine, 2).value();
      (void)step.append(0, k, rows(std::vector{1}, 0, 0, 2, false));
    }
    const auto begins = [&](const std::vector<kv_sequence>& all) {
      return std::async(std::launch::async, [&c, &all] {
        const auto step = c.step(all, 1);
        return step ? std::string() : step.error().message;
      });
    };
    using namespace std::chrono_literals;
    auto other = begins(others);
    EXPECT_EQ(other.wait_for(20ms), std::future_status::timeout) << "it waits for all of them";
    auto again = begins(mine);
    EXPECT_EQ(again.wait_for(20ms), std::future_status::timeout);
    held.reset();
    EXPECT_EQ(other.get(), "");
    EXPECT_EQ(again.get(), "");
  }
  EXPECT_EQ(c.free_pages(), 8);
  ASSERT_TRUE(grow(c, mine, {1}, 0, 6));
  expect_content(c, mine.front(), std::vector<int>(6, 1));
}

TEST_F(KvCache, RefusesWhatItCannotHold) {
  const auto message = [](const auto& outcome) {
    return outcome ? std::string("no error") : outcome.error().message;
  };
  EXPECT_EQ(message(kv_cache::make(device_, {.key_size = 8})),
            "kv_cache: pages must be from 1 to 2^31 − 1; it is 0");
  auto c = cache(3);
  const auto one = c.begin();
  const auto other = c.begin();
  const auto full = c.step(std::vector{one, other}, 8);
  EXPECT_EQ(full ? errc{} : full.error().code, errc::out_of_memory);
  EXPECT_EQ(message(full),
            "kv_cache: a step of 16 tokens for 2 sequences needs 4 pages; of 3 pages 3 are free");
  EXPECT_EQ(message(c.step(std::vector{one, one}, 1)),
            "kv_cache: sequence 0 is in a step that is not over, or is being forked");
  EXPECT_EQ(message(c.step({}, 1)),
            "kv_cache: a step needs sequences, and has at most 1073741823 tokens; it has 0 and 0");
  EXPECT_EQ(message(c.step(std::vector{one}, 0)),
            "kv_cache: a sequence takes 1 to 1073741823 tokens in a step; 0 would take 0");
  const auto uneven = c.step(std::vector<kv_growth>{{one, 8}, {other, 5}});
  EXPECT_EQ(message(uneven),
            "kv_cache: a step of 13 tokens for 2 sequences needs 4 pages; of 3 pages 3 are free");
  EXPECT_FALSE(c.step(std::vector{one}, std::int64_t{1} << 40));
  EXPECT_EQ(message(c.step(std::vector{one, kv_sequence{77}}, 1)),
            "kv_cache: there is no sequence 77");
  EXPECT_EQ(c.free_pages(), 3);
  auto step = c.step(std::vector{one}, 2).value();
  EXPECT_FALSE(c.end(one));
  EXPECT_FALSE(c.fork(one));
  const auto k = rows(std::vector{1}, 0, 0, 1, true);
  EXPECT_EQ(step.append(0, k, k).get_result().error().message,
            "kv_cache: k must be <f16>[1, 2, 2, 16]; it is <f16>[1, 1, 2, 16]");
  EXPECT_FALSE(step.append(2, k, k).get_result());
}

TEST_F(KvCache, HoldsTheSameBitsWhereItsWorkerWasKilled) {
  auto c = cache(64);
  const std::vector<kv_sequence> all = {c.begin(), c.begin(), c.begin()};
  const std::uint64_t before = device_.generation();
  std::int64_t length = 0;
  for (int round = 0; round < 12; ++round) {
    const std::int64_t n = 1 + round % 3 * 4;
    auto step = c.step(all, n).value();
    std::vector<tensor<number>> k;
    std::vector<tensor<number>> v;
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      k.push_back(rows(std::vector{1, 2, 3}, layer, length, n, true));
      v.push_back(rows(std::vector{1, 2, 3}, layer, length, n, false));
    }
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      (void)step.append(layer, k[static_cast<std::size_t>(layer)],
                        v[static_cast<std::size_t>(layer)]);
      if (round % 4 == 3 && layer == 0) ::kill(device_.worker_pid().value(), SIGKILL);
    }
    ASSERT_TRUE(step.commit());
    length += n;
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    expect_content(c, all[i],
                   std::vector<int>(static_cast<std::size_t>(length), static_cast<int>(i) + 1));
  EXPECT_GT(device_.generation(), before);
}

TEST_F(KvCache, RollsBackWhatALostRequestWasAppending) {
  auto c = cache(16);
  const std::vector<kv_sequence> both = {c.begin(), c.begin()};
  ASSERT_TRUE(grow(c, both, {1, 2}, 0, 6));
  for (int time = 0; time < 3; ++time) {
    const std::uint64_t before = device_.generation();
    auto step = c.step(both, 5).value();
    auto k = rows(std::vector{1, 2}, 0, 6, 5, true, placement::own);
    auto v = rows(std::vector{1, 2}, 0, 6, 5, false);
    // The worker loses the memory of v, so the request that reads it ends the worker.
    v = rows(std::vector{1, 2}, 0, 6, 5, false, placement::own);
    device_.ask(fault::inject{.what = fault::kind::withdraw, .target = v}).get();
    auto lost = step.append(0, k, v);
    // Alone, so that it is to blame: two suspects would run again, one at a time, on a worker that
    // has the memory.
    EXPECT_FALSE(lost.get_result());
    (void)step.append(1, rows(std::vector{1, 2}, 1, 6, 5, true),
                      rows(std::vector{1, 2}, 1, 6, 5, false));
    const auto outcome = step.commit();
    ASSERT_FALSE(outcome);
    EXPECT_GT(device_.generation(), before);
    EXPECT_EQ(c.free_pages(), 12);
    expect_content(c, both[0], std::vector<int>(6, 1));
    expect_content(c, both[1], std::vector<int>(6, 2));
    EXPECT_EQ(device_.tainted_by(c.keys(0)), "");
    EXPECT_EQ(device_.tainted_by(c.values(0)), "");
  }
  ASSERT_TRUE(grow(c, both, {1, 2}, 6, 5));
  expect_content(c, both[0], std::vector<int>(11, 1));
  expect_content(c, both[1], std::vector<int>(11, 2));
}

TEST_F(KvCache, IsUsableAfterAForkWhoseCopyWasLost) {
  auto c = cache(8);
  const auto one = c.begin();
  ASSERT_TRUE(grow(c, {one}, {1}, 0, 6));
  // The worker loses the memory of some pages, so the copy that reads them ends it.
  const fault::inject withdrawal{.what = fault::kind::withdraw, .target = c.keys(1)};
  if (!device_.ask(withdrawal).get_result()) GTEST_SKIP() << "the pages share a piece of memory";
  EXPECT_FALSE(c.fork(one));
  EXPECT_EQ(c.free_pages(), 6);
  expect_content(c, one, std::vector<int>(6, 1));
  EXPECT_EQ(device_.tainted_by(c.keys(1)), "");
  expect_content(c, c.fork(one).value(), std::vector<int>(6, 1));
}

TEST_F(KvCache, TakesStepsOfDifferentSequencesFromDifferentThreads) {
  constexpr int threads = 4;
  constexpr std::int64_t pages_in_all = 48;
  constexpr int steps = 15;
  auto c = cache(pages_in_all);
  std::vector<kv_sequence> all(threads);
  for (kv_sequence& one : all)
    one = c.begin();
  std::vector<std::jthread> running;
  running.reserve(threads);
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      auto mine = c;  // a copy is the same cache
      std::int64_t length = 0;
      for (int s = 0; s < steps; ++s) {
        const std::int64_t n = 1 + (s + i) % 4;
        EXPECT_TRUE(grow(mine, {all[static_cast<std::size_t>(i)]}, {i}, length, n));
        length += n;
        if (s % 5 != 4) continue;
        EXPECT_TRUE(mine.end(mine.fork(all[static_cast<std::size_t>(i)]).value()));
      }
    });
  }
  running.clear();
  std::set<std::int32_t> pages;
  for (int i = 0; i < threads; ++i) {
    const auto one = all[static_cast<std::size_t>(i)];
    expect_content(c, one, std::vector<int>(static_cast<std::size_t>(c.length(one).value()), i));
    for (const std::int32_t page : c.pages_of(one).value())
      EXPECT_TRUE(pages.insert(page).second) << "page " << page << " has two owners";
  }
  EXPECT_EQ(c.free_pages() + static_cast<std::int64_t>(pages.size()), pages_in_all);
}

}  // namespace
}  // namespace troupe::kv_testing
