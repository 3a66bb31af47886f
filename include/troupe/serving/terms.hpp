#pragma once

#include <troupe/base/export.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

/// Queues in front of a model: items become batches.
namespace troupe::serving {

using time_point = std::chrono::steady_clock::time_point;
using item_id = std::uint64_t;
using batch_id = std::uint64_t;

/// An item, as a queue knows it.
struct item_terms {
  std::int64_t cost = 1;      ///< tokens, pixels: the unit of `batch_config::most_cost`; at least 1
  std::int64_t bytes = 0;     ///< of memory that it holds until it is answered
  std::uint8_t priority = 1;  ///< 0 is served first
  std::uint64_t tenant = 0;   ///< on whose account it runs
  std::uint64_t sequence = 0;               ///< of that tenant: in order, one in flight; 0: none
  std::uint64_t fingerprint = 0;            ///< of its content, for the quarantine; 0: unknown
  time_point deadline = time_point::max();  ///< when its answer is of no use any more
};

/// Limits of the items that are accepted and not yet answered.
struct queue_limits {
  std::int64_t items = 4096;
  std::int64_t bytes = 256 << 20;
  std::chrono::nanoseconds device_time = std::chrono::seconds(2);  ///< until the predicted answer
};

/// How a queue makes batches.
struct batch_config {
  std::int64_t most_items = 32;
  std::int64_t most_cost = 0;  ///< 0: no limit
  /// How long the oldest item waits for others. 0: a batch begins as soon as there is room for it.
  std::chrono::nanoseconds delay{0};
  /// Ascending sizes that end the delay, if waiting for the next one costs more than it gains.
  std::vector<std::int64_t> preferred{};
  /// Ascending costs to which items are padded; a batch holds equal ones. Empty: packed.
  std::vector<std::int64_t> padded{};
  std::int32_t in_flight = 2;  ///< batches that have begun and have not ended, at most
  std::int32_t lanes = 1;      ///< how many of them a device really runs at once
  std::chrono::nanoseconds starve = std::chrono::seconds(1);  ///< a level is served this often
  queue_limits queue{};
  std::chrono::nanoseconds run_limit{0};  ///< the most of a batch; 0: as predicted
  /// How long a device needs after a fault, until one has been measured.
  std::chrono::nanoseconds failover = std::chrono::milliseconds(50);
  std::int32_t levels = 3;  ///< how often a poisoned batch is split before its items run singly
  /// How long a culprit is refused; twice as long each time.
  std::chrono::nanoseconds quarantine = std::chrono::minutes(1);
  /// How long a culprit's tenant gets batches of its own.
  std::chrono::nanoseconds probation = std::chrono::minutes(1);
};

/// How device time is shared between tenants.
struct tenant_shares {
  struct share {
    std::uint64_t tenant = 0;
    double weight = 1;
  };
  std::vector<share> weights{};
  double others = 1;             ///< weight of tenants that are not listed
  double most_device_share = 0;  ///< device seconds a second of one tenant; 0: no limit
};

/// Why an item was refused at the door.
enum class refusal : std::uint8_t {
  none,
  cost,         ///< it is too large for any batch
  items,        ///< `queue_limits::items`, or the tenant's share of them
  bytes,        ///< `queue_limits::bytes`, or the tenant's share of them
  device_time,  ///< its answer is predicted later than `queue_limits::device_time`
  deadline,     ///< its answer is predicted later than its deadline
  tenant,       ///< its tenant has used its `most_device_share`
  quarantine,   ///< an equal item was a culprit
  closed,       ///< the queue accepts nothing any more
};
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(refusal why) noexcept;

struct admission {
  refusal reason = refusal::none;
  item_id item = 0;
  time_point predicted_finish{};            ///< if it was accepted
  std::chrono::nanoseconds retry_after{0};  ///< if it was refused; 0: never
  explicit operator bool() const noexcept { return reason == refusal::none; }
};

/// Why a batch began with the items that it has.
enum class closing : std::uint8_t {
  items,      ///< it is full
  cost,       ///< the next item would exceed `most_cost`
  delay,      ///< its oldest item has waited long enough
  free_lane,  ///< without a delay: there was room for a batch
  preferred,  ///< it has a preferred size
  deadline,   ///< of one of its items, or of one that was too late for it
  isolation,  ///< it has run before, or is a piece of a batch that failed
};
inline constexpr std::size_t closing_count = 7;
inline constexpr std::size_t refusal_count = 9;
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(closing why) noexcept;

/// Items that run together.
struct batch_plan {
  batch_id id = 0;
  closing closed_by{};
  std::vector<item_id> items{};
  std::int64_t cost = 0;
  std::chrono::nanoseconds predicted{0};    ///< how long the device needs; 0: not known yet
  std::chrono::nanoseconds run_limit{0};    ///< after which it hangs; 0: not known yet
  time_point deadline = time_point::max();  ///< the latest of its items' deadlines
};

/// How a batch ended.
enum class run_end : std::uint8_t {
  answered,   ///< each item has its own answer or failure
  failed,     ///< for a reason that is none of its items', such as a device that has stopped
  aborted,    ///< lost with another batch: it runs again; after the third time, in pieces
  exception,  ///< one of its items may be the reason
  fault,      ///< one of its items may have ended the worker, or hangs
};

/// How an item ended that its batch did not answer.
enum class item_ending : std::uint8_t {
  expired,  ///< its deadline passed, or would have before its answer
  culprit,  ///< it failed alone: its error is that of the batch that has just ended
  failed,   ///< it was lost with other batches too often
};
struct item_end {
  item_id item = 0;
  item_ending how{};
};

}  // namespace troupe::serving
