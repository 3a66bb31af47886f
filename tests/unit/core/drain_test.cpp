#include "supervised.hpp"

#include <troupe/core/task.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

// Actors that are to stop once their mailbox is handled, while a coroutine of theirs still waits.
namespace troupe {
namespace {

using namespace supervised;
using testing::test_kit;
using lines = std::vector<std::string>;

struct wait_for {
  future<int> gate;
};

class patient_parent : public actor {
 public:
  // Else the end of its mailbox waits for the coroutine like any message.
  static constexpr bool reentrant = true;

  explicit patient_parent(log l) : log_(std::move(l)) {}
  void pre_start() override {
    log_->emplace_back("parent start");
    child_ = spawn<child>(log_, "child");
  }
  void post_stop() noexcept override { log_->emplace_back("parent stop"); }
  task<int> handle(wait_for m) {
    const int value = co_await m.gate;
    child_.tell(poke{});
    co_return value;
  }

 private:
  log log_;
  actor_ref<child> child_;
};

class Drain : public ::testing::Test {
 protected:
  // The parent has been told to stop, and waits for its coroutine.
  void begin(directive (*decider)(const error&) noexcept) {
    kit_ = std::make_unique<test_kit>(0, deciding(decider));
    parent_ = kit_->system().spawn<patient_parent>(log_);
    auto waiting = parent_.ask(wait_for{gate_.get_future()});
    kit_->run_until_idle();
    parent_.stop_after_mailbox();
    kit_->run_until_idle();
    ASSERT_FALSE(parent_.stopped());
  }
  void fail() { gate_.set_error(error{.code = errc::numerical}); }

  log log_ = new_log();
  promise<int> gate_;
  std::unique_ptr<test_kit> kit_;
  actor_ref<patient_parent> parent_;
};

TEST_F(Drain, LetsTheChildrenHandleTheirMailboxesToo) {
  begin(&always_restart);
  gate_.set_value(1);
  kit_->run_until_idle();
  EXPECT_TRUE(parent_.stopped());
  EXPECT_EQ(kit_->system().dead_letter_count(), 0u);
}

TEST_F(Drain, EndsAlsoWhereTheLastCoroutineHasFailedAndTheActorIsResumed) {
  begin(&always_resume);
  fail();
  kit_->run_until_idle();
  EXPECT_TRUE(parent_.stopped());
}

TEST_F(Drain, ANewIncarnationThatStopsAtOnceWaitsForItsChildren) {
  begin(&always_restart);
  fail();
  kit_->run_until_idle();
  EXPECT_EQ(*log_, (lines{"parent start", "child start", "child stop", "parent stop",
                          "parent start", "child start", "child stop", "parent stop"}));
}

}  // namespace
}  // namespace troupe
