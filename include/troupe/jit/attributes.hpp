#pragma once

#include <troupe/jit/kernel.hpp>
#include <troupe/jit/launch.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>

namespace troupe::jit {

/// Properties of a kernel on the GPU on which it was loaded.
struct kernel_attributes {
  std::int64_t most_threads = 0;  ///< maximum threads per block
  std::int64_t registers = 0;     ///< per thread
  std::int64_t static_shared_bytes = 0;
  std::int64_t most_dynamic_shared_bytes = 0;  ///< the most that a launch may request
  std::int64_t constant_bytes = 0;
  std::int64_t local_bytes = 0;     ///< per thread
  std::int64_t ptx_version = 0;     ///< 10 · major + minor
  std::int64_t binary_version = 0;  ///< the same
  std::int64_t cluster_x = 0;       ///< cluster that the kernel was compiled for; 0 if none
  std::int64_t cluster_y = 0;
  std::int64_t cluster_z = 0;
  std::int64_t parameters = 0;
  std::int64_t parameter_bytes = 0;  ///< up to the end of the last parameter

  TROUPE_EXPORT static void describe(description<kernel_attributes>& d);
};

/// Loads a kernel and returns its properties. Use it to load a kernel before its first launch.
///
/// Reads and writes nothing. \errors as `launch`. Vendor calls: cuFuncGetAttribute,
/// cuFuncGetParamInfo.
struct attributes {
  using reply = kernel_attributes;
  static constexpr std::string_view name = "jit.attributes";

  jit::kernel kernel{};

  TROUPE_EXPORT static void describe(description<attributes>& d);
};

/// The occupancy of a kernel on a GPU.
struct kernel_occupancy {
  std::int64_t blocks_per_multiprocessor = 0;
  std::int64_t multiprocessors = 0;
  std::int64_t best_block = 0;       ///< threads per block that give the highest occupancy
  std::int64_t best_grid = 0;        ///< blocks of that size that fill the GPU
  std::int64_t largest_cluster = 0;  ///< in blocks; 0 if the GPU does not support clusters
  std::int64_t clusters = 0;         ///< clusters of size `cluster` at once; 0 without a cluster

  TROUPE_EXPORT static void describe(description<kernel_occupancy>& d);
};

/// Computes the occupancy of a kernel for this launch configuration.
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
