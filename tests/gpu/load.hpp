#pragma once

#include "ledger.hpp"

#include <troupe/device/device.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

namespace troupe::gpu_test {

/// Elements of the largest cell. Updating it takes long enough that faults often strike meanwhile.
inline constexpr std::int64_t longest_cell = std::int64_t{512} << 10;

struct load_config {
  std::uint64_t seed = 1;
  int clients = 3;
  /// Requests of each client that are in flight.
  std::size_t window = 24;
  /// Requests that each client sends in a second; 0 sends as many as the window lets.
  double per_second = 0;
  /// A worker may break the protocol; whom that is blamed on is told so.
  bool hostile_workers = false;
};

/// The targets of a client's requests.
struct routes {
  library_actor compute;
  library_actor move;
};

/// One thread that sends requests of every kind for cells of its own, and checks every answer.
class client {
 public:
  /// `ones`: at least `longest_cell` of them, f64.
  client(device& gpu, const any_tensor& ones, const load_config& config, std::uint64_t seed);
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client();

  /// Sends until it is told to stop or a request is lost.
  void run(const routes& where, const std::stop_token& stop);
  /// Waits for all that is in flight, reads every cell, judges, and leaves every cell defined.
  [[nodiscard]] findings finish(const routes& where);

  [[nodiscard]] std::uint64_t ended() const noexcept {
    return ended_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t failed() const noexcept {
    return failed_.load(std::memory_order_relaxed);
  }
  /// True once a promise was broken; `finish` says which.
  [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_relaxed); }
  /// The longest that a request took to end since the last call.
  [[nodiscard]] std::chrono::nanoseconds take_longest() noexcept {
    return std::chrono::nanoseconds(longest_ns_.exchange(0, std::memory_order_relaxed));
  }

 private:
  struct pending {
    entry* of = nullptr;
    future<void> answer;
  };

  void step(const routes& where);
  void send(const routes& where, action what, std::size_t cell, std::size_t source, double operand);
  void await_oldest();
  void drain();
  void judge();
  [[nodiscard]] std::size_t below(std::size_t n) { return random_() % n; }

  device gpu_;
  load_config config_;
  std::mt19937_64 random_;
  std::vector<any_tensor> cells_;
  std::vector<any_tensor> ones_;  // as long as each cell
  std::vector<host_tensor<double>> read_back_;
  std::vector<int> heal_in_;  // requests until a cell that has failed is filled anew; 0: is well
  ledger ledger_;
  std::unique_ptr<entry[]> entries_;
  std::size_t used_ = 0;
  std::deque<pending> window_;
  findings findings_;
  bool lost_ = false;
  std::atomic<std::uint64_t> ended_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::int64_t> longest_ns_{0};
  std::atomic<bool> broken_{false};
};

/// Several clients at once, in one lane or in lanes of their own.
class mixed_load {
 public:
  /// Throws `failure` where the device cannot do the first requests.
  mixed_load(const device& gpu, const load_config& config);
  mixed_load(const mixed_load&) = delete;
  mixed_load& operator=(const mixed_load&) = delete;
  ~mixed_load();

  void start(bool one_lane);
  /// False when that many more requests have not ended within the timeout.
  [[nodiscard]] bool wait_for(std::uint64_t more, std::chrono::nanoseconds limit) const;
  /// Stops the clients and judges everything since `start`.
  [[nodiscard]] findings finish();

  /// The lane of `start(true)`; takes requests of every library.
  [[nodiscard]] const library_actor& one_lane() const noexcept { return one_lane_; }
  [[nodiscard]] std::uint64_t ended() const noexcept;
  [[nodiscard]] std::uint64_t failed() const noexcept;
  [[nodiscard]] bool broken() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds take_longest() noexcept;

 private:
  [[nodiscard]] routes route(std::size_t client) const;

  device gpu_;
  library_actor one_lane_;
  std::vector<routes> own_lanes_;
  std::vector<std::unique_ptr<client>> clients_;
  bool in_one_lane_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace troupe::gpu_test
