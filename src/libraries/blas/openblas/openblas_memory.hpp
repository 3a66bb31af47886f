#pragma once

#include <cstdint>
#include <optional>

namespace troupe::cpu {

/// How many of `wanted` threads OpenBLAS may have where so many bytes of addresses are left
/// (nothing: there is no limit). At least 1, which is the caller's own.
[[nodiscard]] int openblas_threads_within(std::optional<std::uint64_t> room, int wanted) noexcept;

/// The value for the variable OPENBLAS_NUM_THREADS, whose environment value is `environment` (may
/// be null): as many threads as fit under a limit of addresses, else that value.
[[nodiscard]] const char* openblas_thread_setting(const char* environment) noexcept;

}  // namespace troupe::cpu
