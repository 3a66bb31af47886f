// A handler's view of its message besides the body, and delegating it.

#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using testing::test_kit;
using time_point = std::chrono::steady_clock::time_point;

struct until_when {};
struct ask_other {};
struct put_aside {};
struct bring_back {};
class clerk final : public actor {
 public:
  clerk() = default;
  explicit clerk(actor_ref<clerk> other) : other_(std::move(other)) {}
  time_point handle(until_when) const { return current_deadline(); }
  future<time_point> handle(ask_other) {
    return other_.ask(until_when{}, {.deadline = current_deadline()});
  }
  delegated<clerk, until_when> handle(put_aside) { return delegate(other_, until_when{}); }
  future<int> handle(int n) {
    if (!open_) return stash(this, n);
    return make_ready_future(static_cast<int>((current_deadline() - began_) / 1ms));
  }
  void handle(bring_back) {
    open_ = true;
    unstash_all();
  }

 private:
  actor_ref<clerk> other_;
  bool open_ = false;
  time_point began_ = system().timers()->now();
};

TEST(Deadline, OfAnAskIsSeenByItsHandler) {
  test_kit kit;
  auto c = kit.system().spawn<clerk>();
  EXPECT_EQ(c.ask(until_when{}).get(), time_point::max());
  EXPECT_EQ(c.ask(until_when{}, {.timeout = 10ms}).get(), kit.now() + 10ms);
  EXPECT_EQ(c.ask(until_when{}, {.timeout = 10ms, .deadline = kit.now() + 1ms}).get(),
            kit.now() + 1ms);
  EXPECT_EQ(c.ask(until_when{}).get(), time_point::max()) << "that of the one before";
}

TEST(Deadline, IsHandedOn) {
  test_kit kit;
  auto last = kit.system().spawn<clerk>();
  auto c = kit.system().spawn<clerk>(last);
  EXPECT_EQ(c.ask(ask_other{}, {.timeout = 10ms}).get(), kit.now() + 10ms);
  EXPECT_EQ(c.ask(put_aside{}, {.timeout = 10ms}).get(), kit.now() + 10ms);
  EXPECT_EQ(c.ask(ask_other{}).get(), time_point::max());
}

TEST(Deadline, AMomentEndsAnAskAsATimeoutDoes) {
  test_kit kit;
  auto c = kit.system().spawn<clerk>();
  auto reply = c.ask(1, {.deadline = kit.now() + 10ms});
  kit.advance(9ms);
  EXPECT_FALSE(reply.ready());
  kit.advance(1ms);
  EXPECT_EQ(reply.get_result().error().code, errc::timed_out);
}

TEST(Deadline, StaysWithAMessageThatIsPutAside) {
  test_kit kit;
  auto c = kit.system().spawn<clerk>();
  kit.run_until_idle();
  auto reply = c.ask(1, {.timeout = 10ms});
  kit.run_until_idle();
  c.tell(bring_back{});
  kit.run_until_idle();
  EXPECT_EQ(reply.get(), 10);
}

// Senders -----------------------------------------------------------------------------------------

struct hello {};
struct reply {
  int n;
};
class greeter;
class host final : public actor {
 public:
  static constexpr bool knows_sender = true;
  bool handle(hello);
};
class greeter final : public actor {
 public:
  explicit greeter(actor_ref<host> h) : host_(std::move(h)) {}
  void handle(hello) { host_.tell(hello{}); }
  void handle(reply r) { got_ += r.n; }
  int handle(int) const { return got_; }

 private:
  actor_ref<host> host_;
  int got_ = 0;
};
bool host::handle(hello) {
  const auto from = current_sender().as<greeter>();
  EXPECT_FALSE(current_sender().as<host>().valid());
  return from.valid() && from.tell(reply{7});
}

TEST(Sender, IsKnownWhereAnActorSent) {
  test_kit kit;
  auto h = kit.system().spawn<host>();
  auto g = kit.system().spawn<greeter>(h);
  g.tell(hello{});
  EXPECT_FALSE(h.ask(hello{}).get()) << "nobody's turn sent it";
  kit.run_until_idle();
  EXPECT_EQ(g.ask(0).get(), 7);
}

// Delegation --------------------------------------------------------------------------------------

struct job {
  int n;
};
class backend final : public actor {
 public:
  int handle(job j) {
    if (j.n < 0) throw std::runtime_error("negative");
    return total_ += j.n;
  }

 private:
  int total_ = 0;
};
class frontend final : public actor {
 public:
  explicit frontend(actor_ref<backend> b) : backend_(std::move(b)) {}
  delegated<backend, job> handle(job j) { return delegate(backend_, j); }

 private:
  actor_ref<backend> backend_;
};

TEST(Delegate, TheReplyComesFromTheOtherStraightToTheAsker) {
  test_kit kit;
  auto b = kit.system().spawn<backend>();
  auto f = kit.system().spawn<frontend>(b);
  auto answer = f.ask(job{3});
  static_assert(std::is_same_v<decltype(answer), future<int>>);
  EXPECT_TRUE(kit.step());
  while (kit.step() && !answer.ready()) {
  }
  EXPECT_EQ(answer.get(), 3);
  f.tell(job{4});
  EXPECT_EQ(f.ask(job{0}).get(), 7);
}

TEST(Delegate, ItDoesNotNeedTheFirstActorAnyMore) {
  test_kit kit;
  auto b = kit.system().spawn<backend>();
  auto f = kit.system().spawn<frontend>(b);
  kit.run_until_idle();
  auto answer = f.ask(job{3});
  kit.step();  // the frontend's
  f.stop();
  kit.run_until_idle();
  EXPECT_TRUE(f.stopped());
  EXPECT_EQ(answer.get(), 3);
}

TEST(Delegate, AnErrorIsTheOthersAndItsFailureToo) {
  auto restart = [](const error&) noexcept { return directive::restart; };
  test_kit kit(0, {.supervision = {.decider = restart}});
  auto b = kit.system().spawn<backend>();
  auto f = kit.system().spawn<frontend>(b);
  EXPECT_EQ(f.ask(job{-1}).get_result().error().message, "negative");
  b.stop();
  kit.run_until_idle();
  const error e = f.ask(job{1}).get_result().error();
  EXPECT_EQ(e.code, errc::actor_stopped);
  EXPECT_NE(e.message.find(b.path()), std::string::npos);
  EXPECT_FALSE(f.stopped());
}

}  // namespace
}  // namespace troupe
