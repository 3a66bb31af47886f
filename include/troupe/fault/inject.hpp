#pragma once

#include <troupe/request/request.hpp>

namespace troupe::fault {

/// The fault to cause in the worker. If the comment says "a kernel", a kernel does it if the device
/// runs kernels. On other devices, faults that only a kernel can cause are refused with
/// `errc::unsupported`.
enum class kind : std::uint8_t {
  segmentation_fault,  ///< writes to an unmapped address
  abort,               ///< `std::abort()`
  exit,                ///< ends the process with status 0, as if it had succeeded
  kill,                ///< SIGKILL to itself
  hang,                ///< never returns; a kernel hangs for `longest_spin_ns`
  out_of_memory,       ///< allocates more memory than there is
  exception,           ///< throws an exception that no executor should throw
  write_frozen,        ///< writes to the tensor `target` even if it is frozen; by a kernel
  spin,                ///< is busy for `duration_ns` and succeeds; in a kernel
  trap,                ///< executes a trap instruction; in a kernel
  stack_overflow,      ///< recurses until the stack overflows; in a kernel
  unmapped_address,    ///< a kernel writes to an unmapped address
  misaligned_address,  ///< a kernel writes a word at a misaligned address
  failed_assertion,    ///< an assertion in a kernel fails
  invalid_launch,      ///< launches a kernel that is refused; the worker continues
  /// Unmaps the tensor `target` (allocated with `placement::own`) in this worker, and succeeds. The
  /// next access to the tensor, in any library, fails as with a bad pointer. The next worker has it
  /// mapped again.
  withdraw,
};

/// The kind's name, such as "misaligned_address".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(kind what) noexcept;

/// No injected fault keeps a GPU busy for longer, so that a mistake in a test cannot block it.
inline constexpr std::int64_t longest_spin_ns = 3'000'000'000;

/// Injects a fault into the worker. Refused with `errc::unsupported` unless the device was made
/// with `device_config::fault_injection`.
struct inject {
  using reply = void;
  static constexpr std::string_view name = "fault.inject";

  kind what = kind::exception;
  /// Read by the request: the tensor that `write_frozen` writes although the request does not
  /// declare it, or that `withdraw` unmaps.
  any_tensor target{};
  /// Written by the request: its content is undefined after the fault.
  any_tensor output{};
  std::int64_t duration_ns = 0;  ///< for `spin`, up to `longest_spin_ns`

  TROUPE_EXPORT static void describe(description<inject>& d);
};

}  // namespace troupe::fault
