#pragma once

#include <troupe/jit/kernel.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

namespace troupe::jit {

/// Extents of a grid, a block or a cluster. The minimum is 1 × 1 × 1.
struct dims {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;

  [[nodiscard]] bool positive() const noexcept { return x > 0 && y > 0 && z > 0; }
  friend bool operator==(const dims&, const dims&) = default;

  TROUPE_EXPORT static void describe(description<dims>& d);
};

/// Launches a user's kernel. Its arguments declare what it reads and writes. Ordering, keep-alive,
/// taint and retries rely on this declaration, so it must be true.
///
/// Only on a GPU; the CPU backend fails with `unsupported`.
/// \errors before anything is queued: `invalid_argument` for an impossible grid, block or cluster,
/// or a wrong number of arguments; `type_mismatch` for an argument whose type differs from its
/// parameter's, as far as the kernel's name gives it. From the worker, before it enqueues anything:
/// `invalid_argument` for a count or size that contradicts the image, or for more threads or shared
/// bytes than the kernel supports; `library_error` for an image that the driver refuses, with its
/// log. `device_fault` for a kernel that faults. Vendor call: cuLaunchKernelEx.
struct launch {
  using reply = void;
  static constexpr std::string_view name = "jit.launch";

  jit::kernel kernel{};
  dims grid{};
  dims block{};
  /// Dynamic shared memory per block. Above 48 KiB, Troupe raises the kernel's limit itself.
  std::int64_t shared_bytes = 0;
  /// Blocks that run together on a cluster of multiprocessors; 1 × 1 × 1 means the kernel's own.
  dims cluster{};
  /// Cooperative launch: all blocks run at once, so they can synchronise (`grid_group::sync`).
  bool cooperative = false;
  /// Lets the kernel begin before the preceding kernel in its lane has ended, if no other work lies
  /// between them (see docs/libraries/jit.md). Every block must call
  /// `cudaGridDependencySynchronize` before it accesses memory that an earlier request writes, and
  /// before it ends.
  bool programmatic = false;
  jit::arguments arguments{};

  TROUPE_EXPORT static void describe(description<launch>& d);
};

}  // namespace troupe::jit
