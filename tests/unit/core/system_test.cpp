// A system's reports on its actors, and trees and chains of them that are deep.

#include "counting_actor.hpp"
#include "under_sanitizers.hpp"

#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using namespace counting;
using namespace std::chrono_literals;
using testing::test_kit;

class other_type final : public actor {
 public:
  void handle(add) {}
};

TEST(Registry, FindsByNameAndTypeUntilTheActorStops) {
  test_kit kit;
  auto& system = kit.system();
  auto c = system.spawn<counter>(5);
  ASSERT_TRUE(system.register_as("counter", c));
  ASSERT_TRUE(system.register_as("counter", c)) << "it has that name already";
  EXPECT_EQ(system.find<counter>("counter").value().ask(total{}).get(), 5);
  EXPECT_EQ(system.find<counter>("nobody").error().code, errc::invalid_argument);
  EXPECT_EQ(system.find<other_type>("counter").error().code, errc::invalid_argument);
  auto second = system.spawn<counter>(6);
  EXPECT_EQ(system.register_as("counter", second).error().code, errc::invalid_argument);
  c.stop();
  kit.run_until_idle();
  EXPECT_EQ(system.find<counter>("counter").error().code, errc::invalid_argument);
  ASSERT_TRUE(system.register_as("counter", second));
  EXPECT_EQ(system.find<counter>("counter").value().ask(total{}).get(), 6);
  EXPECT_TRUE(system.forget("counter"));
  EXPECT_FALSE(system.forget("counter"));
}

TEST(Registry, RefusesWhatIsNoNameOrNoLiveActor) {
  test_kit kit;
  auto c = kit.system().spawn<counter>();
  EXPECT_EQ(kit.system().register_as("", c).error().code, errc::invalid_argument);
  EXPECT_EQ(kit.system().register_as("a", any_actor_ref()).error().code, errc::invalid_argument);
  c.stop();
  kit.run_until_idle();
  EXPECT_EQ(kit.system().register_as("a", c).error().code, errc::actor_stopped);
}

struct fall {};
class parent_of_two final : public actor {
 public:
  void pre_start() override {
    spawn<counter>(spawn_options{.name = "left"});
    spawn<counter>(spawn_options{.name = "right"});
  }
  void handle(fall) { throw failure({.code = errc::numerical}); }
};

TEST(Actors, AreListedAParentBeforeItsChildren) {
  test_kit kit(0, {.log = [](const log_entry&) {}});
  auto p = kit.system().spawn<parent_of_two>(spawn_options{.name = "p"});
  auto c = kit.system().spawn<counter>(spawn_options{.name = "c"});
  EXPECT_EQ(kit.system().actors().at(0).state, actor_state::starting);
  kit.run_until_idle();
  promise<int> gate;
  auto pending = c.ask(delayed{gate.get_future()});
  kit.run_until_idle();
  c.tell(add{1});
  std::vector<std::string> paths;
  for (const actor_status& one : kit.system().actors())
    paths.push_back(one.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/p", "/p/left", "/p/right", "/c"}));
  const actor_status of_c = kit.system().actors().back();
  EXPECT_EQ(of_c.actor, c);
  EXPECT_EQ(of_c.state, actor_state::active);
  EXPECT_EQ(of_c.mailbox, 1);
  EXPECT_EQ(of_c.unfinished, 1);
  EXPECT_EQ(of_c.restarts, 0);
  p.tell(fall{});
  kit.run_until_idle();
  EXPECT_EQ(kit.system().actors().at(0).state, actor_state::failed);
  kit.advance(1s);
  EXPECT_EQ(kit.system().actors().at(0).state, actor_state::active);
  EXPECT_EQ(kit.system().actors().at(0).restarts, 1);
  gate.set_value(1);
  EXPECT_EQ(pending.get(), 1);
  c.stop();
  kit.run_until_idle();
  EXPECT_EQ(kit.system().actors().size(), 3u);
}

// Depth -------------------------------------------------------------------------------------------

struct grow {
  int depth;
};
class branch final : public actor {
 public:
  explicit branch(any_actor_ref* leaf) : leaf_(leaf) {}
  void handle(grow g) {
    if (g.depth == 0) {
      *leaf_ = reference(this);
    } else {
      spawn<branch>(leaf_).tell(grow{g.depth - 1});
    }
  }

 private:
  any_actor_ref* leaf_;
};

TEST(Trees, AreAsDeepAsTheyAreLargeWhateverTheirPaths) {
  constexpr int depth = 20'000;
  any_actor_ref leaf;
  const std::size_t before = ::mallinfo2().uordblks;
  {
    test_kit kit;
    kit.system().spawn<branch>(&leaf).tell(grow{depth});
    kit.run_until_idle();
    EXPECT_EQ(leaf.path().size(), 2u * (depth + 1));
    if (!test::under_sanitizers) {
      EXPECT_LT((::mallinfo2().uordblks - before) / depth, 4'096u);
    }
  }
  EXPECT_TRUE(leaf.stopped());
  EXPECT_EQ(leaf.path().size(), 2u * (depth + 1)) << "after all above it have stopped";
}

struct wait_for_next {};
class waiting_link final : public actor {
 public:
  explicit waiting_link(actor_ref<waiting_link> next) : next_(std::move(next)) {}
  int handle(wait_for_next) { return next_.valid() ? 1 + next_.ask(wait_for_next{}).get() : 0; }

 private:
  actor_ref<waiting_link> next_;
};

TEST(Chains, InATestKitEndInAnErrorBeforeTheStackDoes) {
  test_kit kit(0, {.log = [](const log_entry&) {}});
  actor_ref<waiting_link> first;
  for (int i = 0; i <= 20'000; ++i)
    first = kit.system().spawn<waiting_link>(first);
  kit.run_until_idle();
  EXPECT_EQ(first.ask(wait_for_next{}).get_result().error().code, errc::no_reply);
}

// The bytes that an actor without messages takes, and no more.
TEST(Actors, AreSmall) {
  if (test::under_sanitizers) GTEST_SKIP() << "their memory is their own";
  constexpr std::size_t count = 5'000;
  test_kit kit;
  for (std::size_t i = 0; i < count; ++i)
    kit.system().spawn<counter>();  // fills the pools
  kit.run_until_idle();
  const std::size_t before = ::mallinfo2().uordblks;
  for (std::size_t i = 0; i < count; ++i)
    kit.system().spawn<counter>();
  kit.run_until_idle();
  EXPECT_LT((::mallinfo2().uordblks - before) / count, 1'400u);
}

}  // namespace
}  // namespace troupe
