#pragma once

#include "device/mailbox/record.hpp"
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
/// A fault taints the outputs of its culprit. From then on a request is *watched* while it uses
/// undefined content, or the outputs of a watched request that reads undefined content. Watched
/// requests that conflict end in the order sent (`must_wait`), as if they had run one at a time. So
/// each is judged by the content that is undefined at its end (`conclude`): a successful overwrite
/// defines, an unsuccessful one changes nothing, and a request that reads undefined content fails
/// and taints its own outputs. All other requests pay two comparisons.
///
/// Senders may call `changes` and `announce`. All else requires the reactor's role and a slot in
/// flight.
class taint_watch {
 public:
  taint_watch(std::span<record> records, std::shared_ptr<memory_pool> device_memory,
              std::shared_ptr<memory_pool> host_memory) noexcept;

  /// Changes whenever there may be more to watch.
  [[nodiscard]] std::uint32_t changes() const noexcept {
    return device_memory_->taints().changes() + host_memory_->taints().changes();
  }
  /// Call before publishing a request that uses a watched buffer.
  void announce(std::uint16_t slot);

  /// Checks a request and starts or stops watching it.
  /// \returns the culprit of undefined content that it reads, unless that is overwritten first
  [[nodiscard]] std::string screen(std::uint16_t slot);
  /// True while another watched request must end before this one.
  [[nodiscard]] bool must_wait(std::uint16_t slot) const;
  /// Ends a watched request. \returns the reason if a success must become a failure
  [[nodiscard]] std::string conclude(std::uint16_t slot, bool success);
  /// Marks the outputs of the request as undefined.
  void taint_outputs(std::uint16_t slot);
  /// The same for a request that ends without success, so that later ones must be screened.
  void invalidate(std::uint16_t slot);
  /// True once after a watched request has ended without success: requests that rely on it must be
  /// screened again.
  [[nodiscard]] bool take_invalidation() noexcept { return std::exchange(invalidated_, false); }

 private:
  struct finding {
    std::string culprit;     // the culprit of content that it reads, undefined by then
    bool concerned = false;  // it uses doubtful content
    bool uncertain = false;  // it reads doubtful content
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
  bool invalidated_ = false;
};

}  // namespace troupe
