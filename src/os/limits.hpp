#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::os {

/// The memory that this process can use: the machine's, or less if its control group limits it, or
/// a quarter of its address space limit (RLIMIT_AS).
[[nodiscard]] std::uint64_t usable_memory_bytes();

/// Raises the soft limit of this process's descriptors to the hard one, once: most systems give 1
/// 024, for the sake of programs that use `select`. A forked process gets the previous limit again.
void raise_descriptor_limit() noexcept;
/// If the last call failed because no descriptor is left, here or in the system, the remedy; else
/// nothing.
[[nodiscard]] std::string lack_of_descriptors();

/// The limits of this process's control groups; nothing if there are none.
[[nodiscard]] std::optional<std::uint64_t> memory_limit_of_groups();
[[nodiscard]] std::optional<double> processor_limit_of_groups();

/// The least limit of the control groups that contain a process, of either version, and of their
/// ancestors. `groups` is its /proc/self/cgroup, `mounted` the folder of control groups.
[[nodiscard]] std::optional<std::uint64_t> memory_limit_of_groups(
    std::string_view groups, const std::filesystem::path& mounted);
[[nodiscard]] std::optional<double> processor_limit_of_groups(std::string_view groups,
                                                              const std::filesystem::path& mounted);

}  // namespace troupe::os
