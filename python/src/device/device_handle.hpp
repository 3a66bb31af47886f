#pragma once

#include "graph/recording.hpp"
#include "sending/sending.hpp"

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/device/fork_server.hpp>

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe::python {

/// A system and what ends with it. Destroyed without the GIL, because its threads may wait for it.
class system_handle {
 public:
  explicit system_handle(const system_config& config) : drain(config.drain), system(config) {}

  /// The time that actors get at the end for the messages in their mailboxes.
  const std::chrono::nanoseconds drain;
  troupe::system system;
  /// No handler runs any more.
  std::atomic<bool> has_ended{false};
  /// True in a child that was forked since: the threads are elsewhere, so nothing can end here.
  [[nodiscard]] bool is_copy() const noexcept { return ::getpid() != made_by_; }

  // The devices that were made. Nothing that may let go of the GIL happens under the lock.
  [[nodiscard]] std::optional<troupe::device> find(std::int32_t ordinal) {
    const std::lock_guard lock(mutex_);
    const auto there = devices_.find(ordinal);
    return there == devices_.end() ? std::nullopt : std::optional(there->second);
  }
  void keep(std::int32_t ordinal, const troupe::device& one, std::shared_ptr<fork_server> forks) {
    const std::lock_guard lock(mutex_);
    devices_.insert_or_assign(ordinal, one);
    forks_.insert_or_assign(ordinal, std::move(forks));
  }
  /// The fork server of a device that has operations of Python; else null.
  [[nodiscard]] std::shared_ptr<fork_server> forks_of(std::int32_t ordinal) {
    const std::lock_guard lock(mutex_);
    const auto there = forks_.find(ordinal);
    return there == forks_.end() ? nullptr : there->second;
  }
  /// The requests that wait for space in a device's mailbox: one queue for each device.
  [[nodiscard]] std::shared_ptr<sending_queue> queue_of(std::int32_t ordinal) {
    const std::lock_guard lock(mutex_);
    auto& one = queues_[ordinal];
    if (!one) one = std::make_shared<sending_queue>();
    return one;
  }
  [[nodiscard]] std::vector<troupe::device> all() {
    const std::lock_guard lock(mutex_);
    std::vector<troupe::device> copies;
    copies.reserve(devices_.size());
    for (const auto& [ordinal, one] : devices_)
      copies.push_back(one);
    return copies;
  }

 private:
  const ::pid_t made_by_ = ::getpid();
  std::mutex mutex_;
  std::map<std::int32_t, std::shared_ptr<fork_server>> forks_;
  std::map<std::int32_t, std::shared_ptr<sending_queue>> queues_;
  std::map<std::int32_t, troupe::device> devices_;
};
using system_ref = std::shared_ptr<system_handle>;
[[nodiscard]] system_ref make_system(const system_config& config);

/// A device, and the system that it needs: both live as long as anything refers to them.
struct device_handle {
  device_handle(system_ref s, const troupe::device& d)
      : system(std::move(s)), device(d), queue(system->queue_of(device.ordinal())) {}
  system_ref system;
  troupe::device device;
  std::shared_ptr<sending_queue> queue;

  /// The device, for a request that comes after all requests queued so far. Needs the GIL, which it
  /// may release. Throws the Python exception while this thread records: it cannot be recorded.
  [[nodiscard]] troupe::device& in_order() {
    recording::expect_none(device);
    queue->flush();
    return device;
  }
};
using device_ref = std::shared_ptr<device_handle>;

/// The Python object for a device; device.cpp.
[[nodiscard]] nanobind::object make_device(const device_ref& handle);
/// The device of a Python object, which is a `Device`; device.cpp.
[[nodiscard]] const device_ref& handle_of(nanobind::handle device);
/// Spawns a top-level actor; `make` is called with the actor's context for each incarnation, and
/// answers the Python object. `options`: the keywords of `troupe.System.spawn`; actor.cpp.
[[nodiscard]] nanobind::object spawn_at_root(const system_ref& system, nanobind::handle make,
                                             nanobind::handle options);

}  // namespace troupe::python
