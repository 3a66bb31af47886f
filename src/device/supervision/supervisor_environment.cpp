#include "device/supervision/supervisor_environment.hpp"

#include <thread>

namespace troupe {
namespace {

class real_environment final : public supervisor_environment {
 public:
  clock::time_point now() const noexcept override { return clock::now(); }
  void pause(clock::duration how_long) noexcept override { std::this_thread::sleep_for(how_long); }
  result<std::unique_ptr<incarnation>> start_worker(
      const worker_plan& plan, std::uint64_t number,
      const std::vector<frozen_range>& frozen) override {
    return incarnation::start(plan, number, frozen);
  }
  worker_events events_of(const incarnation&) override { return {}; }
  bool has_device_thread() const noexcept override { return true; }
};

}  // namespace

supervisor_environment& supervisor_environment::real() noexcept {
  static constinit real_environment all;
  return all;
}

}  // namespace troupe
