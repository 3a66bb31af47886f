#pragma once

#include "device/mailbox/operands.hpp"
#include "device/mailbox/record.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "wire/layout.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

// Which requests in flight a lost worker can have begun.
namespace troupe {

/// A mapped tensor keeps its place again in the next worker. Until the program unmaps it, no
/// request after it can have begun, even if a queue has it already.
class mapped_tensors_in_flight {
 public:
  /// Call with the unfinished requests in the order sent: true for one that cannot have begun.
  [[nodiscard]] bool hold_back(const record& r) {
    const bool held = is_mapping(*r.type) ? !given_back(r) : follows_one(r);
    if (held) held_.push_back(&r);
    return held || is_mapping(*r.type);
  }

 private:
  // Acquire: a flag that is unset now was unset when the worker ended.
  static bool given_back(const record& mapping) {
    std::uint32_t* flag = nullptr;  // the last operand
    mapping.operands.for_each([&](const kept_operand& o) {
      flag = reinterpret_cast<std::uint32_t*>(o.buffer->address + o.where.begin);
    });
    return flag == nullptr || std::atomic_ref(*flag).load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] bool follows_one(const record& r) const {
    return std::ranges::any_of(held_, [&](const record* earlier) {
      return earlier->lane == r.lane || in_conflict(earlier->operands, r.operands);
    });
  }

  std::vector<const record*> held_;
};

/// Whether a request may have ended its process although it need not have begun: the process ended
/// by itself while it called this executor. (A mapped tensor has none, and a withdrawn request is
/// passed over.)
[[nodiscard]] inline bool may_have_ended(const loss& what, const wire::worker_header& ended,
                                         const record& r) noexcept {
  return what.of_process && !r.withdrawn() && !is_mapping(*r.type) &&
         ended.lanes[r.lane].calls.load(std::memory_order_relaxed) == r.ticket + 1;
}

/// For the judge. `known`: its lane's mark is valid, so it is known which requests have run.
[[nodiscard]] inline request_at_loss at_loss(const record& r, bool known,
                                             std::chrono::steady_clock::time_point at) {
  const bool is_part = r.lane == wire::world_lane;
  return {.ticket = r.ticket,
          .started = r.losses.started,
          .called = r.losses.called,
          .answered = r.answered(),
          .retry_safe = known && (is_part || safe_to_repeat(*r.type, r.operands)),
          .waits_for_peers = is_part,
          .kills = r.losses.kills,
          .outside_kills = r.losses.outside_kills,
          .killed_for =
              r.losses.outside_kills > 0 ? at - r.first_killed_at : std::chrono::nanoseconds(0)};
}

}  // namespace troupe
