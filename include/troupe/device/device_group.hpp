#pragma once

#include <troupe/device/device.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// Which device is the best of those that can serve.
enum class pick_policy : std::uint8_t {
  most_free,        ///< the most free memory
  least_in_flight,  ///< the fewest requests that wait or run
  round_robin,      ///< each in turn
  local,            ///< the most bytes of the tensors `near`
};

/// Conditions for a device, and a preference among those that meet them.
struct pick_options {
  std::uint64_t min_free_bytes = 0;
  std::string architecture{};      ///< such as "sm_90"; empty: any
  std::vector<any_tensor> near{};  ///< operands; those elsewhere would have to be copied
  /// Empty: `local` if there are tensors in `near`, else `most_free`.
  std::optional<pick_policy> policy{};
};

/// The state of one device, as a choice among several sees it.
struct device_snapshot {
  std::int32_t ordinal = 0;
  device_state state{};
  std::string architecture{};
  /// For new tensors: the rest of the limit, and on a GPU at most the GPU's free memory.
  std::uint64_t free_bytes = 0;
  std::uint64_t in_flight = 0;   ///< requests that wait or run
  std::uint64_t near_bytes = 0;  ///< of the tensors asked for
};

/// Devices among which one is picked, for a request, an actor or a model. Copies share the turn of
/// `round_robin`. Thread-safe.
class TROUPE_EXPORT device_group {
 public:
  /// Throws `failure` (`errc::invalid_argument`) for no device, or a device twice.
  explicit device_group(std::vector<device> devices);

  [[nodiscard]] const std::vector<device>& devices() const noexcept { return devices_; }
  /// The state of each device now, in their order.
  [[nodiscard]] std::vector<device_snapshot> snapshots(
      const std::vector<any_tensor>& near = {}) const;

  /// The best device that has not stopped and has what is asked for; of equal ones that with the
  /// smallest number. One that recovers is taken only if no other can be. Answers at once.
  /// \errors `device_unavailable` with each device's reason
  [[nodiscard]] result<device> pick(const pick_options& options = {}) const;

 private:
  std::vector<device> devices_;
  std::shared_ptr<std::atomic<std::uint64_t>> turn_;  // relaxed: it publishes no other data
};

namespace detail {

/// How a device is preferred for the next message, the least first: 0 if it serves, 1 if it starts
/// or recovers, 2 if it has stopped; and its requests that wait or run.
struct device_work {
  int rank = 0;
  std::uint64_t in_flight = 0;
};
[[nodiscard]] TROUPE_EXPORT device_work work_of(const device& one);
[[nodiscard]] TROUPE_EXPORT bool has_stopped(const device& one) noexcept;

}  // namespace detail

}  // namespace troupe
