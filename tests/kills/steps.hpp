#pragma once

#include "os/shared_memory.hpp"

#include <troupe/plugin/executor.hpp>
#include <troupe/request/request.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

/// The requests of programs to workers that are about to be killed, and the records of their runs.
namespace troupe::kills {

/// Writes a cell, so it may be run again. Answers what it has written.
struct put {
  using reply = std::int64_t;
  static constexpr std::string_view name = "kills.put";

  any_tensor cell{};
  std::int64_t number = 0;
  std::int64_t pauses = 0;  ///< pauses of the processor, between beginning and end

  static void describe(description<put>& d) {
    d.about("Writes a cell, and answers what it has written.");
    d.writes("cell", &put::cell, {}, "number in memory");
    d.value("number", &put::number, "number that is written");
    d.value("pauses", &put::pauses, "pauses of the processor, between beginning and end");
  }
};

/// Adds to a cell, so it must not be run again once it may have begun. Answers the sum.
struct add {
  using reply = std::int64_t;
  static constexpr std::string_view name = "kills.add";

  any_tensor cell{};
  std::int64_t number = 0;
  std::int64_t pauses = 0;

  static void describe(description<add>& d) {
    d.about("Adds to a cell, and answers the sum.");
    d.updates("cell", &add::cell, {}, "number in memory");
    d.value("number", &add::number, "number that is added");
    d.value("pauses", &add::pauses, "pauses of the processor, between beginning and end");
  }
};

/// The fate of one request, recorded by its worker and its receiver. Relaxed: the judge has been
/// answered, or has reaped the writer; and a kill comes between two instructions.
struct fate {
  std::atomic<std::uint32_t> begun{0};
  std::atomic<std::uint32_t> ended{0};
  std::atomic<std::uint32_t> succeeded{0};  ///< answers
  std::atomic<std::uint32_t> failed{0};     ///< the same

  [[nodiscard]] std::uint32_t answers() const noexcept {
    return succeeded.load(std::memory_order_relaxed) + failed.load(std::memory_order_relaxed);
  }
  void forget() noexcept {
    for (auto* count : {&begun, &ended, &succeeded, &failed})
      count->store(0, std::memory_order_relaxed);
  }
};

/// The fates of requests, in memory that all share who are forked afterwards, and that outlives
/// them.
class journal {
 public:
  static constexpr std::uint64_t size = 1 << 13;

  journal();
  [[nodiscard]] fate& of(std::int64_t number) noexcept {
    return pages().fates[static_cast<std::uint64_t>(number) % size];
  }
  /// How often the request with that ticket has begun.
  [[nodiscard]] std::atomic<std::uint32_t>& runs(std::uint64_t ticket) noexcept {
    return pages().runs[ticket % size];
  }
  void forget_all() noexcept;
  /// Not 0: the process that takes it (`exchange`) must die after so many instructions, and record
  /// when.
  [[nodiscard]] std::atomic<std::uint32_t>& steps_to_death() noexcept {
    return pages().steps_to_death;
  }
  /// The same, of a program's sender.
  [[nodiscard]] std::atomic<std::uint32_t>& steps_of_sender() noexcept {
    return pages().steps_of_sender;
  }
  [[nodiscard]] std::atomic<std::int64_t>& died_ns() noexcept { return pages().died_ns; }

 private:
  struct content {
    fate fates[size];
    std::atomic<std::uint32_t> runs[size];
    std::atomic<std::uint32_t> steps_to_death{0};
    std::atomic<std::uint32_t> steps_of_sender{0};
    std::atomic<std::int64_t> died_ns{0};
  };
  [[nodiscard]] content& pages() noexcept { return *reinterpret_cast<content*>(pages_.address()); }

  os::mapping pages_;
};

/// The executors of workers, which write their fates there. One journal of a process at a time.
[[nodiscard]] operation_table operations_noting(journal& fates);

}  // namespace troupe::kills
