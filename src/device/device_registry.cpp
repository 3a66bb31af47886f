#include "device/device_registry.hpp"

#include "device/device_guard.hpp"
#include "device/not_a_worker.hpp"
#include "os/memory_limit.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace troupe {
namespace {

constexpr std::int32_t largest_ordinal = 63;
// What a cache line holds: host tensors lie beside each other without sharing one.
constexpr std::uint64_t host_granule_bytes = 64;
// How long a system that shuts down lets its devices finish what they have.
constexpr auto drain_patience = std::chrono::seconds(5);

std::shared_ptr<device_registry> registry_of(system& s) {
  return std::static_pointer_cast<device_registry>(
      s.service(device_registry::key, [] { return std::make_shared<device_registry>(); }));
}

}  // namespace

std::shared_ptr<device_core> device_registry::running(std::int32_t ordinal) const {
  const auto found = devices_.find(ordinal);
  if (found == devices_.end()) return nullptr;
  const device_state state = found->second->watch().state();
  return state == device_state::stopped ? nullptr : found->second;
}

std::shared_ptr<device_core> device_registry::find(std::int32_t ordinal) {
  const std::lock_guard lock(mutex_);
  return running(ordinal);
}

result<std::shared_ptr<device_core>> device_registry::make(std::int32_t ordinal,
                                                           const device_config& config,
                                                           system& owner) {
  const std::lock_guard lock(mutex_);
  if (ordinal < 0 || ordinal > largest_ordinal) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("device {} is not within 0 and {}", ordinal, largest_ordinal)};
  }
  if (auto why = not_a_worker()) return *std::move(why);
  if (running(ordinal)) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("device {} runs already; its configuration is set", ordinal),
        .device = ordinal};
  }
  if (!host_memory_) {
    auto memory = memory_pool::create({.space = memory_space::host,
                                       .device = -1,
                                       .limit_bytes = os::usable_memory_bytes() / 2,
                                       .granule_bytes = host_granule_bytes});
    if (!memory) return std::move(memory).error();
    host_memory_ = *std::move(memory);
  }
  std::vector<std::string> in_use;
  for (const auto& [number, other] : devices_) {
    if (running(number)) in_use.push_back(other->description().uuid);
  }
  auto made = device_core::create(ordinal, config, host_memory_, in_use);
  if (!made) return made;
  devices_[ordinal] = *made;
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
    const std::lock_guard lock(mutex_);
    devices.swap(devices_);
  }
  for (auto& [ordinal, core] : devices) {
    class device one(core);
    one.drain(drain_patience);
    core->watch().stop({.code = errc::device_stopped, .message = "its system has shut down"});
  }
}

troupe::device system::device(std::int32_t ordinal) {
  const auto registry = registry_of(*this);
  if (auto core = registry->find(ordinal)) return troupe::device(std::move(core));
  return device(ordinal, device_config{});
}

troupe::device system::device(std::int32_t ordinal, const device_config& config) {
  return troupe::device(registry_of(*this)->make(ordinal, config, *this).value());
}

}  // namespace troupe
