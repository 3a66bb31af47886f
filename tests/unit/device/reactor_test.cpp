#include "device/completion/reactor.hpp"

#include "base/spin_wait.hpp"
#include "interrupter.hpp"
#include "under_sanitizers.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <random>
#include <thread>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t scale = test::under_sanitizers ? 1 : 10;

/// A reactor, and a worker's segment that the test writes in its place.
class DeviceReactor : public testing::Test {
 protected:
  static constexpr std::uint32_t capacity = 16;

  DeviceReactor() {
    const auto pool = [](memory_space space) {
      return memory_pool::create({.space = space, .limit_bytes = 1 << 16, .granule_bytes = 4096})
          .value();
    };
    reactor_ = reactor::create(requests_, wakes_, pool(memory_space::device),
                               pool(memory_space::host), std::chrono::minutes(1));
    reactor_->on_failure([](std::uint16_t, error&) {});
    segment_pages_ =
        os::map(os::create_shared_memory("segment", wire::worker_segment_bytes(capacity)).value(),
                wire::worker_segment_bytes(capacity), os::protection::read_write)
            .value();
    segment_ = reinterpret_cast<wire::worker_header*>(segment_pages_.address());
    reactor_->attach(role(*reactor_), segment_, 1, {});
    requests_->activate(1, {}, 0);
  }

  // As a device does.
  void send(std::uint16_t slot, std::uint8_t lane, completion done) {
    record& r = reactor_->at(slot);
    r.renew(type_, lane);
    r.taint_changes = reactor_->taints().changes();
    r.done = std::move(done);
    requests_->publish(slot, lane, &r.on_its_way);
  }
  // As a worker does.
  void complete(std::uint8_t lane, std::uint64_t place) {
    segment_->lanes[lane].started.store(place, std::memory_order_relaxed);
    segment_->lanes[lane].completed.store(place, std::memory_order_release);
  }
  bool device_thread_is_woken() {
    std::uint64_t count = 0;
    return ::read(wakes_->get(), &count, sizeof(count)) == sizeof(count);
  }

  std::shared_ptr<mailbox> requests_ = mailbox::create(capacity, 0).value();
  std::shared_ptr<os::unique_fd> wakes_ =
      std::make_shared<os::unique_fd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  request_type type_ = [] {
    request_type t;
    t.name = "test.request";
    return t;
  }();
  os::mapping segment_pages_;
  wire::worker_header* segment_ = nullptr;
  reactor::handle reactor_;
};

// Else it would be heard of when the worker has nothing left to do, which may be never.
TEST_F(DeviceReactor, AContinuationIsHeardOfWhereverItInterruptsWhoeverDrives) {
  testing_interrupts::interrupter holds_up;
  enum class driving : std::uint8_t { none, asked_for, going_on, to_stop };
  std::atomic<driving> state{driving::none};
  std::jthread driver([&](const std::stop_token& stop) {
    const testing_interrupts::interrupter::victim me(holds_up);
    while (!stop.stop_requested()) {
      driving asked = driving::asked_for;
      if (!state.compare_exchange_strong(asked, driving::going_on)) {
        std::this_thread::yield();
        continue;
      }
      while (state.load() == driving::going_on) {
        if (const auto held = role::try_take(*reactor_)) reactor_->poll(*held);
      }
      state.store(driving::none);
    }
  });
  int unheard = 0;
  int answered = 0;
  std::minstd_rand random(1);
  constexpr int rounds = 2'000 * static_cast<int>(scale);
  for (int round = 1; round <= rounds; ++round) {
    const std::uint16_t slot = *requests_->take_slot();
    requests_->waits().store(wire::wait_lazy);  // as the device thread does before it sleeps
    state.store(driving::asked_for);
    for (auto pauses = random() % 64; pauses > 0; --pauses)
      detail::pause_cpu();
    send(slot, 0, [&](const std::byte*, error*) { ++answered; });
    reactor_->continuation_attached();
    driving not_begun = driving::asked_for;
    if (!state.compare_exchange_strong(not_begun, driving::none)) {
      state.store(driving::to_stop);
      while (state.load() != driving::none)
        std::this_thread::yield();
    }
    // In flight, without a driver: a completion wakes the device thread, or it is awake already.
    const bool prompt = (requests_->waits().load() & wire::wait_prompt) != 0;
    if (!device_thread_is_woken() && !prompt) ++unheard;
    complete(0, static_cast<std::uint64_t>(round));
    while (answered < round)
      reactor_->try_poll();
  }
  EXPECT_EQ(unheard, 0);
}

// Also where another lane has left word, so that ends are taken in the order sent.
TEST_F(DeviceReactor, AMarkThatCannotBeEndsNoRequest) {
  int answers = 0;
  for (const std::uint8_t lane : {std::uint8_t{1}, std::uint8_t{0}})
    send(requests_->take_slot().value(), lane, [&](const std::byte*, error*) { ++answers; });
  reactor_->try_poll();
  for (const std::uint64_t wrong : {std::uint64_t{1000}, ~std::uint64_t{0}}) {
    segment_->lanes[0].replied.store(1);
    segment_->lanes[1].completed.store(wrong);
    const role held(*reactor_);
    complete(0, 1);
    reactor_->poll(held);
    EXPECT_EQ(answers, 1);
  }
}

TEST_F(DeviceReactor, IsWaitedForNoLongerThanSomebodyWouldWait) {
  using clock = std::chrono::steady_clock;
  std::optional<role> held(std::in_place, *reactor_);
  std::thread([&] {
    const auto begin = clock::now();
    EXPECT_FALSE(reactor_->settle_answers(begin + std::chrono::milliseconds(20)));
    EXPECT_GE(clock::now() - begin, std::chrono::milliseconds(20));
  }).join();
  EXPECT_TRUE(reactor_->settle_answers(clock::now())) << "whoever has the role is about it itself";
  held.reset();
  std::thread([&] {
    EXPECT_TRUE(reactor_->settle_answers(clock::now() + std::chrono::hours(1)));
  }).join();
}

TEST_F(DeviceReactor, ARoleIsSharedByItsThreadAndGivenUpByTheFirst) {
  {
    const role held(*reactor_);
    {
      const role shared(*reactor_);
    }
    EXPECT_TRUE(reactor_->has_role());
    EXPECT_FALSE(role::try_take(*reactor_)) << "a role of this thread's own is no free one";
    std::thread([&] { EXPECT_FALSE(role::try_take(*reactor_)); }).join();
  }
  EXPECT_FALSE(reactor_->has_role());
}

TEST_F(DeviceReactor, AnExceptionGivesTheRoleUp) {
  const auto fails = [&] {
    const role held(*reactor_);
    throw std::bad_alloc();
  };
  EXPECT_THROW(fails(), std::bad_alloc);
  EXPECT_TRUE(role::try_take(*reactor_));
}

// A thread of real-time priority that only yields lets no other one have its processor.
TEST_F(DeviceReactor, LetsAThreadOfLowerPriorityGiveTheRoleUp) {
  cpu_set_t before;
  cpu_set_t one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  std::optional<role> held(std::in_place, *reactor_);
  std::atomic<bool> wants{false};
  std::atomic<bool> may_not{false};
  const auto begin = std::chrono::steady_clock::now();
  std::thread urgent([&] {
    const sched_param priority{.sched_priority = 1};
    may_not = ::pthread_setschedparam(::pthread_self(), SCHED_FIFO, &priority) != 0;
    wants = true;
    if (may_not) return;
    const role mine(*reactor_);
  });
  while (!wants)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  held.reset();
  urgent.join();
  ::sched_setaffinity(0, sizeof(before), &before);
  if (may_not) GTEST_SKIP() << "this user may have no such priority";
  // By default the kernel takes such a thread its processor away after 950 ms.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(500));
}

TEST_F(DeviceReactor, AnswersEachRequestOnceWhoeverDrives) {
  constexpr std::uint8_t threads = 3;
  constexpr std::uint64_t each = 5'000 * scale;
  std::array<std::atomic<std::uint64_t>, threads> answers{};
  std::atomic<int> out_of_order{0};
  // By place in the lane. Plain: a worker's writes are visible to the receiver of the answer.
  std::array<std::vector<std::uint64_t>, threads> work;
  work.fill(std::vector<std::uint64_t>(each));
  std::jthread worker([&] {
    std::array<std::uint64_t, threads> places{};
    for (std::uint64_t ticket = 0; ticket < threads * each; ++ticket) {
      std::uint64_t entry = requests_->entry(ticket);
      for (; entry == 0; entry = requests_->entry(ticket))
        std::this_thread::yield();
      const std::uint8_t lane = wire::ring_entry::lane_of(entry);
      work[lane][places[lane]] = ticket + 1;
      complete(lane, ++places[lane]);
    }
  });
  {
    std::vector<std::jthread> senders;
    senders.reserve(threads);
    for (std::uint8_t lane = 0; lane < threads; ++lane) {
      senders.emplace_back([&, lane] {
        for (std::uint64_t i = 0; i < each; ++i) {
          std::optional<std::uint16_t> slot = requests_->take_slot();
          for (; !slot; slot = requests_->take_slot()) {
            reactor_->try_poll();
            std::this_thread::yield();
          }
          send(*slot, lane, [&, lane, i](const std::byte* reply, error* failure) {
            if (reply != nullptr || failure != nullptr || work[lane][i] == 0)
              out_of_order.fetch_add(1);
            if (answers[lane].fetch_add(1, std::memory_order_relaxed) != i)
              out_of_order.fetch_add(1);
          });
        }
        while (answers[lane].load() < each) {
          reactor_->try_poll();
          std::this_thread::yield();
        }
      });
    }
  }
  worker.join();
  EXPECT_EQ(out_of_order, 0);
  EXPECT_EQ(reactor_->totals().answered, threads * each);
  int free = 0;
  while (requests_->take_slot())
    ++free;
  EXPECT_EQ(free, static_cast<int>(capacity));
}

}  // namespace
}  // namespace troupe
