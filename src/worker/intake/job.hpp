#pragma once

#include "worker/intake/decoded_requests.hpp"
#include "worker/threads/hazards.hpp"

#include <troupe/plugin/executor.hpp>
#include <troupe/plugin/work_owner.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

namespace troupe::worker {

/// A request in the worker, from decoding to its mark.
struct job {
  std::uint64_t ticket = 0;
  std::uint64_t place = 0;  ///< in its lane, from 1
  std::int64_t deadline_ns = 0;
  std::uint64_t sequence = 0;  ///< see `lane_context::sequence`
  const operation* op = nullptr;
  std::uint16_t slot = 0;
  std::uint8_t lane = 0;
  wire::hold held = wire::hold::none;
  wire::end_mark mark = wire::end_mark::own;
  bool timed = false;            ///< the program wants its times
  std::optional<error> refused;  ///< found before it began; answered in the lane's order
  /// The last answer of `operation::prepared`.
  bool prepared = true;
  std::chrono::nanoseconds turn{0};  ///< how long it waited for its turn, if it is timed
  dependencies waits;
  /// Set before the mark, by the thread that ran the job; read by the thread that reads the slot's
  /// next request. The mark, and the program's reaction to it, already order the two; this makes
  /// the order visible to this process, and to ThreadSanitizer.
  std::atomic<bool> handed_back{true};

  /// The entry of a request that the program sends repeatedly, or null: then the request is `own`.
  decoded_requests::entry* known = nullptr;
  decoded_request own;

  [[nodiscard]] const decoded_request& what() const noexcept { return known ? known->what() : own; }

  /// True if its operation decides when it may run, see `operation::ready`.
  [[nodiscard]] bool asks_when() const noexcept {
    return !refused && op != nullptr && op->ready != nullptr;
  }
  /// Asks again, unless it is prepared.
  [[nodiscard]] bool is_prepared(const std::shared_ptr<kept_blobs>& blobs) noexcept {
    if (prepared) return true;
    const works_for owner({.ticket = ticket, .known = true});
    prepared = op->prepared(what().request.get(), blobs);
    return prepared;
  }
  /// True if the call of its executor may block, see `effort::blocks_host`.
  [[nodiscard]] bool blocks_host() const noexcept {
    return !refused && op != nullptr && op->effort == effort::blocks_host;
  }
  /// True if more than its lane and its operands can delay it.
  [[nodiscard]] bool held_back() const noexcept {
    return asks_when() || !prepared || held == wire::hold::until_opened;
  }

  /// Call after it has run.
  void release_request() noexcept {
    if (known != nullptr) {
      std::exchange(known, nullptr)->let_go();
    } else {
      own.request.clear();
    }
  }
};

}  // namespace troupe::worker
