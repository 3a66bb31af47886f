// Which requests are refused because the same one has ended workers.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

TEST_F(DeviceTurns, ARequestThatHasEndedTwoWorkersIsRefusedForAWhileAndThenTriedByItself) {
  make({.standby = false, .backoff = {.initial = 0ms}, .quarantine = 1s});
  const use bad{.number = 7};
  for (int i = 0; i < 2; ++i)
    have_it_crash(bad);
  const auto begin = environment_.time;
  ASSERT_EQ(quarantine().size(), 1U);
  EXPECT_EQ(quarantine().front().faults, 2);
  EXPECT_EQ(quarantine().front().since, begin);
  EXPECT_EQ(quarantine().front().until, begin + 1s);
  EXPECT_NE(quarantine().front().request.find("number=7"), std::string::npos);
  environment_.time += 999ms;
  send(0, {}, bad);
  EXPECT_EQ(answer_of(0), errc::poisonous);
  answers_.clear();

  environment_.time += 1ms;
  send(0, {}, bad);
  send(1);
  send(2, {}, bad);
  EXPECT_EQ(answer_of(2), errc::poisonous) << "while it is being tried";
  have_it_begin({0});
  EXPECT_TRUE(environment_.serving()->could_begin().empty());
  environment_.serving()->completes(0, errc{});
  turn();
  EXPECT_EQ(answer_of(0), errc{});
  EXPECT_TRUE(quarantine().empty());
}

TEST_F(DeviceTurns, ATrialThatFailsDoublesTheTermAndOneThatTellsNothingIsRepeated) {
  make({.standby = false, .backoff = {.initial = 0ms}, .quarantine = 1s});
  const use bad{.number = 7};
  for (int i = 0; i < 2; ++i)
    have_it_crash(bad);
  environment_.time += 1s;
  send(1, {.deadline = 1ms}, bad);
  environment_.time += 1ms;
  turn();
  ASSERT_EQ(answer_of(1), errc::deadline_exceeded);
  have_it_begin({});
  ASSERT_TRUE(environment_.serving()->could_begin() == std::vector<int>{1});
  environment_.serving()->begins(1);  // which passes it over
  turn();
  have_it_crash(bad);
  EXPECT_EQ(quarantine().front().faults, 3);
  EXPECT_EQ(quarantine().front().until, environment_.time + 2s);
}

TEST_F(DeviceTurns, ARequestThatReadsNewContentIsAnotherOne) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  const use reader{.number = 7, .reads = {buffer_}};
  for (int i = 0; i < 3; ++i) {
    send(1, {}, {.writes = {buffer_}});
    have_it_end_well(1);
    have_it_crash(reader);
  }
  EXPECT_TRUE(quarantine().empty());
  have_it_crash(reader);
  EXPECT_EQ(quarantine().size(), 1U) << "this one has read the same as the one before";
  // Earlier writes count, done or not.
  send(1, {}, {.writes = {buffer_}});
  send(0, {}, reader);
  EXPECT_EQ(answer_of(0), std::nullopt);
}

// The program may have written host memory since, unless it never changes again, as the image of a
// kernel.
TEST_F(DeviceTurns, ARequestThatReadsHostMemoryIsKnownOnlyWhereThatNeverChanges) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  const auto of_host = [this] {
    return any_tensor::owned(core_->allocate(memory_space::host, 64).value(), dtype::u8, {64});
  };
  const any_tensor open = of_host();
  const any_tensor image = of_host();
  image.buffer()->state.fetch_or(buffer_frozen);
  for (int i = 0; i < 3; ++i)
    have_it_crash({.number = 7, .reads = {open}});
  EXPECT_TRUE(quarantine().empty());
  for (int i = 0; i < 2; ++i)
    have_it_crash({.number = 7, .reads = {image}});
  EXPECT_EQ(quarantine().size(), 1U);
}

// The first fault of all begins the counting of content.
TEST_F(DeviceTurns, WhatWasInFlightBehindTheFirstCulpritIsNewContentToo) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  const use reader{.number = 7, .reads = {buffer_}};
  send(0, {}, reader);
  send(1, {}, {.writes = {buffer_}});
  have_it_begin({0});
  environment_.serving()->ends({.signalled = true, .code = SIGSEGV}, SIGSEGV, 0, false, false);
  turn();
  ASSERT_EQ(answer_of(0), errc::device_fault);
  answers_.clear();
  have_next_serve();
  have_it_end_well(1);
  have_it_crash(reader);
  EXPECT_TRUE(quarantine().empty());
}

TEST_F(DeviceTurns, ARequestThatIsExemptIsNeverRefused) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  const use bad{.number = 7};
  for (int i = 0; i < 3; ++i)
    have_it_crash(bad, {.quarantine = false});
  EXPECT_TRUE(quarantine().empty());
  for (int i = 0; i < 2; ++i)
    have_it_crash(bad);
  EXPECT_EQ(quarantine().size(), 1U);
  have_it_crash(bad, {.quarantine = false});
  EXPECT_EQ(quarantine().front().faults, 2);
}

TEST_F(DeviceTurns, WhatIsForgivenIsRunAgain) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  for (std::int64_t number = 1; number <= 3; ++number) {
    for (int i = 0; i < 2; ++i)
      have_it_crash({.number = number});
  }
  ASSERT_EQ(quarantine().size(), 3U);
  quarantine_book& book = core_->completions().quarantine();
  EXPECT_TRUE(book.forgive(quarantine().front().id));
  EXPECT_FALSE(book.forgive(0));
  send(0, {}, {.number = 1});
  EXPECT_EQ(answer_of(0), std::nullopt);
  send(1, {}, {.number = 2});
  EXPECT_EQ(answer_of(1), errc::poisonous);
  book.forgive_all();
  send(2, {}, {.number = 2});
  EXPECT_EQ(answer_of(2), std::nullopt);
}

}  // namespace
}  // namespace troupe::model
