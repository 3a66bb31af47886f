#pragma once

#include <troupe/base/export.hpp>
#include <troupe/serving/prediction.hpp>
#include <troupe/serving/terms.hpp>
#include <troupe/telemetry/duration_histogram.hpp>

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::serving {

/// How often counts were observed, by size: bucket i has those of i binary digits.
using size_histogram = std::array<std::uint64_t, 48>;

/// The counts of a queue.
struct queue_facts {
  std::int64_t waiting_items = 0;  ///< accepted, in no batch
  std::int64_t held_items = 0;     ///< accepted, not ended: those in batches too
  std::int64_t held_bytes = 0;
  std::chrono::nanoseconds waiting_time{0};  ///< predicted device time of the items that wait
  std::int64_t running_batches = 0;
  std::array<std::uint64_t, closing_count> closed{};   ///< batches, by reason
  std::array<std::uint64_t, refusal_count> refused{};  ///< items, by reason
  std::uint64_t answered = 0, failed = 0, culprits = 0, expired = 0, cancelled = 0;
  std::uint64_t irreproducible = 0;  ///< batches that failed, and whose pieces all succeeded
  std::vector<std::pair<std::int64_t, std::uint64_t>> isolations{};  ///< by number of pieces
  std::vector<std::pair<std::uint64_t, double>> device_seconds{};    ///< by tenant
  size_histogram batch_items{}, batch_cost{};
  std::uint64_t batch_cost_sum = 0, batch_items_sum = 0;
  duration_histogram queue_time{}, request_time{};
  std::int64_t quarantined = 0;
  double prediction_error = 0;
};

/// A culprit's fingerprint, and until when it is refused.
struct quarantined_item {
  std::uint64_t fingerprint = 0;
  time_point until{};
  std::int32_t offences = 0;
};

/// Decides which items run together, in which order, and which do not run at all. It has no thread
/// and no clock: its caller says what time it is, runs the batches and answers the items. For use
/// by one thread at a time.
///
/// After each call of `admit`, `leave` and `finish`, and at `wake_at()`, call `next` until it
/// returns nothing, then `take_ended`.
class TROUPE_EXPORT batch_queue {
 public:
  /// Throws `failure` (`invalid_argument`) for a configuration that makes no sense.
  explicit batch_queue(batch_config config = {});
  batch_queue(batch_queue&&) noexcept;
  batch_queue& operator=(batch_queue&&) noexcept;
  ~batch_queue();

  /// How tenants share the device, from now on. Throws `failure` (`invalid_argument`).
  void tenants(const tenant_shares& shares);

  /// Accepts an item, or refuses it and changes nothing.
  admission admit(const item_terms& terms, time_point now);
  /// The verdict that `admit` would give.
  [[nodiscard]] admission check(const item_terms& terms, time_point now) const;
  /// The item's asker has gone. True if it waited: it never runs. One in a batch ends with it.
  bool leave(item_id item, time_point now);
  /// Refuses all items from now on.
  void close() noexcept;

  /// A batch that should begin now.
  [[nodiscard]] std::optional<batch_plan> next(time_point now);
  /// The batch has ended. `fingerprint` is the item's, if it was alone in a batch that failed;
  /// `failures` is how many of its items were answered with a failure.
  void finish(batch_id batch, time_point now, run_end how, std::uint64_t fingerprint = 0,
              std::int64_t failures = 0);
  /// Items that have ended since the last call without an answer by their batch.
  [[nodiscard]] std::vector<item_end> take_ended() noexcept;
  /// When `next` may have something to say if nothing else happens before; `max()`: never.
  [[nodiscard]] time_point wake_at() const noexcept;

  /// An item that a batch has answered is a culprit: call it before `finish`.
  void accuse(item_id item, std::uint64_t fingerprint, time_point now);
  [[nodiscard]] std::vector<quarantined_item> quarantine(time_point now) const;
  /// True if `admit` wants to know fingerprints.
  [[nodiscard]] bool wants_fingerprints() const noexcept;
  /// Takes the item out of quarantine. False if it was not there.
  bool forgive(std::uint64_t fingerprint) noexcept;

  /// A batch that ran elsewhere, such as a warm-up run. One without cost says nothing.
  void learn(std::int64_t cost, std::chrono::nanoseconds time) noexcept;
  [[nodiscard]] const prediction& predicted() const noexcept;
  [[nodiscard]] queue_facts facts() const;

 private:
  class implementation;
  std::unique_ptr<implementation> implementation_;
};

/// Into how many pieces a batch of n items is split to find a culprit in the least time: w of
/// {2, …, n} with the least R · failover + Σ w · t(n / wʳ), r = 1 … R = ⌈log_w n⌉. `batch` and
/// `item` are what a batch takes and what each item adds.
[[nodiscard]] TROUPE_EXPORT std::int64_t pieces_for(std::int64_t n,
                                                    std::chrono::nanoseconds failover,
                                                    double batch_seconds, double item_seconds);

}  // namespace troupe::serving
