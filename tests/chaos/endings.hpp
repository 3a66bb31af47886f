#pragma once

#include "program.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// Programs that end, well or badly, with a device at work: nothing of them is left.
namespace troupe::chaos {

/// How one ends.
struct program_ending {
  std::string_view name;
  int signal = 0;            ///< kills the program; 0: it stops its device and ends by itself
  int worker_signal = 0;     ///< to its worker, a moment before
  bool standby_too = false;  ///< the same signal to its standby
};
[[nodiscard]] std::span<const program_ending> program_endings();

/// The outcome of one program.
struct ending_report {
  std::uint64_t requests = 0;
  std::string miss{};  ///< the first promise that was broken; empty when none was
};

/// Starts such a program and sees to its end: by its deadline, every request of a device that was
/// stopped has ended exactly once, and 2 s after the program no process of it is left.
[[nodiscard]] ending_report end_a_program(const program_ending& how, std::uint64_t seed);

/// Is that program. \returns its exit status
[[nodiscard]] int be_ending_program(const gpu_test::arguments& words);

}  // namespace troupe::chaos
