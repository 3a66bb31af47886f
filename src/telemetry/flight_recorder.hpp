#pragma once

#include <troupe/device/events.hpp>
#include <troupe/device/request_tracer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace troupe {

/// A request that has ended, as the flight recorder and traces have it.
struct flight_record {
  std::string_view name{};  ///< its type's, which stays valid
  std::uint64_t id = 0;
  std::uint64_t tag = 0;
  std::uint64_t generation = 0;
  std::int32_t lane = 0;
  errc outcome{};                                ///< none for a success
  std::uint16_t unused = 0;                      ///< no padding: it is copied by words
  std::chrono::steady_clock::time_point sent{};  ///< 0: its times were not taken
  std::chrono::steady_clock::time_point ended{};
  request_times times{};
};

/// The last requests of a device that ended: those whose times were taken, and all that failed. At
/// a loss it keeps the last two seconds.
///
/// One thread at a time writes, the holder of the reactor's role, and any thread reads meanwhile.
/// Each place has a number, which is odd while the place is written. A reader copies the words
/// between two looks at the number, and drops a copy between which it has changed. All words are
/// atomic, so a torn copy is no race.
class flight_recorder {
 public:
  explicit flight_recorder(std::size_t capacity);

  void note(const flight_record& r) noexcept;
  /// Those that ended since, the oldest first.
  [[nodiscard]] std::vector<flight_record> since(std::chrono::steady_clock::time_point then) const;

  struct black_box {
    device_event loss;
    std::vector<flight_record> requests;
  };
  /// Keeps the requests before a loss; of the last four losses.
  void keep(const device_event& loss);
  [[nodiscard]] std::optional<black_box> of_loss(std::uint64_t event) const;

  static constexpr std::chrono::seconds kept_time{2};
  static constexpr std::size_t kept_losses = 4;

 private:
  static constexpr std::size_t words = sizeof(flight_record) / sizeof(std::uint64_t);
  static_assert(std::is_trivially_copyable_v<flight_record> &&
                sizeof(flight_record) % sizeof(std::uint64_t) == 0);
  struct place {
    std::atomic<std::uint64_t> number{0};
    std::array<std::atomic<std::uint64_t>, words> content{};
  };

  std::vector<place> places_;
  std::atomic<std::uint64_t> next_{0};  // release: the places before it are written
  mutable std::mutex mutex_;            // guards the next one
  std::deque<black_box> kept_;
};

}  // namespace troupe
