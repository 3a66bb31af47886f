#include "under_sanitizers.hpp"

#include <troupe/core/block_pool.hpp>
#include <troupe/core/system.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <ctime>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr int scale = test::under_sanitizers ? 1 : 10;

struct numbered {
  int sender;
  int number;
};
struct tally {};
struct seen {
  std::int64_t messages = 0;
  bool in_order = true;
  bool alone = true;
};

// Sees whether messages of a sender come in order, and whether it ever runs twice at once.
class auditor : public actor {
 public:
  void handle(numbered m) {
    seen_.alone &= !busy_.exchange(true);
    seen_.in_order &= std::exchange(last_[static_cast<std::size_t>(m.sender)], m.number) < m.number;
    ++seen_.messages;
    busy_ = false;
  }
  seen handle(tally) const { return seen_; }

 private:
  std::atomic<bool> busy_{false};
  std::array<int, 8> last_{-1, -1, -1, -1, -1, -1, -1, -1};
  seen seen_;
};

void audit(spawn_options options, int threads) {
  system s({.threads = threads, .throughput = 8});
  auto a = s.spawn<auditor>(std::move(options));
  constexpr int senders = 4;
  constexpr int each = 3'000 * scale;
  std::vector<std::thread> all;
  all.reserve(senders);
  for (int sender = 0; sender < senders; ++sender) {
    all.emplace_back([&a, sender] {
      for (int n = 0; n < each; ++n) {
        if (n % 64 == 0) {
          (void)a.ask(tally{}).get();
        } else {
          EXPECT_TRUE(a.tell(numbered{sender, n}));
        }
      }
    });
  }
  for (auto& t : all)
    t.join();
  const seen result = a.ask(tally{}).get();
  EXPECT_EQ(result.messages, senders * (each - (each + 63) / 64));
  EXPECT_TRUE(result.in_order);
  EXPECT_TRUE(result.alone);
}

TEST(Stress, KeepsOrderAndRunsAloneOnThePool) { audit({}, 3); }
TEST(Stress, KeepsOrderAndRunsAloneOnAThreadOfItsOwn) { audit({.run_by = dispatcher::pinned}, 1); }
TEST(Stress, KeepsOrderWhileSendersWaitForRoom) { audit({.mailbox = {.capacity = 4}}, 2); }
TEST(Stress, KeepsOrderWhileSendersWaitForRoomOfAThreadOfItsOwn) {
  audit({.mailbox = {.capacity = 4}, .run_by = dispatcher::pinned}, 1);
}

TEST(Stress, EveryAskIsAnsweredWhileTheActorStops) {
  system s({.threads = 2});
  for (int round = 0; round < 20 * scale; ++round) {
    auto a = s.spawn<auditor>(
        spawn_options{.run_by = round % 8 == 0 ? dispatcher::pinned : dispatcher::pool});
    std::atomic<int> started{0};
    std::vector<std::thread> askers;
    askers.reserve(2);
    for (int i = 0; i < 2; ++i) {
      askers.emplace_back([&a, &started] {
        ++started;
        for (int n = 0; n < 50; ++n) {
          auto r = a.ask(tally{}).get_result();
          EXPECT_TRUE(r || r.error().code == errc::actor_stopped);
        }
      });
    }
    while (started != 2)
      std::this_thread::yield();
    a.stop();
    auto end = a.when_terminated();
    for (auto& t : askers)
      t.join();
    end.wait();
  }
}

struct sum_of {
  actor_ref<auditor> target;
};
class blocking_asker : public actor {
 public:
  std::int64_t handle(const sum_of& m) { return m.target.ask(tally{}).get().messages; }
};

struct meeting {
  std::atomic<bool> begun = false;
  std::atomic<bool> may_end = false;
};
struct last_one {
  std::shared_ptr<meeting> with;
};
struct nothing {};
class short_lived : public actor {
 public:
  void handle(last_one m) {
    m.with->begun = true;
    while (!m.with->may_end)
      std::this_thread::yield();
  }
  void handle(nothing) {}
};
class never_idle : public actor {
 public:
  void pre_start() override { reference(this).tell(nothing{}); }
  void handle(nothing) { reference(this).tell(nothing{}); }
};

// It stops in the very message that uses up its turn, and is told to stop once more meanwhile: no
// more work of it may run, because nothing keeps it alive.
TEST(Stress, AnActorThatStopsAsItsTurnIsUsedUpIsNotRunAgain) {
  system s({.threads = 1, .throughput = 1, .drain = 1s});
  for (int i = 0; i < 2; ++i)
    s.spawn<never_idle>();
  for (unsigned i = 0; i < 1'000 * scale; ++i) {
    auto with = std::make_shared<meeting>();
    auto one = s.spawn<short_lived>();
    one.tell(last_one{with});
    while (!with->begun)
      std::this_thread::yield();
    with->may_end = true;
    for (unsigned again = 0; again < i % 64 + 2; ++again)
      one.stop();
  }
}

TEST(Stress, AThroughputOfNothingCountsAsOne) {
  for (const dispatcher by : {dispatcher::pool, dispatcher::pinned}) {
    system s({.threads = 1, .throughput = 0, .drain = 100ms});
    auto a = s.spawn<auditor>(spawn_options{.run_by = by});
    EXPECT_TRUE(a.ask(tally{}).wait_for(10s));
  }
}

TEST(Helping, AHandlerThatBlocksOnAnotherActorRunsItOnAPoolOfOneThread) {
  system s({.threads = 1});
  auto target = s.spawn<auditor>();
  target.tell(numbered{0, 1});
  EXPECT_EQ(s.spawn<blocking_asker>().ask(sum_of{target}).timeout(10s).get(), 1);
}

double cpu_seconds() {
  std::timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

TEST(Idle, ASystemWithoutWorkUsesNoProcessorTime) {
  system s({.threads = 4});
  auto pooled = s.spawn<auditor>();
  auto pinned = s.spawn<auditor>(spawn_options{.run_by = dispatcher::pinned});
  (void)pooled.ask(tally{}).get();
  (void)pinned.ask(tally{}).get();
  std::this_thread::sleep_for(20ms);  // not for order: the spin budgets end
  const double before = cpu_seconds();
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(cpu_seconds() - before, 0.01);
}

struct fan_out {
  int depth;
};
class node : public actor {
 public:
  task<int> handle(fan_out m) {
    if (m.depth == 0) co_return 1;
    auto left = spawn<node>();
    auto right = spawn<node>();
    auto a = left.ask(fan_out{m.depth - 1});
    auto b = right.ask(fan_out{m.depth - 1});
    const int sum = co_await a + co_await b;
    left.stop();
    right.stop();
    co_return sum;
  }
};

TEST(Stress, CoroutinesOfATreeOfActorsAllAnswer) {
  system s({.threads = 3});
  for (int round = 0; round < scale; ++round) {
    EXPECT_EQ(s.spawn<node>().ask(fan_out{7}).get(), 128);
  }
}

TEST(Stress, PinnedActorsLeaveNoThreadsBehind) {
  system s({.threads = 1});
  for (int i = 0; i < 10 * scale; ++i) {
    auto a = s.spawn<auditor>(spawn_options{.run_by = dispatcher::pinned});
    EXPECT_EQ(a.ask(tally{}).get().messages, 0);
    auto end = a.when_terminated();
    a.stop();
    end.wait();
  }
}

struct give_way {};
struct life {
  std::array<std::atomic<bool>, 4> alive{};
  std::atomic<int> out_of_order{0};
  std::atomic<int> restarts{0};
};
// Fails at every message that is told; notes when later siblings live as it ends or begins again.
class sibling : public actor {
 public:
  sibling(std::shared_ptr<life> shared, std::size_t place)
      : shared_(std::move(shared)), place_(place) {}
  void pre_start() override { shared_->alive[place_] = true; }
  void pre_restart(const error&) noexcept override {
    look();
    shared_->alive[place_] = false;
  }
  void post_restart(const error&) override {
    look();
    shared_->alive[place_] = true;
    ++shared_->restarts;
  }
  void handle(give_way) { throw failure(error{.code = errc::device_fault}); }
  int handle(tally) { return 1; }

 private:
  void look() noexcept {
    for (std::size_t later = place_ + 1; later < shared_->alive.size(); ++later)
      if (shared_->alive[later]) ++shared_->out_of_order;
  }
  std::shared_ptr<life> shared_;
  std::size_t place_;
};

TEST(Stress, SiblingsEndInReverseAndBeginInOrderHoweverTheyFail) {
  for (const strategy how : {strategy::one_for_all, strategy::rest_for_one}) {
    auto shared = std::make_shared<life>();
    system s({.threads = 3,
              .supervision = {.strategy = how,
                              .budget = {.restarts = INT32_MAX, .window = 1ms},
                              .backoff = {.initial = 10us, .longest = 10us}}});
    std::vector<actor_ref<sibling>> all;
    for (std::size_t place = 0; place < shared->alive.size(); ++place) {
      all.push_back(s.spawn<sibling>(shared, place));
      EXPECT_EQ(all.back().ask(tally{}).get(), 1);
    }
    std::vector<std::jthread> senders;
    senders.reserve(2);
    for (std::size_t sender = 0; sender < 2; ++sender) {
      senders.emplace_back([&, sender] {
        for (std::size_t n = 0; n < std::size_t{200} * scale; ++n) {
          auto& target = all[(n * (sender + 1)) % all.size()];
          EXPECT_TRUE(target.tell(give_way{}));
          if (n % 4 == sender) {
            EXPECT_EQ(target.ask(tally{}).get(), 1);
          }
        }
      });
    }
    senders.clear();
    for (auto& one : all)
      EXPECT_EQ(one.ask(tally{}).get(), 1);
    EXPECT_GT(shared->restarts, 0);
    EXPECT_EQ(shared->out_of_order, 0);
  }
}

class restless : public actor {
 public:
  explicit restless(std::shared_ptr<std::atomic<int>> l) : live_(std::move(l)) { ++*live_; }
  ~restless() override { --*live_; }
  void pre_start() override { handle(tally{}); }
  void handle(tally) { reference(this).tell(tally{}); }

 private:
  std::shared_ptr<std::atomic<int>> live_;
};

TEST(Shutdown, EndsActorsThatKeepThemselvesBusyAndIsIdempotent) {
  auto live = std::make_shared<std::atomic<int>>(0);
  {
    system s({.threads = 2});
    for (int i = 0; i < 4; ++i)
      s.spawn<restless>(live);
    auto first = s.shutdown(5s);
    auto second = s.shutdown(5s);
    EXPECT_TRUE(first.get_result());
    EXPECT_TRUE(second.get_result());
    EXPECT_TRUE(s.shutdown().get_result());
    EXPECT_TRUE(s.spawn<auditor>().ask(tally{}).get_result().error().code == errc::actor_stopped);
  }
  EXPECT_EQ(live->load(), 0);
}

TEST(Shutdown, DrainsWhatMailboxesHold) {
  auto s = std::make_unique<system>(system_config{.threads = 1});
  auto a = s->spawn<auditor>();
  for (int n = 0; n < 1'000; ++n)
    a.tell(numbered{0, n});
  auto last = a.ask(tally{});
  s.reset();
  EXPECT_EQ(last.get().messages, 1'000);
  EXPECT_TRUE(a.stopped());
}

struct block_on {
  std::shared_ptr<std::atomic<bool>> open;
};
class blocker : public actor {
 public:
  void handle(const block_on& m) {
    while (!*m.open)
      std::this_thread::yield();
  }
  void handle(tally) {}
};

TEST(Shutdown, SaysSoWhenPatienceEndsBeforeTheWork) {
  auto open = std::make_shared<std::atomic<bool>>(false);
  system s({.threads = 1});
  auto b = s.spawn<blocker>();
  b.tell(block_on{open});
  auto waiting = b.ask(tally{});
  EXPECT_EQ(s.shutdown(1ms).get_result().error().code, errc::timed_out);
  *open = true;
  const auto answer = waiting.get_result();  // handled or refused, never left
  EXPECT_TRUE(answer || answer.error().code == errc::actor_stopped);
}

class noting_service final : public system_service {
 public:
  noting_service(std::vector<std::string>& log, std::string name)
      : log_(log), name_(std::move(name)) {}
  void stop() noexcept override { log_.push_back(name_); }

 private:
  std::vector<std::string>& log_;
  std::string name_;
};

TEST(Services, AreMadeOnceAndStoppedLastFirst) {
  std::vector<std::string> log;
  {
    system s({.threads = 1});
    const auto make = [&](const std::string& name) {
      return [&log, name] { return std::make_shared<noting_service>(log, name); };
    };
    auto a = s.service("a", make("a"));
    auto b = s.service("b", make("b"));
    EXPECT_EQ(s.service("a", make("another")), a);
    EXPECT_NE(a, b);
  }
  EXPECT_EQ(log, (std::vector<std::string>{"b", "a"}));
}

TEST(Services, AreNotMadeOnceTheOthersEnd) {
  struct late_maker : system_service {
    explicit late_maker(system& of) : in(of) {}
    void stop() noexcept override {
      made = in.service("late", [this] { return std::make_shared<late_maker>(in); }) != nullptr;
    }
    system& in;
    bool made = true;
  };
  system s({.threads = 1});
  const auto first = std::static_pointer_cast<late_maker>(
      s.service("first", [&] { return std::make_shared<late_maker>(s); }));
  s.shutdown().get();
  EXPECT_FALSE(first->made);
  EXPECT_EQ(s.service("late", [&] { return std::make_shared<late_maker>(s); }), nullptr);
}

TEST(BlockPool, BlocksFreedByAnotherThreadComeBack) {
  constexpr int blocks = 10'000 * scale;
  constexpr std::size_t slots = 64;
  std::array<std::atomic<void*>, slots> handed{};
  std::thread freer([&] {
    for (std::size_t i = 0; i < blocks; ++i) {
      void* b = nullptr;
      while ((b = handed[i % slots].exchange(nullptr)) == nullptr)
        std::this_thread::yield();
      *static_cast<int*>(b) = 0;
      detail::block_pool::give(b, 0);
    }
  });
  std::map<void*, int> distinct;
  for (std::size_t i = 0; i < blocks; ++i) {
    while (handed[i % slots].load() != nullptr)
      std::this_thread::yield();
    void* b = detail::block_pool::take(0);
    *static_cast<int*>(b) = 1;
    ++distinct[b];
    handed[i % slots] = b;
  }
  freer.join();
  // Under AddressSanitizer nothing is recycled.
  EXPECT_LT(distinct.size(), scale > 1 ? 1'000U : blocks + 1U);
}

TEST(System, MayOutliveMain) {
  // Destroyed while the process exits, with actors that still have work.
  static auto* s = new system(system_config{.threads = 2});
  static struct at_exit {
    ~at_exit() { delete s; }
  } last;
  for (int i = 0; i < 10; ++i) {
    auto a = s->spawn<auditor>();
    for (int n = 0; n < 100; ++n)
      a.tell(numbered{0, n});
  }
}

}  // namespace
}  // namespace troupe
