#pragma once

#include "classifier.hpp"
#include "dataset.hpp"
#include "failover.hpp"
#include "ledger.hpp"

#include <troupe/troupe.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace digits {

/// The clients' counts.
struct tally {
  std::int64_t answers = 0;
  std::int64_t correct = 0;       ///< as the person who wrote the digit meant it
  std::int64_t unlike_host = 0;   ///< not the answer that the host works out itself
  std::vector<float> latency_ms;  ///< of every answer
};

/// The digits service under load: client threads that each keep a few classifications in flight.
class service {
 public:
  /// Uploads the training sets and works out the expected answers. Throws `troupe::failure`.
  service(troupe::device& device, const dataset& all, ledger& requests, failover_clock& failovers);
  service(const service&) = delete;
  service& operator=(const service&) = delete;
  ~service() = default;

  /// Starts the clients.
  void start(int clients, int in_flight_each);
  /// Waits for the requests in flight, ends the clients, and adds up their tallies.
  [[nodiscard]] tally stop();

  /// Classifications answered so far, and the mean latency of those since the last call.
  struct pulse {
    std::int64_t answers = 0;
    double latency_ms = 0;
  };
  [[nodiscard]] pulse take_pulse() noexcept;

 private:
  void client(const std::stop_token& stop, int in_flight);
  void begin(classification& slot);
  void end(classification& slot, tally& seen);

  troupe::device& device_;
  const dataset& all_;
  ledger& requests_;
  failover_clock& failovers_;
  std::vector<training_set> training_;
  std::vector<std::size_t> part_;  // for each image: the training set that it is not in
  std::vector<int> expected_;      // for each image: the host's own answer
  std::size_t most_ = 0;

  // Counters for the live line; relaxed, because nothing else hangs on them.
  std::atomic<std::size_t> next_image_ = 0;
  std::atomic<std::int64_t> answers_ = 0;
  std::atomic<std::int64_t> latency_us_ = 0;
  std::int64_t pulse_answers_ = 0;
  std::int64_t pulse_latency_us_ = 0;

  std::mutex lock_;
  tally total_;  // guarded by lock_
  std::vector<std::jthread> clients_;
};

}  // namespace digits
