#pragma once

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

namespace troupe::cuda {

/// Finds the faster of two ways to do the same, while requests are served: they take turns until
/// each has been timed a few times by events of the lane's stream, and the one with the shortest
/// time is kept. Nothing runs twice, and no thread waits for an event.
class turn_timer {
 public:
  enum class way : std::uint8_t { first, second };

  [[nodiscard]] std::optional<way> decided() const noexcept { return decided_; }

  /// Enqueues the work in one of the ways, as `run(way)` does.
  [[nodiscard]] result<void> run(cudaStream_t stream, const std::function<result<void>(way)>& run) {
    if (!decided_ && turn_ == turns) decide();
    if (decided_) return run(*decided_);
    if (turn_ == turns) return run(way::first);  // the last times are not there yet
    const way now = turn_ % 2 == 0 ? way::first : way::second;
    // The first run of each is not timed: it loads kernels and finds cold caches.
    const int timed = turn_ / 2 - 1;
    ++turn_;
    if (timed < 0) return run(now);
    sample& one = samples_[static_cast<std::size_t>(now)][static_cast<std::size_t>(timed)];
    one.begin = event();
    one.end = event();
    if (one.begin) (void)cudaEventRecord(one.begin.get(), stream);
    auto outcome = run(now);
    if (one.end) (void)cudaEventRecord(one.end.get(), stream);
    (void)cudaGetLastError();  // a failing event must not fail the request
    return outcome;
  }

 private:
  static constexpr int times = 4;
  static constexpr int turns = 2 * (times + 1);

  struct destroy {
    void operator()(cudaEvent_t one) const noexcept { (void)cudaEventDestroy(one); }
  };
  using owned_event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy>;
  struct sample {
    owned_event begin;
    owned_event end;
  };

  static owned_event event() {
    cudaEvent_t made = nullptr;
    if (cudaEventCreate(&made) != cudaSuccess) made = nullptr;
    return owned_event(made);
  }

  /// Call once all events have happened. Without times, the first way is chosen.
  void decide() {
    std::array<float, 2> least{};
    for (std::size_t k = 0; k < least.size(); ++k) {
      least[k] = std::numeric_limits<float>::infinity();
      for (const sample& one : samples_[k]) {
        if (!one.begin || !one.end) continue;
        float milliseconds = 0;
        const cudaError_t got = cudaEventElapsedTime(&milliseconds, one.begin.get(), one.end.get());
        (void)cudaGetLastError();
        if (got == cudaErrorNotReady) return;
        if (got == cudaSuccess && milliseconds < least[k]) least[k] = milliseconds;
      }
    }
    decided_ = least[1] < least[0] ? way::second : way::first;
    samples_ = {};
  }

  int turn_ = 0;
  std::array<std::array<sample, times>, 2> samples_;
  std::optional<way> decided_;
};

}  // namespace troupe::cuda
