#pragma once

#include "ledger.hpp"

#include <troupe/troupe.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace digits {

/// Times one failover after another: from the fault to the next generation of the device, and to
/// the first answer after that.
class failover_clock {
 public:
  using time = std::chrono::steady_clock::time_point;

  struct reading {
    std::uint64_t generation = 0;
    std::optional<std::chrono::duration<double, std::milli>> to_generation;
    std::optional<std::chrono::duration<double, std::milli>> to_answer;
  };

  /// The fault that happens now, or will at `fault` (a run limit).
  void start(time fault);
  /// A generation of the device is ready.
  void ready(std::uint64_t generation, time now);
  /// A client has an answer.
  void answered(time now);
  /// Waits for both, as long as `timeout`.
  [[nodiscard]] reading wait();

 private:
  std::atomic<bool> waiting_for_answer_ = false;  // spares clients the lock
  std::mutex lock_;
  std::condition_variable changed_;
  time fault_{};  // guarded by lock_, as is all below
  bool armed_ = false;
  reading reading_;
};

/// A fault that the demo caused, and what became of it.
struct injected_fault {
  std::string name;
  bool fails_a_request = false;          ///< the request that carries the fault must fail
  std::optional<troupe::error> error{};  ///< of that request
  failover_clock::reading failover{};
};

/// Kills the worker from outside; no request is to blame, so none may fail.
[[nodiscard]] injected_fault kill_worker(troupe::device& device, failover_clock& clock);

/// True when a GPU serves the device, whose kernels have faults of their own.
[[nodiscard]] bool on_gpu(const troupe::device& device);

/// Sends a request that ends the worker: on a GPU by a kernel that writes to an address where
/// nothing is, on the CPU by a crash of the process.
[[nodiscard]] injected_fault crash_worker(troupe::device& device, ledger& requests,
                                          failover_clock& clock);

/// Sends a request that never ends by itself; its run limit ends it.
[[nodiscard]] injected_fault hang_worker(troupe::device& device, ledger& requests,
                                         failover_clock& clock);

}  // namespace digits
