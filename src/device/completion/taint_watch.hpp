#pragma once

#include "device/mailbox/record.hpp"
#include "memory/memory_pool.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// The tickets before which requests take outputs for undefined. A request that has written nothing
/// leaves what it was to update as it was: only requests that were sent before its answer, and so
/// count on the update, must not read it.
struct taint_limits {
  std::uint64_t overwritten = taint_book::for_all;
  std::uint64_t updated = taint_book::for_all;
};

/// Keeps requests from succeeding on content that a fault has left undefined.
///
/// A fault taints the outputs of its culprit, and so does a failure. From then on a request is
/// *watched* while it uses undefined content, or the outputs of a watched request that reads
/// undefined content. Watched requests that conflict end in the order sent (`must_wait`), as if
/// they had run one at a time. So each is judged by the content that is undefined at its end
/// (`conclude`): a successful overwrite defines, an unsuccessful one changes nothing, and a request
/// that reads undefined content fails and taints its own outputs. All other requests pay two
/// comparisons.
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
  /// \returns its failure if it reads undefined content that is not overwritten first
  [[nodiscard]] std::optional<error> screen(std::uint16_t slot);
  /// True while another watched request must end before this one.
  [[nodiscard]] bool must_wait(std::uint16_t slot) const;
  /// Ends a watched request. \returns a failure if it has read undefined content: its outputs must
  /// then be tainted, and a success become that failure
  [[nodiscard]] std::optional<error> conclude(std::uint16_t slot, bool success);
  /// Marks the outputs of a request as undefined, because of its failure. \returns how many
  int taint_outputs(std::uint16_t slot, const error& why, const taint_limits& until = {});
  /// The same for a request that ends, so that later ones must be screened.
  void invalidate(std::uint16_t slot, const error& why, const taint_limits& until = {});
  /// True once after a watched request has ended without success: requests that rely on it must be
  /// screened again.
  [[nodiscard]] bool take_invalidation() noexcept { return std::exchange(invalidated_, false); }

 private:
  struct finding {
    taint_cause culprit;     // the culprit of content that it reads, undefined by then
    bool concerned = false;  // it uses doubtful content
    bool uncertain = false;  // it reads doubtful content
  };
  [[nodiscard]] finding look_at(const record& r, const taint_book::request& as) const;
  void expire(const record& of);
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
