#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace troupe::os {

/// The memory that this process can use: the machine's, or less where its control group says so, or
/// a quarter of the addresses that it may take (RLIMIT_AS).
[[nodiscard]] std::uint64_t usable_memory_bytes();

/// Raises the soft limit of this process's descriptors as far as the hard one lets it, once: most
/// systems give 1 024, for the sake of programs that use `select`. In a process that is forked from
/// it the limit is as it was before.
void raise_descriptor_limit() noexcept;
/// Where the last call failed because no descriptor is left, here or in the system, what to do
/// about it; else nothing.
[[nodiscard]] std::string lack_of_descriptors();

/// What the control groups of this process leave it; nothing where they limit nothing.
[[nodiscard]] std::optional<std::uint64_t> memory_limit_of_groups();
[[nodiscard]] std::optional<double> processor_limit_of_groups();

/// The least limit of the control groups that a process is in, of either version, and of those
/// around them. `groups` is its /proc/self/cgroup, `mounted` the folder of control groups.
[[nodiscard]] std::optional<std::uint64_t> memory_limit_of_groups(
    std::string_view groups, const std::filesystem::path& mounted);
[[nodiscard]] std::optional<double> processor_limit_of_groups(std::string_view groups,
                                                              const std::filesystem::path& mounted);

}  // namespace troupe::os
