#pragma once

#include "ops/validation.hpp"

#include <troupe/ops/jit/launch.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::jit {

// Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
inline constexpr std::int64_t most_blocks_x = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t most_blocks_yz = 65'535;
inline constexpr std::int64_t most_threads = 1024;
inline constexpr std::int64_t most_threads_z = 64;
inline constexpr std::int64_t most_cluster_blocks = 16;  // of a kernel that is allowed more than 8

/// What launches and questions about them have in common.
struct launch_shape {
  dims block{};
  std::int64_t shared_bytes = 0;
  dims cluster{};
};

[[nodiscard]] inline std::string text(const dims& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

/// The names of a field of three numbers.
struct dims_names {
  std::string_view x;
  std::string_view y;
  std::string_view z;
};
inline constexpr dims_names grid_names{"grid.x", "grid.y", "grid.z"};
inline constexpr dims_names block_names{"block.x", "block.y", "block.z"};
inline constexpr dims_names cluster_names{"cluster.x", "cluster.y", "cluster.z"};

inline void describe_dims(field_visitor& fields, const dims_names& names, dims& d) {
  fields.value(names.x, d.x);
  fields.value(names.y, d.y);
  fields.value(names.z, d.z);
}

inline void check_shape(argument_checks& check, const launch_shape& s) {
  const dims& b = s.block;
  check.rule(b.positive() && b.x <= most_threads && b.y <= most_threads && b.z <= most_threads_z &&
                 b.x * b.y * b.z <= most_threads,
             errc::invalid_argument, [&] {
               return fmt::format("block is {}, it must be 1 to {} threads, z at most {}", text(b),
                                  most_threads, most_threads_z);
             });
  check.rule(s.shared_bytes >= 0 && s.shared_bytes < std::int64_t{1} << 31, errc::invalid_argument,
             [&] { return fmt::format("shared_bytes is {}", s.shared_bytes); });
  const dims& c = s.cluster;
  check.rule(c.positive() && c.x <= most_cluster_blocks && c.y <= most_cluster_blocks &&
                 c.z <= most_cluster_blocks && c.x * c.y * c.z <= most_cluster_blocks,
             errc::invalid_argument, [&] {
               return fmt::format("cluster is {}, it must be 1 to {} blocks", text(c),
                                  most_cluster_blocks);
             });
}

}  // namespace troupe::jit
