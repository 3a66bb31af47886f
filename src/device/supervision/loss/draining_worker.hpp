#pragma once

#include "device/supervision/incarnation.hpp"
#include "device/supervision/loss/recovery.hpp"
#include "wire/layout.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// A worker that is lost, until it is reaped, and what it had: that is held back until its marks
/// are final. Where the device has memory of its own, the queue of a killed worker may go on for
/// some milliseconds.
struct draining_worker {
  struct held_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
    std::uint8_t lane = 0;
    std::uint64_t place = 0;  ///< in its lane there
    bool given = false;       ///< by its marks; otherwise the worker only named it as it ended
    bool accused = false;     ///< as the culprit, and dealt with
  };
  std::unique_ptr<incarnation> worker;
  sign_of_loss sign;
  std::vector<held_request> held{};  ///< in the order sent; empty once it is settled
  bool costs_budget = false;         ///< unless somebody turns out to be named for it
  std::string ended_before{};        ///< the last requests that ended in it, for a message
};

/// What a lost worker had done, once its marks do not change any more.
/// Precondition: what is held is unfinished, in the order sent.
class final_marks {
 public:
  using held_request = draining_worker::held_request;

  explicit final_marks(const draining_worker& of) noexcept;

  /// False where a lane's mark cannot be: then nobody knows what of it has run.
  [[nodiscard]] bool known(const held_request& h) const noexcept;
  [[nodiscard]] bool completed(const held_request& h) const noexcept {
    return h.given && known(h) && h.place <= completed_in(h.lane);
  }
  [[nodiscard]] bool replied(const held_request& h) const noexcept {
    return segment_->lanes[h.lane].replied.load(std::memory_order_relaxed) >= h.place;
  }
  [[nodiscard]] bool can_have_begun(const held_request& h) const noexcept {
    return h.given && (!known(h) || h.place <= wire::last_begun(segment_->lanes[h.lane]));
  }

 private:
  // Acquire: what a completed request wrote, and its reply, are visible.
  [[nodiscard]] std::uint64_t completed_in(std::uint8_t lane) const noexcept {
    return segment_->lanes[lane].completed.load(std::memory_order_acquire);
  }

  // In its lane they follow each other, so a mark can be of one of them or of the one before.
  struct places {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  const wire::worker_header* segment_;
  std::array<places, wire::max_lanes> held_{};
};

}  // namespace troupe
