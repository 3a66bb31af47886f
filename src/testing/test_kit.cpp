#include "core/system_core.hpp"
#include "testing/manual_dispatcher.hpp"
#include "testing/virtual_timers.hpp"

#include <troupe/testing/test_kit.hpp>

#include <deque>
#include <random>

namespace troupe::testing {
namespace {

class shuffling_dispatcher final : public manual_dispatcher {
 public:
  explicit shuffling_dispatcher(std::uint64_t seed) : shuffled_(seed != 0), random_(seed) {}

 private:
  std::size_t choose(const std::deque<detail::actor_cell*>& ready) noexcept override {
    return shuffled_ ? random_() % ready.size() : 0;
  }

  bool shuffled_;
  std::mt19937_64 random_;
};

}  // namespace

struct test_kit::implementation {
  implementation(std::uint64_t seed, system_config config)
      : timers(std::make_shared<virtual_timers>()),
        dispatcher(std::make_shared<shuffling_dispatcher>(seed)),
        core(std::make_shared<detail::system_core>(config, timers, dispatcher)),
        actors(core) {
    core->seed(seed);
  }

  std::shared_ptr<virtual_timers> timers;
  std::shared_ptr<shuffling_dispatcher> dispatcher;
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
