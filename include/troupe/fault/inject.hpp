#pragma once

#include <troupe/request/request.hpp>

namespace troupe::fault {

/// What a worker is made to do. What says "kernel" is done by one where the device runs kernels;
/// where it has none, those that nothing else could do are refused with `errc::unsupported`.
enum class kind : std::uint8_t {
  segmentation_fault,  ///< writes to an address where nothing is
  abort,               ///< `std::abort()`
  exit,                ///< ends the process with status 0, as if all were well
  kill,                ///< SIGKILL to itself
  hang,                ///< never returns; a kernel hangs for `longest_spin_ns`
  out_of_memory,       ///< asks for more memory than there is
  exception,           ///< throws an exception that no executor should throw
  write_frozen,        ///< writes to the tensor `target`, whatever its rights; a kernel does
  spin,                ///< is busy for `duration_ns`, and succeeds; a kernel is
  trap,                ///< executes an instruction that nothing survives; a kernel does
  stack_overflow,      ///< calls itself until there is no more stack; a kernel does
  unmapped_address,    ///< a kernel writes where nothing is mapped
  misaligned_address,  ///< a kernel writes a word that begins inside another
  failed_assertion,    ///< an assertion of a kernel fails
  invalid_launch,      ///< launches a kernel that is refused; the worker goes on
  /// Takes the memory of the tensor `target`, which has it for itself (`placement::own`), from the
  /// worker, and succeeds: whatever touches the tensor next, in any library, goes wrong as with a
  /// bad pointer. The next worker has it again.
  withdraw,
};

/// The kind's name, such as "misaligned_address".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(kind what) noexcept;

/// Nothing that is injected keeps a GPU busy for longer, so that no mistake of a test can.
inline constexpr std::int64_t longest_spin_ns = 3'000'000'000;

/// Injects a fault into the worker. Refused with `errc::unsupported` unless the device was made
/// with `device_config::fault_injection`.
struct inject {
  using reply = void;
  static constexpr std::string_view name = "fault.inject";

  kind what = kind::exception;
  /// Read by the request: says which tensor a `write_frozen` writes to behind everybody's back,
  /// or which one a `withdraw` takes away.
  any_tensor target{};
  /// Written by the request: says what is undefined after the fault.
  any_tensor output{};
  std::int64_t duration_ns = 0;  ///< of a `spin`, up to `longest_spin_ns`

  TROUPE_EXPORT static void describe(description<inject>& d);
};

}  // namespace troupe::fault
