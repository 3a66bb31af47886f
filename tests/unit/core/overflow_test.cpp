// Mailboxes that are full, and where their messages go.

#include "counting_actor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe {
namespace {

using namespace counting;
using testing::test_kit;

TEST(Mailbox, RejectsWithATypedErrorWhenTheCountIsFull) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(
      spawn_options{.mailbox = {.capacity = 2, .when_full = overflow::reject}});
  auto one = c.ask(total{});
  auto two = c.ask(total{});
  EXPECT_EQ(c.ask(total{}).get_result().error().code, errc::mailbox_full);
  EXPECT_FALSE(c.tell(add{1}));
  kit.run_until_idle();
  EXPECT_TRUE(one.ready() && two.ready());
  EXPECT_TRUE(c.tell(add{1}));
}

struct bulky {
  std::int64_t size;
  std::int64_t mailbox_bytes() const { return size; }
};
class warehouse : public actor {
 public:
  void handle(bulky b) { stored_ += b.size; }
  std::int64_t handle(total) const { return stored_; }

 private:
  std::int64_t stored_ = 0;
};

TEST(Mailbox, RejectsWithATypedErrorWhenBytesAreFull) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(
      spawn_options{.mailbox = {.capacity_bytes = 100, .when_full = overflow::reject}});
  EXPECT_TRUE(w.tell(bulky{60}));
  EXPECT_FALSE(w.tell(bulky{60}));
  EXPECT_TRUE(w.tell(bulky{40}));
  kit.run_until_idle();
  EXPECT_EQ(w.ask(total{}).get(), 100);
}

TEST(Mailbox, HasLimitsAlsoWhereNobodySetsAny) {
  test_kit kit;
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  auto w = kit.system().spawn<warehouse>(spawn_options{
      .mailbox = {.capacity = all, .capacity_bytes = all, .when_full = overflow::reject}});
  EXPECT_FALSE(w.tell(bulky{most_message_bytes + 1}));
  EXPECT_FALSE(w.tell(bulky{4 * most_message_bytes}));
  EXPECT_TRUE(w.tell(bulky{most_message_bytes}));
  EXPECT_FALSE(w.tell(bulky{1}));
  auto c = kit.system().spawn<counter>(
      spawn_options{.mailbox = {.capacity = 3 * most_messages, .when_full = overflow::reject}});
  for (std::int64_t i = 0; i < most_messages; ++i)
    ASSERT_TRUE(c.tell(add{1}));
  EXPECT_FALSE(c.tell(add{1}));
}

TEST(Mailbox, DropsTheOldestAndAnswersIt) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(
      spawn_options{.mailbox = {.capacity = 2, .when_full = overflow::drop_oldest}});
  auto oldest = c.ask(total{});
  EXPECT_TRUE(c.tell(add{1}));
  EXPECT_TRUE(c.tell(add{2}));
  auto newest = c.ask(total{});
  EXPECT_EQ(oldest.get_result().error().code, errc::mailbox_full);
  kit.run_until_idle();
  EXPECT_EQ(newest.get(), 2);
}

TEST(Mailbox, ASenderThatWaitsForRoomLosesNothing) {
  test_kit kit;
  auto c = kit.system().spawn<counter>(spawn_options{.mailbox = {.capacity = 4}});
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(c.tell(add{1}));
  EXPECT_EQ(c.ask(total{}).get(), 100);
}

struct end {};
class short_lived : public actor {
 public:
  void handle(add) {}
  void handle(end) { stop(); }
};

TEST(Mailbox, ASenderWhoseReceiverStopsWhileItWaitsIsToldSo) {
  test_kit kit;
  auto receiver = kit.system().spawn<short_lived>(spawn_options{.mailbox = {.capacity = 1}});
  EXPECT_TRUE(receiver.tell(end{}));
  EXPECT_FALSE(receiver.tell(add{1}));  // waits, which has the receiver handle its end
  EXPECT_EQ(kit.system().dead_letter_count(), 1u);
}

TEST(Mailbox, RefusesAMessageLargerThanItselfInsteadOfWaitingForEver) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(spawn_options{.mailbox = {.capacity_bytes = 10}});
  EXPECT_FALSE(w.tell(bulky{11}));
}

TEST(Mailbox, DropsAsManyOfTheOldestAsTheBytesOfTheNewestTake) {
  test_kit kit;
  auto w = kit.system().spawn<warehouse>(
      spawn_options{.mailbox = {.capacity_bytes = 100, .when_full = overflow::drop_oldest}});
  for (const std::int64_t size : {10, 20, 30, 40}) {
    EXPECT_TRUE(w.tell(bulky{size}));
  }
  EXPECT_TRUE(w.tell(bulky{25}));  // for 10 and 20
  EXPECT_EQ(kit.system().dead_letter_count(), 2u);
  EXPECT_FALSE(w.tell(bulky{101}));
  kit.run_until_idle();
  EXPECT_EQ(w.ask(total{}).get(), 30 + 40 + 25);
}

TEST(Mailbox, ASenderThatWaitsForBytesLosesNothingAndNeverHasMoreInIt) {
  system running;
  auto w = running.spawn<warehouse>(spawn_options{.mailbox = {.capacity_bytes = 100}});
  for (int i = 0; i < 1000; ++i)
    ASSERT_TRUE(w.tell(bulky{i % 2 == 0 ? 60 : 41}));
  EXPECT_FALSE(w.tell(bulky{101}));
  EXPECT_EQ(w.ask(total{}).get(), 500 * (60 + 41));
}

TEST(DeadLetters, NameTypeTargetAndReason) {
  test_kit kit;
  std::vector<std::string> seen;
  kit.system().on_dead_letter([&](const dead_letter& d) {
    seen.push_back(std::string(d.message) + ' ' + std::string(d.path) + ' ' +
                   std::string(to_string(d.reason)));
  });
  auto c = kit.system().spawn<counter>(
      spawn_options{.name = "c", .mailbox = {.capacity = 1, .when_full = overflow::reject}});
  c.tell(add{1});
  c.tell(add{2});
  c.stop();
  kit.run_until_idle();
  EXPECT_FALSE(c.tell(add{3}));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_NE(seen[0].find("add /c mailbox_full"), std::string::npos) << seen[0];
  EXPECT_NE(seen[1].find("add /c actor_stopped"), std::string::npos) << seen[1];
  EXPECT_EQ(kit.system().dead_letter_count(), 3U);
}

TEST(DeadLetters, ASubscriberThatThrowsKeepsThemFromNobody) {
  test_kit kit;
  int seen = 0;
  for (int i = 0; i < 2; ++i) {
    kit.system().on_dead_letter([&](const dead_letter&) {
      ++seen;
      throw std::runtime_error("no postage");
    });
  }
  auto c = kit.system().spawn<counter>();
  c.stop();
  kit.run_until_idle();
  EXPECT_FALSE(c.tell(add{1}));
  EXPECT_EQ(c.ask(total{}).get_result().error().code, errc::actor_stopped);
  EXPECT_EQ(seen, 4);
}

// Two that fill each other's mailbox, and wait for room there.
class talker : public actor {
 public:
  struct partner {
    any_actor_ref who;
  };
  struct talk {};
  explicit talker(std::atomic<int>& refused) : refused_(refused) {}
  void handle(partner p) { who_ = detail::typed<talker>(p.who); }
  void handle(talk) {
    while (who_.tell(talk{})) {
    }
    ++refused_;
  }

 private:
  std::atomic<int>& refused_;
  actor_ref<talker> who_;
};

TEST(Mailbox, ActorsThatWaitForRoomInACircleEndWithTheirSystem) {
  std::atomic<int> refused = 0;
  {
    troupe::system running({.threads = 2, .drain = std::chrono::milliseconds(50)});
    const spawn_options waits{.mailbox = {.capacity = 2, .when_full = overflow::wait}};
    auto one = running.spawn<talker>(waits, std::ref(refused));
    auto other = running.spawn<talker>(waits, std::ref(refused));
    one.tell(talker::partner{other});
    other.tell(talker::partner{one});
    one.tell(talker::talk{});
    other.tell(talker::talk{});
    EXPECT_EQ(running.shutdown(std::chrono::milliseconds(50)).get_result().error().code,
              errc::timed_out);
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace troupe
