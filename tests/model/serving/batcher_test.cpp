// The actor around the queue, under a virtual clock.
#include <troupe/core/system.hpp>
#include <troupe/serving.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::serving {
namespace {

using namespace std::chrono_literals;

TEST(Batcher, ShowsHowTextsAreEmbedded) {
  troupe::system system;
  // region: batcher
  using troupe::serving::batch;
  using troupe::serving::batcher;
  batcher<std::string, std::size_t> lengths(
      system, {.most_items = 32, .most_cost = 16'384},
      [](const batch<std::string>& texts)
          -> troupe::task<std::vector<troupe::result<std::size_t>>> {
        // Here co_await gpu.ask(…): one request for all.
        std::vector<troupe::result<std::size_t>> answers;
        for (const std::string* text : texts.items)
          answers.emplace_back(text->size());
        co_return answers;
      });
  std::size_t n = lengths.ask("some text", {.cost = 2, .tenant = 7}).get();
  // endregion: batcher
  EXPECT_EQ(n, 9U);
}

class BatcherTest : public ::testing::Test {
 protected:
  using answers = std::vector<result<std::size_t>>;

  batcher<std::string, std::size_t> make(batch_config config) {
    return {kit.system(), std::move(config), [this](const batch<std::string>& b) -> task<answers> {
              sizes.push_back(b.items.size());
              co_await clock.ask(b.items.size());
              answers all;
              for (const std::string* one : b.items) {
                if (*one == "crash")
                  throw failure({.code = errc::device_fault, .message = "SIGSEGV"});
                if (*one == "stop") throw failure({.code = errc::device_stopped});
                if (*one == "bad")
                  all.emplace_back(error{.code = errc::numerical});
                else
                  all.emplace_back(one->size());
              }
              co_return all;
            }};
  }
  /// A device: a batch takes 1 ms and 1 ms for each item.
  struct device : actor {
    static constexpr bool reentrant = true;
    struct tick {};
    future<void> handle(std::size_t items) {
      waits.emplace_back();
      auto later = waits.back().get_future();
      after(this, 1ms * (1 + items), tick{});
      return later;
    }
    void handle(tick) {
      waits.front().set_value();
      waits.erase(waits.begin());
    }
    std::vector<promise<void>> waits;
  };

  troupe::testing::test_kit kit;
  actor_ref<device> clock = kit.system().spawn<device>();
  std::vector<std::size_t> sizes;
};

TEST_F(BatcherTest, GivesEachItemItsAnswerAndOnlyTheCulpritItsFault) {
  auto b = make({.delay = 2ms});
  std::vector<future<std::size_t>> all;
  for (const char* text : {"a", "bb", "crash", "bad", "ccc"})
    all.push_back(b.ask(text));
  kit.advance(1s);
  EXPECT_EQ(all[0].get(), 1U);
  EXPECT_EQ(all[1].get(), 2U);
  EXPECT_EQ(all[2].get_result().error().code, errc::device_fault);
  EXPECT_EQ(all[3].get_result().error().code, errc::numerical);
  EXPECT_EQ(all[4].get(), 3U);
  EXPECT_EQ(sizes.front(), 5U);
  auto facts = b.facts();
  kit.run_until_idle();
  const queue_facts f = facts.get();
  EXPECT_EQ(f.held_items, 0);
  EXPECT_EQ(f.culprits, 1U);
  EXPECT_EQ(f.failed, 1U);
}

TEST(Batcher, SplitsABatchWhoseWorkerIsKilledEachTime) {
  EXPECT_EQ(detail::end_of({.code = errc::aborted}), run_end::aborted);
  EXPECT_EQ(detail::end_of({.code = errc::aborted, .code_name = "SIGKILL"}), run_end::fault);
}

TEST_F(BatcherTest, FailsAllWhenTheDeviceHasStopped) {
  auto b = make({.delay = 1ms});
  auto one = b.ask("a");
  auto two = b.ask("stop");
  kit.advance(1s);
  EXPECT_EQ(one.get_result().error().code, errc::device_stopped);
  EXPECT_EQ(two.get_result().error().code, errc::device_stopped);
  EXPECT_EQ(sizes.size(), 1U);
}

TEST_F(BatcherTest, RefusesAndEndsWhatIsLateAndRunsNothingForNobody) {
  auto b = make({.most_items = 1, .in_flight = 1, .queue = {.items = 3}});
  auto runs = b.ask("a");
  auto late = b.ask("b", {}, {.deadline = kit.now() + 1ms});
  (void)b.ask("dropped at once");
  auto refused = b.ask("d");
  kit.advance(1s);
  EXPECT_EQ(runs.get(), 1U);
  const errc code = late.get_result().error().code;
  EXPECT_TRUE(code == errc::deadline_exceeded || code == errc::timed_out);
  const error why = refused.get_result().error();
  EXPECT_EQ(why.code, errc::mailbox_full);
  EXPECT_EQ(why.code_name, "items");
  b.close();
  auto after = b.ask("e");
  kit.run_until_idle();
  EXPECT_EQ(after.get_result().error().code_name, "closed");
}

// A batch that ends is no message, so it makes no room for the one that begins the next batch.
TEST_F(BatcherTest, BeginsBatchesAlsoWhileItsMailboxIsFull) {
  std::vector<promise<void>> runs;
  batcher<std::string, std::size_t> b(kit.system(), {.most_items = 1, .in_flight = 1},
                                      [&](const batch<std::string>& texts) -> task<answers> {
                                        const std::size_t size = texts.items.front()->size();
                                        runs.emplace_back();
                                        co_await runs.back().get_future();
                                        answers all;
                                        all.emplace_back(size);
                                        co_return all;
                                      });
  auto first = b.ask("a");
  auto second = b.ask("bb");
  kit.run_until_idle();
  ASSERT_EQ(runs.size(), 1U);
  std::vector<future<queue_facts>> others;
  for (std::int64_t i = 0; i < mailbox_options{}.capacity; ++i)
    others.push_back(b.facts());
  promise<void> ends = std::move(runs.front());
  ends.set_value();
  kit.run_until_idle();
  EXPECT_EQ(first.get(), 1U);
  ASSERT_EQ(runs.size(), 2U);
  runs.back().set_value();
  kit.run_until_idle();
  EXPECT_EQ(second.get(), 2U);
}

TEST_F(BatcherTest, QuarantinesByAFingerprintOfTheContent) {
  const std::string text = "crash";
  const auto mark = fingerprint_of(std::as_bytes(std::span(text)));
  EXPECT_EQ(mark, fingerprint_of(std::as_bytes(std::span(text))));
  auto b = make({});
  auto first = b.ask(text, {.fingerprint = mark});
  kit.advance(1s);
  EXPECT_EQ(first.get_result().error().code, errc::device_fault);
  auto again = b.ask(text, {.fingerprint = mark});
  kit.advance(1s);
  EXPECT_EQ(again.get_result().error().code, errc::poisonous);
  auto forgiven = b.forgive(mark);
  kit.run_until_idle();
  EXPECT_TRUE(forgiven.get());
}

}  // namespace
}  // namespace troupe::serving
