#include "device/local/device_registry.hpp"

#include "core/system_core.hpp"
#include "device/local/device_guard.hpp"
#include "device/selection/not_a_worker.hpp"
#include "os/limits.hpp"

#include <troupe/device/device.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

constexpr std::int32_t largest_ordinal = 63;
// The size of a cache line: adjacent host tensors do not share one.
constexpr std::uint64_t host_granule_bytes = 64;
// How long a system that shuts down waits for all its devices together to finish their requests.
constexpr auto drain_timeout = std::chrono::seconds(5);

error has_shut_down() {
  return {.code = errc::device_stopped, .message = "the system has shut down"};
}

// Returns the reason if a device with another configuration cannot replace this one.
std::optional<error> keeps_its_place(local_device& there) {
  if (there.state() != device_state::stopped) {
    return error{
        .code = errc::invalid_argument,
        .message = fmt::format("device {} runs already; its configuration is set", there.ordinal()),
        .device = there.ordinal()};
  }
  const std::uint64_t tensors = there.memory().statistics().buffers;
  if (there.supervision().is_let_go() || tensors == 0) return std::nullopt;
  return error{.code = errc::invalid_argument,
               .message = fmt::format("device {} has given up, and its memory holds {} tensors: "
                                      "restart() it, or stop() it if they are of no use any more",
                                      there.ordinal(), tensors),
               .device = there.ordinal()};
}

// Ends the old device for good when destroyed: two devices must not have the same number.
struct replaced_device {
  std::shared_ptr<local_device> core;

  replaced_device() = default;
  replaced_device(const replaced_device&) = delete;
  replaced_device& operator=(const replaced_device&) = delete;
  ~replaced_device() {
    if (!core) return;
    core->supervision().end(
        {.code = errc::device_stopped, .message = "another device has its number"});
  }
};

}  // namespace

// While it exists, other threads wait for the device of this number. Constructed with the lock,
// destroyed without it.
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

result<std::shared_ptr<local_device>> device_registry::make(std::int32_t ordinal,
                                                            const device_config& config,
                                                            system& owner, if_there there) {
  if (ordinal < 0 || ordinal > largest_ordinal) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("device ordinal must be 0 to {}; it is {}", largest_ordinal,
                                        ordinal)};
  }
  if (auto why = not_a_worker()) return *std::move(why);
  // Destroyed last, when waiting threads have the new device: the old one's thread may be among
  // them.
  replaced_device before;
  std::unique_lock lock(mutex_);
  made_.wait(lock, [&] { return !in_the_making_.contains(ordinal); });
  if (ended_) return has_shut_down();
  if (const auto found = devices_.find(ordinal); found != devices_.end()) {
    if (there == if_there::take_it) return found->second;
    if (auto why = keeps_its_place(*found->second)) return *std::move(why);
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
  before.core = std::exchange(devices_[ordinal], *made);
  siblings_->forget(ordinal);
  return made;
}

// The device is not shared yet.
result<std::shared_ptr<local_device>> device_registry::make_one(std::int32_t ordinal,
                                                                const device_config& config,
                                                                system& owner) {
  std::shared_ptr<memory_pool> host_memory;
  std::shared_ptr<event_courier> courier;
  std::vector<std::string> in_use;
  {
    const std::lock_guard lock(mutex_);
    if (!courier_) courier_ = std::make_shared<event_courier>(owner.log());
    courier = courier_;
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
      if (!other->gone()) in_use.push_back(other->description().uuid);
    }
  }
  auto made = local_device::create(ordinal, config, std::move(host_memory), in_use,
                                   owner.core().config().metrics);
  if (!made) return made;
  (*made)->set_ends(ends_);
  (*made)->set_siblings(siblings_);
  (*made)->journal().deliver_to(std::move(courier));
  (*made)->set_guards(std::make_shared<device_guards>(owner.core()));
  return made;
}

std::shared_ptr<device_registry> device_registry::of(system& s) {
  auto found = std::static_pointer_cast<device_registry>(
      s.service(key, [] { return std::make_shared<device_registry>(); }));
  if (!found) throw failure(has_shut_down());
  return found;
}

std::vector<std::shared_ptr<local_device>> device_registry::devices_of(const system& s) {
  const auto registry = std::static_pointer_cast<device_registry>(
      s.core().service(key, [] { return std::make_shared<device_registry>(); }));
  return registry ? registry->devices() : std::vector<std::shared_ptr<local_device>>();
}

bool device_registry::owns(const local_device& one) {
  const std::lock_guard lock(mutex_);
  const auto found = devices_.find(one.ordinal());
  return found != devices_.end() && found->second.get() == &one;
}

std::vector<std::shared_ptr<local_device>> device_registry::devices() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<local_device>> all;
  all.reserve(devices_.size());
  for (const auto& [number, one] : devices_)
    all.push_back(one);
  return all;
}

void device_registry::stop() noexcept {
  std::map<std::int32_t, std::shared_ptr<local_device>> devices;
  std::shared_ptr<event_courier> courier;
  {
    std::unique_lock lock(mutex_);
    ended_ = true;  // for callers that got the registry before the system let it go
    made_.wait(lock, [this] { return in_the_making_.empty(); });
    devices.swap(devices_);
    courier.swap(courier_);
  }
  const auto until = std::chrono::steady_clock::now() + drain_timeout;
  for (auto& [ordinal, core] : devices) {
    class device one(core);
    one.drain(std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds::zero()));
    core->supervision().end({.code = errc::device_stopped, .message = "its system has shut down"});
  }
  {
    const std::lock_guard lock(siblings_->mutex);
    siblings_->pairs.clear();
  }
  devices.clear();
  ends_->await_none(drain_timeout);             // bounded, because one of them may have called this
  if (courier) courier->finish(drain_timeout);  // bounded, because its hook may have called this
}

troupe::device system::device(std::int32_t ordinal) {
  return troupe::device(
      device_registry::of(*this)
          ->make(ordinal, device_config{}, *this, device_registry::if_there::take_it)
          .value());
}

troupe::device system::device(std::int32_t ordinal, const device_config& config) {
  return troupe::device(device_registry::of(*this)
                            ->make(ordinal, config, *this, device_registry::if_there::refuse)
                            .value());
}

std::vector<device_event> system::events() const {
  std::vector<device_event> all;
  for (const auto& one : device_registry::devices_of(*this))
    std::ranges::move(one->events(0), std::back_inserter(all));
  std::ranges::stable_sort(all, {}, &device_event::at);
  return all;
}

}  // namespace troupe
