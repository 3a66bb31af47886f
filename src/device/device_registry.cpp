#include "device/device_registry.hpp"

#include "device/device_guard.hpp"
#include "device/not_a_worker.hpp"
#include "os/limits.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::int32_t largest_ordinal = 63;
// What a cache line holds: host tensors lie beside each other without sharing one.
constexpr std::uint64_t host_granule_bytes = 64;
// How long a system that shuts down lets its devices finish what they have, all together.
constexpr auto drain_patience = std::chrono::seconds(5);

error has_shut_down() {
  return {.code = errc::device_stopped, .message = "the system has shut down"};
}

std::shared_ptr<device_registry> registry_of(system& s) {
  auto found = std::static_pointer_cast<device_registry>(
      s.service(device_registry::key, [] { return std::make_shared<device_registry>(); }));
  if (!found) throw failure(has_shut_down());
  return found;
}

}  // namespace

std::shared_ptr<device_core> device_registry::running(std::int32_t ordinal) const {
  const auto found = devices_.find(ordinal);
  if (found == devices_.end()) return nullptr;
  const device_state state = found->second->watch().state();
  return state == device_state::stopped ? nullptr : found->second;
}

// While it lives others wait for the device of this number. Begins under the lock and ends without.
class device_registry::making {
 public:
  making(device_registry& home, std::int32_t ordinal) : home_(home), ordinal_(ordinal) {
    home_.in_the_making_.insert(ordinal);
  }
  making(const making&) = delete;
  making& operator=(const making&) = delete;
  ~making() {
    const std::lock_guard lock(home_.mutex_);
    home_.in_the_making_.erase(ordinal_);
    home_.made_.notify_all();
  }

 private:
  device_registry& home_;
  std::int32_t ordinal_;
};

result<std::shared_ptr<device_core>> device_registry::make(std::int32_t ordinal,
                                                           const device_config& config,
                                                           system& owner, if_running there) {
  if (ordinal < 0 || ordinal > largest_ordinal) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("device {} is not within 0 and {}", ordinal, largest_ordinal)};
  }
  if (auto why = not_a_worker()) return *std::move(why);
  // Goes last, when whoever waits has the new one: its thread may be among them.
  std::shared_ptr<device_core> before;
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return !in_the_making_.contains(ordinal); });
  if (ended_) return has_shut_down();
  if (auto found = running(ordinal)) {
    if (there == if_running::take_it) return found;
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("device {} runs already; its configuration is set", ordinal),
        .device = ordinal};
  }
  const making others_wait(*this, ordinal);
  lock.unlock();
  const bool wants_a_free_one =
      config.gpu.what == gpu_choice::kind::any && config.backend != backend_kind::cpu;
  std::unique_lock alone(choice_, std::defer_lock);
  std::shared_lock beside_others(choice_, std::defer_lock);
  if (wants_a_free_one) {
    alone.lock();
  } else {
    beside_others.lock();
  }
  auto made = make_one(ordinal, config, owner);
  if (!made) return made;
  const std::lock_guard among_the_others(mutex_);
  before = std::exchange(devices_[ordinal], *made);
  return made;
}

// Nobody else knows it yet.
result<std::shared_ptr<device_core>> device_registry::make_one(std::int32_t ordinal,
                                                               const device_config& config,
                                                               system& owner) {
  std::shared_ptr<memory_pool> host_memory;
  std::vector<std::string> in_use;
  {
    const std::lock_guard lock(mutex_);
    if (!host_memory_) {
      auto memory = memory_pool::create(
          {.space = memory_space::host,
           .device = -1,
           .limit_bytes = memory_pool::default_limit_bytes(os::usable_memory_bytes()),
           .granule_bytes = host_granule_bytes});
      if (!memory) return std::move(memory).error();
      host_memory_ = *std::move(memory);
    }
    host_memory = host_memory_;
    for (const auto& [number, other] : devices_) {
      if (running(number)) in_use.push_back(other->description().uuid);
    }
  }
  auto made = device_core::create(ordinal, config, std::move(host_memory), in_use);
  if (!made) return made;
  (*made)->set_ends(ends_);
  auto guard = owner.spawn<device_guard>();
  (*made)->set_guard(guard);
  supervisor& watched = (*made)->watch();
  watched.watch([guard, &watched](std::optional<std::uint64_t> generation) mutable {
    if (generation) return;
    guard.tell(device_ended{.why = watched.stop_reason(), .by_request = watched.stop_requested()});
  });
  return made;
}

void device_registry::stop() noexcept {
  std::map<std::int32_t, std::shared_ptr<device_core>> devices;
  {
    std::unique_lock lock(mutex_);
    ended_ = true;  // for those who have found this before the system gave it up
    made_.wait(lock, [this] { return in_the_making_.empty(); });
    devices.swap(devices_);
  }
  const auto until = std::chrono::steady_clock::now() + drain_patience;
  for (auto& [ordinal, core] : devices) {
    class device one(core);
    one.drain(std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds::zero()));
    core->watch().stop({.code = errc::device_stopped, .message = "its system has shut down"});
  }
  devices.clear();
  ends_->await_none(drain_patience);  // bounded, because one of them may have called this
}

troupe::device system::device(std::int32_t ordinal) {
  return troupe::device(
      registry_of(*this)
          ->make(ordinal, device_config{}, *this, device_registry::if_running::take_it)
          .value());
}

troupe::device system::device(std::int32_t ordinal, const device_config& config) {
  return troupe::device(registry_of(*this)
                            ->make(ordinal, config, *this, device_registry::if_running::refuse)
                            .value());
}

}  // namespace troupe
