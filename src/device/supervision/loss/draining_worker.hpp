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

/// A lost worker until it is reaped, with its requests, which are held back until its marks are
/// final. If the device has its own memory, the queue of a killed worker may run on for some
/// milliseconds.
struct draining_worker {
  struct held_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
    std::uint8_t lane = 0;
    std::uint64_t place = 0;  ///< in its lane there
    bool given = false;       ///< by its marks; otherwise the worker only named it as it ended
    bool accused = false;     ///< as the culprit, and already failed
  };
  std::unique_ptr<incarnation> worker;
  sign_of_loss sign;
  std::vector<held_request> held{};  ///< in the order sent; empty once it is settled
  bool costs_budget = false;         ///< unless a culprit is found
  std::string ended_before{};        ///< the last requests that ended in it, for a message
};

/// The final work of a lost worker, once its marks cannot change.
/// Precondition: the held requests are unfinished, in the order sent.
class final_marks {
 public:
  using held_request = draining_worker::held_request;

  explicit final_marks(const draining_worker& of) noexcept;

  /// False if the lane's mark is out of range: then it is unknown which requests of the lane have
  /// run.
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
  // Acquire: the outputs and the replies of completed requests are visible.
  [[nodiscard]] std::uint64_t completed_in(std::uint8_t lane) const noexcept {
    return segment_->lanes[lane].completed.load(std::memory_order_acquire);
  }

  // They follow each other in their lane, so a valid mark names one of them or the one before.
  struct places {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };
  const wire::worker_header* segment_;
  std::array<places, wire::max_lanes> held_{};
};

}  // namespace troupe
