#pragma once

#include <troupe/core/future.hpp>
#include <troupe/core/system.hpp>
#include <troupe/telemetry/serve.hpp>
#include <troupe/telemetry/snapshot.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace troupe::telemetry {

/// The health of one device.
struct device_verdict {
  std::int32_t device = 0;
  std::uint64_t generation = 0;
  bool is_live = true;
  bool is_ready = true;
  std::string status = "ready";  ///< or "recovering", "degraded", "stopped", …
  std::string reason{};          ///< empty if there is nothing to say
};

struct health_verdict {
  std::vector<device_verdict> devices{};
  [[nodiscard]] bool is_live() const noexcept;
  [[nodiscard]] bool is_ready() const noexcept;
};

/// Judges devices by what they have done, and asks those that have done nothing. Thread-safe.
class health_monitor {
 public:
  health_monitor(troupe::system& system, const serve_options& options)
      : system_(&system), fresh_(options.fresh), grace_(options.grace) {}

  [[nodiscard]] health_verdict judge();
  /// How many requests it has sent.
  [[nodiscard]] std::uint64_t probes() const noexcept {
    return probes_.load(std::memory_order_relaxed);
  }

 private:
  using clock = std::chrono::steady_clock;
  // Markers in all lanes in use.
  struct probe {
    clock::time_point sent{};
    std::vector<future<void>> answers{};
    bool has_failed = false;
  };
  struct progress {
    std::uint64_t generation = 0;
    std::uint64_t answered = 0;
    clock::time_point last_good{};  // when a request was seen to have ended well
    clock::time_point turned{};     // the device's thread, as last seen
    clock::time_point asked_to_turn{};
    clock::time_point looked{};
    std::optional<clock::time_point> lost{};  // when its last worker was; while it has none
    std::optional<probe> asked{};
    bool is_hung = false;  // since a probe was not answered
  };

  [[nodiscard]] device_verdict judge_one(const device_telemetry& d, const telemetry_snapshot& s);
  void judge_ready(device_verdict& v, const device_telemetry& d, progress& p,
                   clock::time_point now);
  [[nodiscard]] std::chrono::nanoseconds since_loss(const device_telemetry& d, progress& p,
                                                    const telemetry_snapshot& s) const;
  [[nodiscard]] probe ask(const device_telemetry& d, clock::time_point now);

  troupe::system* system_;
  std::chrono::nanoseconds fresh_;
  std::chrono::nanoseconds grace_;
  std::atomic<std::uint64_t> probes_{0};
  std::mutex mutex_;  // guards the following
  std::map<std::int32_t, progress> devices_;
};

/// As the body of a response.
[[nodiscard]] std::string to_json(const health_verdict& v);

}  // namespace troupe::telemetry
