#pragma once

#include "device/completion/tag_times.hpp"
#include "telemetry/flight_recorder.hpp"

#include <troupe/request/request.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Counts a device's requests by operation and outcome.
///
/// Requests that were sent are counted by the holder of the reactor's role, so one thread at a time
/// writes, and it need not add atomically. Any thread reads: an entry is published with release and
/// never changes its operation; each count is stored with release, so a reader that then reads the
/// next ticket finds that at least as many were sent. Refused requests are rare, and are counted
/// with a mutex.
class outcome_counts {
 public:
  outcome_counts();

  void note_done(const request_type& type) noexcept {
    std::atomic<std::uint64_t>& n = of(type).done;
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void note_failed(const request_type& type, errc code) noexcept;
  /// The times of a request that has ended well, and how long it took from sending to the answer.
  void note_times(const request_type& type, std::chrono::nanoseconds duration,
                  const request_times& times) noexcept;
  /// Records requests that end, too; null for none. Set before any is sent.
  void record_to(std::shared_ptr<flight_recorder> recorder) { recorder_ = std::move(recorder); }
  [[nodiscard]] flight_recorder* recorder() const noexcept { return recorder_.get(); }
  [[nodiscard]] tag_times& tags() noexcept { return tags_; }
  /// Any thread.
  void note_refused(const request_type& type, errc code) noexcept;
  /// How many were refused. Any thread.
  [[nodiscard]] std::uint64_t refused() const;

  struct reading {
    std::vector<operation_telemetry> operations{};  ///< by name
    std::uint64_t done = 0;
    std::uint64_t failed = 0;  ///< refused ones included
    std::uint64_t refused = 0;
    std::vector<tag_time> tags{};
  };
  /// Any thread.
  [[nodiscard]] reading read() const;

 private:
  static constexpr std::size_t most_operations = 256;
  static constexpr std::size_t places = 2 * most_operations;
  static constexpr std::size_t codes = static_cast<std::size_t>(errc::system_error) + 1;
  struct timed {
    std::array<std::atomic<std::uint64_t>, duration_histogram::buckets> durations{};
    std::array<std::atomic<std::int64_t>, 6> sums{};  // the durations' and the parts'
  };
  struct entry {
    ~entry() { delete times.load(std::memory_order_relaxed); }

    std::uint64_t type = 0;  // its id
    std::string_view name;
    std::atomic<std::uint64_t> done{0};
    std::array<std::atomic<std::uint64_t>, codes> failed{};
    std::atomic<timed*> times{nullptr};  // made for the first one; its own
  };
  struct refusal {
    std::string_view name;
    errc code{};
    std::uint64_t count = 0;
  };

  [[nodiscard]] static timed_requests read(const timed& from);
  [[nodiscard]] entry& of(const request_type& type) noexcept {
    entry* const found = table_[type.id % places].load(std::memory_order_relaxed);
    if (found != nullptr && found->type == type.id) [[likely]]
      return *found;
    return of_another_place(type);
  }
  [[nodiscard]] entry& of_another_place(const request_type& type) noexcept;

  std::array<std::atomic<entry*>, places> table_{};  // by id; the next places if one is taken
  std::vector<std::unique_ptr<entry>> entries_;      // never reallocated: the role appends
  tag_times tags_;
  std::shared_ptr<flight_recorder> recorder_;
  entry other_;               // beyond `most_operations`
  mutable std::mutex mutex_;  // guards the rest
  std::vector<refusal> refusals_;
  std::uint64_t refused_ = 0;
};

}  // namespace troupe
