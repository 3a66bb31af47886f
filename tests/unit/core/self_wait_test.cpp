// An actor that waits, in its own turn, for what it answers itself.

#include "counting_actor.hpp"

#include <troupe/core/system.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using namespace counting;

struct delegate {};
struct give_source {
  promise<int>* place;
};
struct how {
  enum way { get, wait_shortly, own_end, delegated, delegate_first } by;
};

class narcissus final : public actor {
 public:
  explicit narcissus(bool as_it_starts = false) : as_it_starts_(as_it_starts) {}
  void pre_start() override {
    if (as_it_starts_) at_start_ = outcome(me().ask(total{}));
  }

  void handle(add a) { sum_ += a.n; }
  int handle(total) const { return sum_; }
  std::string handle(const std::string&) const { return at_start_; }
  future<int> handle(delegate) { return source_.get_future(); }
  void handle(give_source to) { *to.place = std::move(source_); }

  std::string handle(how h) {
    switch (h.by) {
      case how::get:
        return outcome(me().ask(total{}));
      case how::wait_shortly:
        return me().ask(total{}).wait_for(1ms) ? "it has come" : "not in this turn";
      case how::own_end:
        return outcome(any_actor_ref(me()).when_terminated());
      case how::delegate_first:
        earlier_ = me().ask(delegate{});
        return "";
      case how::delegated:
        return outcome(std::move(earlier_));
    }
    return "";
  }

 private:
  actor_ref<narcissus> me() { return reference(this); }

  template <class T>
  static std::string outcome(future<T> awaited) {
    auto got = awaited.get_result();
    if (got) return "an answer";
    return std::string(to_string(got.error().code)) + ": " + got.error().message;
  }

  bool as_it_starts_;
  std::string at_start_;
  int sum_ = 0;
  future<int> earlier_;
  promise<int> source_;
};

const std::string refused_wait =
    "no_reply: the actor /narcissus waits in its own turn for a reply that it can give only in a "
    "later turn";

struct way_to_run {
  const char* name;
  spawn_options options;
};
std::ostream& operator<<(std::ostream& to, const way_to_run& way) { return to << way.name; }

class SelfWait : public ::testing::TestWithParam<way_to_run> {
 protected:
  actor_ref<narcissus> spawn(bool as_it_starts = false) {
    spawn_options options = GetParam().options;
    options.name = "narcissus";
    return system_.spawn<narcissus>(options, as_it_starts);
  }
  std::string told(how::way by) {
    auto answer = actor_.ask(how{by});
    // An actor that waits for itself for good ends neither by itself nor with its system.
    if (!answer.wait_for(20s)) std::abort();
    return answer.get();
  }

  troupe::system system_{{.threads = 2}};
  actor_ref<narcissus> actor_ = spawn();
};

TEST_P(SelfWait, FailsAtOnceAndTheMessageIsHandledLater) {
  std::jthread other([&](const std::stop_token& enough) {
    while (!enough.stop_requested())
      actor_.ask(add{0}).get();
  });
  for (int i = 0; i < 5'000; ++i) {
    EXPECT_EQ(told(how::get), refused_wait);
  }
  other.request_stop();
  other.join();
  actor_.tell(add{2});
  EXPECT_EQ(actor_.ask(total{}).get(), 2);
}

TEST_P(SelfWait, FailsAlsoAsItStarts) {
  auto one = spawn(true);
  EXPECT_EQ(one.ask(std::string()).get(), refused_wait);
}

TEST_P(SelfWait, FailsForItsOwnEnd) {
  EXPECT_EQ(told(how::own_end), refused_wait);
  EXPECT_EQ(actor_.ask(total{}).get(), 0);
}

TEST_P(SelfWait, WithADeadlineIsTooEarlyOnly) {
  EXPECT_EQ(told(how::wait_shortly), "not in this turn");
}

TEST_P(SelfWait, ForWhatSomebodyElseAnswersIsNone) {
  told(how::delegate_first);
  actor_.ask(total{}).get();  // by now it has been handled
  promise<int> source;
  actor_.ask(give_source{&source}).get();
  std::jthread later([&] { source.set_value(1); });
  EXPECT_EQ(told(how::delegated), "an answer");
}

INSTANTIATE_TEST_SUITE_P(
    By, SelfWait,
    ::testing::Values(way_to_run{"ThePool", {}},
                      way_to_run{"AThreadOfItsOwn", {.run_by = dispatcher::pinned}},
                      way_to_run{"AMailboxThatDrops",
                                 {.mailbox = {.when_full = overflow::drop_oldest}}}),
    [](const auto& way) -> std::string { return way.param.name; });

TEST(SelfWaitInATestKit, FailsToo) {
  testing::test_kit kit;
  auto one = kit.system().spawn<narcissus>(spawn_options{.name = "narcissus"});
  EXPECT_EQ(one.ask(how{how::get}).get(), refused_wait);
}

}  // namespace
}  // namespace troupe
