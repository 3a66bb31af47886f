#pragma once

#include <troupe/jit/kernel.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

namespace troupe::jit {

/// What a kernel is, on the GPU that it was loaded on.
struct kernel_attributes {
  std::int32_t most_threads = 0;  ///< of a block
  std::int32_t registers = 0;     ///< of a thread
  std::int32_t static_shared_bytes = 0;
  std::int32_t most_dynamic_shared_bytes = 0;  ///< that a launch may ask for
  std::int32_t constant_bytes = 0;
  std::int32_t local_bytes = 0;     ///< of a thread
  std::int32_t ptx_version = 0;     ///< 10 · major + minor
  std::int32_t binary_version = 0;  ///< the same
  std::int32_t cluster_x = 0;       ///< that the kernel was compiled for; 0 for none
  std::int32_t cluster_y = 0;
  std::int32_t cluster_z = 0;
  std::int32_t parameters = 0;
  std::int32_t parameter_bytes = 0;  ///< up to the last one's end
};

/// Loads a kernel and says what it is: so that a first launch has nothing to wait for.
///
/// Reads and writes nothing. \errors as `launch`. Vendor calls: cuFuncGetAttribute,
/// cuFuncGetParamInfo.
struct attributes {
  using reply = kernel_attributes;
  static constexpr std::string_view name = "jit.attributes";

  jit::kernel kernel{};

  TROUPE_EXPORT static void describe(description<attributes>& d);
};

/// How much of a kernel a GPU runs at once.
struct kernel_occupancy {
  std::int32_t blocks_per_multiprocessor = 0;
  std::int32_t multiprocessors = 0;
  std::int32_t best_block = 0;       ///< threads of a block for the most threads at once
  std::int32_t best_grid = 0;        ///< blocks of that size that fill the GPU
  std::int32_t largest_cluster = 0;  ///< blocks; 0 where the GPU knows no clusters
  std::int32_t clusters = 0;         ///< of `cluster`, at once; 0 without one
};

/// Asks how much of a kernel runs at once, launched so.
///
/// Reads and writes nothing. \errors as `launch`. Vendor calls: cuOccupancy….
struct occupancy {
  using reply = kernel_occupancy;
  static constexpr std::string_view name = "jit.occupancy";

  jit::kernel kernel{};
  dims block{};
  std::int64_t shared_bytes = 0;
  dims cluster{};

  TROUPE_EXPORT static void describe(description<occupancy>& d);
};

}  // namespace troupe::jit
