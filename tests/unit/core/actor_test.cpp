// An actor's handling of a message, the thread that runs it, and how it stops.

#include "counting_actor.hpp"
#include "no_more_threads.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using namespace counting;
using testing::test_kit;

static_assert(handles<counter, add> && !handles<counter, std::string>);
static_assert(
    std::is_same_v<decltype(std::declval<actor_ref<counter>>().ask(divide{1})), future<int>>);

TEST(Actor, AnswersAnAskWithWhatItsHandlerReturns) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(10);
  EXPECT_TRUE(c.tell(add{2}));
  EXPECT_EQ(c.ask(total{}).get(), 12);
  EXPECT_EQ(c.ask(divide{4}).get(), 3);
  EXPECT_EQ(c.ask(divide{0}).get_result().error().code, errc::invalid_argument);
}

TEST(Actor, MovesMessagesAndRepliesThatCannotBeCopied) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  EXPECT_EQ(*c.ask(parcel{std::make_unique<int>(5)}).get(), 5);
}

TEST(Actor, AFutureReplyDoesNotHoldUpTheNextMessage) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(1);
  promise<int> source;
  auto slow = c.ask(delayed{source.get_future()});
  auto quick = c.ask(total{});
  kit.run_until_idle();
  EXPECT_TRUE(quick.ready());
  EXPECT_FALSE(slow.ready());
  source.set_value(9);
  EXPECT_EQ(slow.get(), 9);
}

struct refuse_to_promise {};
class unwilling : public actor {
 public:
  future<int> handle(refuse_to_promise) { throw failure(error{.code = errc::numerical}); }
};

TEST(Actor, AHandlerThatThrowsInsteadOfReturningAFutureAnswersWithItsError) {
  test_kit kit;
  auto answer = kit.system().spawn<unwilling>().ask(refuse_to_promise{});
  kit.run_until_idle();
  EXPECT_EQ(answer.get_result().error().code, errc::numerical);
}

TEST(Actor, AFailedReplyValueIsNoFailureOfTheActor) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(3);
  (void)c.ask(divide{0}).get_result();
  EXPECT_EQ(c.ask(total{}).get(), 3);
}

TEST(Actor, IsSpawnedFromAFactoryWhenItsArgumentsCannotBeCopied) {
  test_kit kit;
  auto c = kit.system().spawn_from<counter>(
      [seed = std::make_unique<int>(8)] { return std::make_unique<counter>(*seed); });
  EXPECT_EQ(c.ask(total{}).get(), 8);
}

TEST(Actor, HasAPathAndAnIdOfItsOwn) {
  test_kit kit;
  auto a = kit.system().spawn<counter>(spawn_options{.name = "tally"});
  auto b = kit.system().spawn<counter>();
  EXPECT_EQ(a.path(), "/tally");
  EXPECT_NE(a.id(), b.id());
  EXPECT_FALSE(a == b);
}

class forgetful : public actor {
 public:
  future<int> handle(total) {
    promise<int> lost;
    return lost.get_future();
  }
};

TEST(Ask, GetsNoReplyWhenTheHandlerDropsItsPromise) {
  test_kit kit;
  auto f = kit.system().spawn<forgetful>();
  EXPECT_EQ(f.ask(total{}).get_result().error().code, errc::no_reply);
}

TEST(Ask, TimesOutByTheSystemsClockAndTheWorkGoesOn) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  promise<int> source;
  auto limited = c.ask(delayed{source.get_future()}, {.timeout = 50ms});
  kit.advance(49ms);
  EXPECT_FALSE(limited.ready());
  kit.advance(1ms);
  EXPECT_EQ(limited.get_result().error().code, errc::timed_out);
  source.set_value(1);
}

TEST(Ask, IsCancelledByItsStopToken) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  std::stop_source stop;
  promise<int> source;
  auto reply = c.ask(delayed{source.get_future()}, {.stop = stop.get_token()});
  kit.run_until_idle();
  stop.request_stop();
  EXPECT_EQ(reply.get_result().error().code, errc::cancelled);
  auto answered = c.ask(total{}, {.timeout = 1s, .stop = std::stop_source().get_token()});
  EXPECT_EQ(answered.get(), 0);
}

struct whose_thread {};
class localised : public actor {
 public:
  void pre_start() override { started_on_ = std::this_thread::get_id(); }
  std::vector<std::thread::id> handle(whose_thread) const {
    return {started_on_, std::this_thread::get_id()};
  }

 private:
  std::thread::id started_on_;
};

TEST(Pinned, ActorWhoseThreadCannotBeStartedIsRefusedToWhoSpawnsIt) {
  if (test::under_sanitizers) GTEST_SKIP() << "their address space is their own";
  const auto is_refused = [] {
    {
      troupe::system running({.threads = 1});
      const auto other = running.spawn<counter>();
      start_all_threads_there_are();
      const errc why =
          code_of_failure([&] { running.spawn<counter>({.run_by = dispatcher::pinned}); });
      if (why != errc::system_error || other.ask(total{}).get() != 0) ::_exit(1);
    }
    ::_exit(0);
  };
  EXPECT_EXIT(is_refused(), ::testing::ExitedWithCode(0),
              "the thread of a pinned actor cannot be started");
}

TEST(Pinned, ActorMayNeverHaveATurn) {
  troupe::system running;
  running.shutdown().get();
  const auto late = running.spawn<counter>({.run_by = dispatcher::pinned});
  EXPECT_EQ(late.ask(total{}).get_result().error().code, errc::actor_stopped);
}

TEST(Pinned, AnActorRunsOnAThreadOfItsOwnAllItsLife) {
  system running;
  const spawn_options pinned{.run_by = dispatcher::pinned};
  auto a = running.spawn<localised>(pinned);
  auto b = running.spawn<localised>(pinned);
  auto pooled = running.spawn<localised>();
  std::set<std::thread::id> of_a;
  std::set<std::thread::id> of_others{std::this_thread::get_id()};
  for (int i = 0; i < 200; ++i) {
    for (const std::thread::id id : a.ask(whose_thread{}).get())
      of_a.insert(id);
    for (const auto& other : {b, pooled}) {
      for (const std::thread::id id : other.ask(whose_thread{}).get())
        of_others.insert(id);
    }
  }
  ASSERT_EQ(of_a.size(), 1u);
  EXPECT_FALSE(of_others.contains(*of_a.begin())) << "nobody else runs there";
}

TEST(Stop, AnswersWhatWaitsAndStopAfterMailboxHandlesItFirst) {
  test_kit kit;
  auto now = kit.system().spawn<counter>();
  auto later = kit.system().spawn<counter>();
  kit.run_until_idle();
  auto lost = now.ask(total{});
  now.stop();
  auto kept = later.ask(total{});
  later.stop_after_mailbox();
  auto late = later.ask(total{});
  kit.run_until_idle();
  EXPECT_EQ(lost.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(kept.get(), 0);
  EXPECT_EQ(late.get_result().error().code, errc::actor_stopped);
}

class stillborn : public actor {
 public:
  explicit stillborn(std::shared_ptr<int> handled) : handled_(std::move(handled)) {}
  void pre_start() override { stop(); }
  void handle(add) { ++*handled_; }

 private:
  std::shared_ptr<int> handled_;
};

TEST(Stop, AnActorThatStopsItselfAsItStartsHandlesNothing) {
  test_kit kit;
  auto handled = std::make_shared<int>(0);
  auto a = kit.system().spawn<stillborn>(handled);
  auto answer = a.ask(add{1});
  kit.run_until_idle();
  EXPECT_EQ(answer.get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(*handled, 0);
}

TEST(Stop, AnActorThatIsSpawnedAfterShutdownHasStopped) {
  test_kit kit;
  auto down = kit.system().shutdown();
  kit.run_until_idle();
  auto late = kit.system().spawn<counter>();
  EXPECT_TRUE(late.stopped());
  EXPECT_EQ(late.when_terminated().get().id, late.id());
  EXPECT_FALSE(late.tell(add{1}));
  late = {};  // the last reference, so nothing may be left to do
  EXPECT_EQ(kit.run_until_idle(), 0u);
}

}  // namespace
}  // namespace troupe
