#pragma once

#include "device/endpoint.hpp"

#include <troupe/device/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace troupe {

/// Decides which lanes the libraries of a device use.
///
/// A table by the id of the request type spares senders the mutex. Entries are added under the
/// mutex (release) and stay as long as the device; a reader (acquire) that meets an empty place has
/// to ask under the mutex.
class device_lanes {
 public:
  using library_lanes = device_endpoint::library_lanes;

  explicit device_lanes(const lane_policy& policy) noexcept : policy_(policy) {}

  [[nodiscard]] library_lanes of(std::string_view library);
  [[nodiscard]] library_lanes make(std::string_view library, int n);
  /// As many as the policy gives to each library.
  [[nodiscard]] library_lanes make(std::string_view library) { return make(library, wanted()); }

  /// The next lane for a request of this type; nothing if the type is not in the table.
  [[nodiscard]] std::optional<std::uint8_t> known(const request_type& type) noexcept {
    for (std::size_t place = type.id; const of_type* found = at(place); ++place) {
      if (found->id == type.id) return found->lanes->pick();
    }
    return std::nullopt;
  }
  /// The same; adds the type to the table while there is space.
  [[nodiscard]] std::uint8_t remember(const request_type& type);

  [[nodiscard]] std::optional<std::uint8_t> take_for_mapping() noexcept;
  void leave_mapping(std::uint8_t lane) noexcept;

 private:
  struct of_type {
    std::uint64_t id = 0;
    std::shared_ptr<detail::lane_group> lanes;
  };
  static constexpr std::size_t places = 512;  // in the table; at most half of them are used

  [[nodiscard]] const of_type* at(std::size_t place) const noexcept {
    return types_[place % places].load(std::memory_order_acquire);
  }
  [[nodiscard]] int wanted() const noexcept {
    return policy_.what == lane_policy::kind::pool ? policy_.lanes : 1;
  }
  [[nodiscard]] library_lanes find(std::string_view library);
  [[nodiscard]] std::shared_ptr<detail::lane_group> next_lanes(int n);

  const lane_policy policy_;
  std::mutex mutex_;                                 // guards the next three
  std::shared_ptr<detail::lane_group> common_lane_;  // used if all libraries share one lane
  // The first libraries that were asked for; more of them than there are lanes.
  std::unordered_map<std::string, library_lanes> libraries_;
  std::deque<of_type> known_types_;  // owns what the table points to
  std::array<std::atomic<const of_type*>, places> types_{};
  std::atomic<std::uint32_t> next_lane_{0};  // relaxed: only spreads
  std::atomic<std::uint32_t> mapping_{0};    // a bit each; relaxed: nothing goes with a lane
};

}  // namespace troupe
