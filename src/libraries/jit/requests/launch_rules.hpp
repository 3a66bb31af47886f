#pragma once

#include <troupe/jit/launch.hpp>
#include <troupe/request/argument_checks.hpp>

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
inline constexpr std::int64_t most_shared_bytes = (std::int64_t{1} << 31) - 1;
inline constexpr std::int64_t most_cluster_blocks = 16;  // for a kernel that is allowed more than 8

/// The common part of launches and questions about them.
struct launch_shape {
  dims block{};
  std::int64_t shared_bytes = 0;
  dims cluster{};
};

[[nodiscard]] inline std::string text(const dims& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

/// Numbers that are at least 1.
inline argument_checks& block_fits(argument_checks& check, const dims& b) {
  return check.rule(b.x <= most_threads && b.y <= most_threads && b.z <= most_threads_z &&
                        b.x * b.y * b.z <= most_threads,
                    errc::invalid_argument, [&] {
                      return fmt::format("block is {}, it must be 1 to {} threads, z at most {}",
                                         text(b), most_threads, most_threads_z);
                    });
}
inline argument_checks& cluster_fits(argument_checks& check, const dims& c) {
  return check.rule(c.x <= most_cluster_blocks && c.y <= most_cluster_blocks &&
                        c.z <= most_cluster_blocks && c.x * c.y * c.z <= most_cluster_blocks,
                    errc::invalid_argument, [&] {
                      return fmt::format("cluster is {}, it must be 1 to {} blocks", text(c),
                                         most_cluster_blocks);
                    });
}

/// The fields that say how a kernel is launched, and their rules; `cluster` comes last.
template <class R>
void describe_block(description<R>& d) {
  d.group("block", &R::block);
  d.value("shared_bytes", &R::shared_bytes, "dynamic shared memory of a block")
      .range(0, static_cast<double>(most_shared_bytes));
  d.group("cluster", &R::cluster);
  d.rule("a block has 1024 threads at most, 64 along z",
         [](argument_checks& check, const R& r) { block_fits(check, r.block); });
  d.rule("a cluster has 16 blocks at most",
         [](argument_checks& check, const R& r) { cluster_fits(check, r.cluster); });
}

}  // namespace troupe::jit
