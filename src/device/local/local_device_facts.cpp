// The facts about a device at one moment.
#include "device/local/local_device.hpp"

#include <troupe/telemetry/snapshot.hpp>

#include <utility>

namespace troupe {

device_statistics local_device::statistics() const {
  const auto& totals = completions_->totals();
  // In a forked process, the thread that held the lock at the fork does not exist.
  const std::uint64_t refused = completions_->is_copy() ? 0 : completions_->outcomes().refused();
  return statistics_of({.done = totals.answered.load(std::memory_order_acquire),
                        .failed = totals.failed.load(std::memory_order_acquire) + refused,
                        .refused = refused});
}

// Call it with the requests that had ended at an earlier moment: more may have been sent since.
device_statistics local_device::statistics_of(const outcome_counts::reading& ended) const {
  device_statistics s;
  s.answered = ended.done;
  s.failed = ended.failed;
  s.replayed = supervisor_->replayed();
  s.sent = requests_->next_ticket() + ended.refused;
  s.in_flight = s.sent - (s.answered + s.failed);
  const pool_statistics memory = device_memory_->statistics();
  s.memory_used_bytes = memory.used_bytes;
  s.memory_peak_bytes = memory.peak_bytes;
  s.memory_limit_bytes = memory.limit_bytes;
  s.buffers = memory.buffers;
  return s;
}

device_telemetry local_device::telemetry() const {
  device_telemetry now;
  now.ordinal = ordinal_;
  now.backend = device_memory_->source() ? "cuda" : "cpu";
  now.description = description_;
  now.health = health();
  if (completions_->is_copy()) {
    now.statistics = statistics();
    return now;
  }
  outcome_counts::reading ended = completions_->outcomes().read();
  now.statistics = statistics_of(ended);
  now.operations = std::move(ended.operations);
  now.sample = metrics_.sample;
  now.tags = std::move(ended.tags);
  now.quarantine = quarantine();
  now.mailbox_capacity = requests_->capacity();
  now.mailbox_bytes = requests_->heap_bytes();
  now.mailbox_used_bytes = requests_->heap_used_bytes();
  const memory_pool::restricted_bytes restricted = device_memory_->restricted();
  now.frozen_bytes = restricted.frozen;
  now.tainted_bytes = restricted.tainted;
  journal_.count(now);
  if (const auto& source = device_memory_->source()) {
    if (gpu_sensors read; source->read_sensors(read)) now.sensors = std::move(read);
  }
  now.lanes = supervisor_->busy_lanes();
  now.last_turn = supervisor_->ask_for_turn();
  return now;
}

}  // namespace troupe
