#pragma once

#include <troupe/plugin/executor.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// The operation that tests of the worker's pieces run, and what it writes down of itself.
namespace troupe::testing_worker {

/// Notes when it begins and ends; in between it waits for as long as `hold` says.
struct step {
  using reply = std::int64_t;
  static constexpr std::string_view name = "test.step";

  any_tensor reads{};
  any_tensor writes{};
  any_tensor updates{};
  std::int64_t number = 0;
  bool hold = false;  ///< until the test lets it go on
  std::vector<std::int64_t> ballast{};

  static void describe(description<step>& d) {
    d.about("Notes when it begins and ends.");
    d.reads("reads", &step::reads, {}, "tensor that is read").optional();
    d.writes("writes", &step::writes, {}, "tensor that is written").optional();
    d.updates("updates", &step::updates, {}, "tensor that is updated").optional();
    d.value("number", &step::number, "number of the step").at_least(0);
    d.value("hold", &step::hold, "it lasts until the test lets it go on");
    d.value("ballast", &step::ballast, "what makes the request long");
  }
};

/// The records of the running test's steps; one test at a time.
struct journal {
  static constexpr std::size_t most = 64;

  std::atomic<bool> begun[most]{};
  std::atomic<bool> may_end[most]{};
  std::atomic<std::uint64_t> sequence[most]{};  ///< as the executor saw it
  std::mutex mutex;
  std::vector<std::string> events;

  void note(const std::string& event) {
    const std::lock_guard lock(mutex);
    events.push_back(event);
  }
  [[nodiscard]] std::size_t place_of(const std::string& event) {
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i] == event) return i;
    }
    return events.size();
  }
  [[nodiscard]] bool has(const std::string& event) {
    const std::size_t place = place_of(event);
    const std::lock_guard lock(mutex);
    return place < events.size();
  }
};

inline journal* current = nullptr;

inline void until(const std::atomic<bool>& flag) {
  while (!flag.load(std::memory_order_acquire))
    std::this_thread::yield();
}

// Steps that do something else than step.
inline constexpr std::int64_t asks_for_too_much = journal::most;
inline constexpr std::int64_t asks_for_little = journal::most + 1;

inline result<std::int64_t> run_step(const step& r, lane_context& where) {
  const auto n = static_cast<std::size_t>(r.number);
  if (n == 60) throw std::runtime_error("thrown by step 60");
  if (r.number == asks_for_too_much || r.number == asks_for_little) {
    auto room = where.workspace(r.number == asks_for_too_much ? std::size_t{1} << 62 : 100);
    if (!room) return std::move(room).error();
    std::ranges::fill(*room, std::byte{1});
    return static_cast<std::int64_t>(room->size());
  }
  if (n == 61) return error{.code = errc::numerical, .message = "step 61 did not converge"};
  current->sequence[n].store(where.sequence());
  current->note("begin " + std::to_string(n));
  current->begun[n].store(true, std::memory_order_release);
  if (r.hold) until(current->may_end[n]);
  current->note("end " + std::to_string(n));
  return r.number * 10;
}

}  // namespace troupe::testing_worker
