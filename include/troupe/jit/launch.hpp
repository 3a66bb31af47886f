#pragma once

#include <troupe/jit/kernel.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

namespace troupe::jit {

/// Extents of a grid, of a block or of a cluster. The smallest is 1 × 1 × 1.
struct dims {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;

  [[nodiscard]] bool positive() const noexcept { return x > 0 && y > 0 && z > 0; }
  friend bool operator==(const dims&, const dims&) = default;

  TROUPE_EXPORT static void describe(description<dims>& d);
};

/// Launches a kernel of the user's own. What it reads and writes is what its arguments say: order,
/// keep-alive, taint and retries follow from that, so it must be true.
///
/// A GPU alone can; the CPU backend answers `unsupported`.
/// \errors before anything is queued: `invalid_argument` for a grid, block or cluster that cannot
/// be, or a wrong count of arguments; `type_mismatch` for an argument of another type than its
/// parameter, as far as the kernel's name tells it. From the worker, which enqueues nothing then:
/// `invalid_argument` for count and sizes that the image tells, or more threads or shared bytes
/// than the kernel can have; `library_error` for an image that the driver refuses, with its log.
/// `device_fault` for a kernel that faults. Vendor call: cuLaunchKernelEx.
struct launch {
  using reply = void;
  static constexpr std::string_view name = "jit.launch";

  jit::kernel kernel{};
  dims grid{};
  dims block{};
  /// Dynamic shared memory of a block; beyond 48 KiB the kernel is allowed it by itself.
  std::int64_t shared_bytes = 0;
  /// Blocks that run together on a cluster of multiprocessors; 1 × 1 × 1 leaves it to the kernel.
  dims cluster{};
  /// All blocks run at once, so that they can wait for each other (`grid_group::sync`).
  bool cooperative = false;
  /// May begin before the kernel in front of it in its lane has ended, where nothing lies between
  /// the two (see docs/libraries/jit.md). Every block of it must call
  /// `cudaGridDependencySynchronize` before it touches memory that an earlier request writes, and
  /// before it ends.
  bool programmatic = false;
  jit::arguments arguments{};

  TROUPE_EXPORT static void describe(description<launch>& d);
};

}  // namespace troupe::jit
