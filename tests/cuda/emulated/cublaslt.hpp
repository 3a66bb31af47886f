#pragma once

#include <cstddef>
#include <cstdint>

/// The history of the emulation of cuBLASLt.
namespace troupe::emulated_cublaslt {

/// Kernels are numbered in the order in which they are proposed. The first one turns out not to
/// run, the last one is the fastest, and only they differ in what they cost.
inline constexpr std::uint64_t kernels = 5;
inline constexpr std::uint64_t first_that_runs = 1;
inline constexpr std::uint64_t fastest = kernels - 1;

struct history {
  std::uint64_t last_kernel = 0;
  std::uint64_t products = 0;
  std::uint64_t proposals = 0;  ///< calls of the heuristic
  int heuristic_answers = 0;    ///< a status for its answer, if not success
  bool first_runs = false;      ///< to be set: the first proposal runs, too
  /// To be set: one that is the slowest where the caches hold nothing.
  std::uint64_t slow_when_cold = kernels;
};
[[nodiscard]] history& seen() noexcept;

}  // namespace troupe::emulated_cublaslt
