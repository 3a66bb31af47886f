#pragma once

#include <cstdint>
#include <optional>

namespace troupe::cpu {

/// How many of `wanted` threads OpenBLAS may have where so many bytes of addresses are left
/// (nothing: there is no limit). At least 1, which is the caller's own.
[[nodiscard]] int openblas_threads_within(std::optional<std::uint64_t> room, int wanted) noexcept;

/// What the variable OPENBLAS_NUM_THREADS is to say, of which the environment says `said` (may be
/// null): as many threads as there is room for under a limit of addresses, else that.
[[nodiscard]] const char* openblas_thread_setting(const char* said) noexcept;

}  // namespace troupe::cpu
