#include "core/actor_cell.hpp"
#include "core/system_core.hpp"
#include "core/timer_heap.hpp"

#include <troupe/testing/test_kit.hpp>

#include <algorithm>
#include <deque>
#include <random>

namespace troupe::testing {
namespace {

class virtual_timers final : public timer_service {
 public:
  time_point now() const noexcept override { return now_; }
  timer_id add(time_point when, unique_function<void()> expire) override {
    return heap_.add(when, std::move(expire));
  }
  void cancel(timer_id id) noexcept override { (void)heap_.cancel(id); }

  /// Rings the first alarm up to `limit`, at its time; false when there is none.
  bool ring_next(time_point limit) {
    const auto next = heap_.next();
    if (!next || *next > limit) return false;
    now_ = std::max(now_, *next);
    heap_.take_due(now_)();
    return true;
  }
  void move_to(time_point when) noexcept { now_ = when; }

 private:
  detail::timer_heap heap_;
  time_point now_{std::chrono::hours(1)};
};

class manual_dispatcher final : public detail::turn_dispatcher {
 public:
  explicit manual_dispatcher(std::uint64_t seed) : shuffled_(seed != 0), random_(seed) {}

  void enqueue(detail::actor_cell& cell) noexcept override { ready_.push_back(&cell); }

  bool step() noexcept {
    while (!ready_.empty()) {
      std::size_t chosen = 0;
      if (shuffled_) chosen = random_() % ready_.size();
      detail::actor_cell& cell = *ready_[chosen];
      ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(chosen));
      if (!cell.claim_ticket()) continue;
      cell.run(detail::turn_limits{.messages = 1});
      return true;
    }
    return false;
  }

  void help(detail::actor_cell&, const future_state_base& state,
            future_state_base::time_point deadline) noexcept override {
    while (!state.ready() && step()) {
    }
    if (!state.ready()) state.park_until(deadline);
  }

  bool make_room(detail::actor_cell& cell, const detail::message&) noexcept override {
    return !cell.dead() && step();
  }

  bool runs_everything() const noexcept override { return true; }
  void join() noexcept override {}

 private:
  bool shuffled_;
  std::mt19937_64 random_;
  std::deque<detail::actor_cell*> ready_;
};

}  // namespace

struct test_kit::implementation {
  implementation(std::uint64_t seed, system_config config)
      : timers(std::make_shared<virtual_timers>()),
        dispatcher(std::make_shared<manual_dispatcher>(seed)),
        core(std::make_shared<detail::system_core>(config, timers, dispatcher)),
        actors(core) {
    core->seed(seed);
  }

  std::shared_ptr<virtual_timers> timers;
  std::shared_ptr<manual_dispatcher> dispatcher;
  std::shared_ptr<detail::system_core> core;
  troupe::system actors;
};

test_kit::test_kit(std::uint64_t seed, system_config config)
    : implementation_(std::make_unique<implementation>(seed, config)) {
  run_until_idle();
}

test_kit::~test_kit() {
  const future<void> down = implementation_->actors.shutdown();
  run_until_idle();
  implementation_->core->force_stop();
  run_until_idle();
}

troupe::system& test_kit::system() noexcept { return implementation_->actors; }

bool test_kit::step() { return implementation_->dispatcher->step(); }

std::size_t test_kit::run_until_idle() {
  std::size_t steps = 0;
  while (step())
    ++steps;
  return steps;
}

void test_kit::advance(std::chrono::nanoseconds duration) {
  virtual_timers& timers = *implementation_->timers;
  const auto end = timers.now() + duration;
  run_until_idle();
  while (timers.ring_next(end))
    run_until_idle();
  timers.move_to(end);
}

std::chrono::steady_clock::time_point test_kit::now() const noexcept {
  return implementation_->timers->now();
}

}  // namespace troupe::testing
