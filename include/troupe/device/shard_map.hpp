#pragma once

#include <troupe/device/device_group.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe {

/// Says which device has which key, by rendezvous hashing: each device draws a number for the key,
/// and the greatest wins. So the keys of a device that goes are spread over the others, and no
/// other key moves. A device draws by its GPU's UUID, so each process and each run has the same
/// map; without a UUID, and where devices share a GPU, also by its number. Immutable.
///
/// Source: Thaler, Ravishankar, "Using name-based mappings to increase hit rates", 1998.
class TROUPE_EXPORT shard_map {
 public:
  /// A device gets keys in proportion to its weight; without weights, all alike. Throws `failure`
  /// (`errc::invalid_argument`) unless there is a weight above 0 for each device.
  explicit shard_map(const device_group& devices, const std::vector<double>& weights = {});

  /// The device of a key: the first of its ranking that has not stopped.
  /// \errors `device_stopped` if all have
  [[nodiscard]] result<device> device_of(std::string_view key) const;
  /// All devices, stopped ones too; the one that has the key first, then those that would have it.
  [[nodiscard]] std::vector<device> ranking(std::string_view key) const;

  [[nodiscard]] const std::vector<device>& devices() const noexcept { return devices_; }

 private:
  struct drawing {
    std::uint64_t seed = 0;
    double weight = 1;
  };

  std::vector<device> devices_;
  std::vector<drawing> drawings_;
};

}  // namespace troupe
