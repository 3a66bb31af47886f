#pragma once

#include "device/submission/record.hpp"
#include "memory/memory_pool.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Keeps requests from succeeding on content that a fault has left undefined.
///
/// A fault taints what its culprit was writing. From then on a request is *watched* while it uses
/// what is undefined, or what a watched one writes that reads the undefined. Watched requests end
/// in the order sent wherever they conflict (`must_wait`), as if they had run one at a time, so
/// that each can be judged by what is undefined at its end (`conclude`): an overwrite that succeeds
/// defines, one that does not changes nothing, and what reads the undefined fails and taints its
/// own outputs. All other requests pay for this with two comparisons.
///
/// `changes` and `announce` are for senders; everything else is for the holder of the reactor's
/// role, and for slots in flight.
class taint_watch {
 public:
  taint_watch(std::span<record> records, std::shared_ptr<memory_pool> device_memory,
              std::shared_ptr<memory_pool> host_memory) noexcept;

  /// Differs from what it was when there may be more to watch since.
  [[nodiscard]] std::uint32_t changes() const noexcept {
    return device_memory_->taints().changes() + host_memory_->taints().changes();
  }
  /// A request that uses a watched buffer is about to be published.
  void announce(std::uint16_t slot);

  /// Looks at a request and begins, or ceases, to watch it.
  /// \returns the culprit of what it reads, unless that is to be overwritten before
  [[nodiscard]] std::string screen(std::uint16_t slot);
  /// True while another watched request has to end before this one.
  [[nodiscard]] bool must_wait(std::uint16_t slot) const;
  /// A watched request ends. \returns why that is no success, where it would have been one
  [[nodiscard]] std::string conclude(std::uint16_t slot, bool success);
  /// What the request writes is undefined.
  void taint_outputs(std::uint16_t slot);
  /// The same of one that ends without success, so that what comes after it is to be screened.
  void disappoint(std::uint16_t slot);
  /// True once after a watched request has ended without success: those that rely on it are to be
  /// screened again.
  [[nodiscard]] bool take_disappointment() noexcept { return std::exchange(disappointed_, false); }

 private:
  struct finding {
    std::string culprit;     // of what it reads, undefined by then
    bool concerned = false;  // uses what is doubtful
    bool uncertain = false;  // reads what is doubtful
  };
  [[nodiscard]] finding look_at(const record& r, const taint_book::request& as) const;
  void watch(std::uint16_t slot, bool uncertain);
  void cease(std::uint16_t slot);
  void reconsider();
  void expect_writes(const record& r, const taint_book::request& writer, bool uncertain);
  [[nodiscard]] taint_book::request named(std::uint16_t slot, std::uint64_t ticket) const noexcept {
    return {.device = device_memory_.get(), .slot = slot, .ticket = ticket};
  }

  const std::span<record> records_;
  const std::shared_ptr<memory_pool> device_memory_;
  const std::shared_ptr<memory_pool> host_memory_;
  std::vector<std::uint16_t> watched_;
  bool disappointed_ = false;
};

}  // namespace troupe
