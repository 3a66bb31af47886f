#pragma once

#include <troupe/ops/request.hpp>

namespace troupe::fault {

/// What a worker is made to do.
enum class kind : std::uint8_t {
  segmentation_fault,  ///< writes to an address where nothing is
  abort,               ///< `std::abort()`
  exit,                ///< ends the process with status 0, as if all were well
  kill,                ///< SIGKILL to itself
  hang,                ///< never returns
  out_of_memory,       ///< throws `std::bad_alloc`
  exception,           ///< throws an exception that no executor should throw
  write_frozen,        ///< writes to the tensor `target`, whatever its rights
};

/// Injects a fault into the worker. Refused with `errc::unsupported` unless the device was made
/// with `device_config::fault_injection`.
struct inject {
  using reply = void;
  static constexpr std::string_view name = "fault.inject";

  kind what = kind::exception;
  /// Read by the request: says which tensor a `write_frozen` writes to behind everybody's back.
  any_tensor target{};
  /// Written by the request: says what is undefined after the fault.
  any_tensor output{};

  TROUPE_EXPORT void describe(field_visitor& fields);
  [[nodiscard]] TROUPE_EXPORT result<void> validate() const;
};

}  // namespace troupe::fault
