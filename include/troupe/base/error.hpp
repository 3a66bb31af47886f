#pragma once

#include <troupe/base/export.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// What went wrong, as a closed set: a supervisor decides on this and on nothing else.
/// Switch over it without `default:` so that a new code shows up as a warning.
enum class errc : std::uint16_t {
  // The caller's arguments; found before anything is queued.
  invalid_argument = 1,  ///< a value outside its range, or a combination the operation excludes
  shape_mismatch,        ///< extents that do not fit each other
  type_mismatch,         ///< element types that do not fit each other or the operation
  layout_unsupported,    ///< strides that the library cannot take
  aliasing,              ///< operands overlap where they must not
  size_overflow,         ///< a size that does not fit 64 bits, or the request's limit
  unsupported,           ///< valid, but not available on this backend or library version

  // The buffers.
  stale_buffer,    ///< its device stopped, or its contents were lost
  tainted_buffer,  ///< undefined content since a fault; a full overwrite clears it
  frozen_buffer,   ///< a write to a frozen buffer
  foreign_buffer,  ///< belongs to another device
  out_of_memory,   ///< device or host memory exhausted or over its limit

  // The request's life.
  mailbox_full,       ///< bounded mailbox or request ring at capacity
  cancelled,          ///< the caller's stop token
  timed_out,          ///< the caller's patience ended; the work itself may go on
  deadline_exceeded,  ///< the deadline passed; what had begun runs to its end
  no_reply,           ///< the receiver dropped the request, or waits for its own answer
  actor_stopped,      ///< the receiver has stopped
  handler_failed,     ///< a handler ended with an exception

  // The device.
  device_fault,        ///< this request ended its worker (crash, sticky fault, hang)
  aborted,             ///< lost with a worker that another request ended; not safe to run again
  poisonous,           ///< quarantined: it ended two workers
  device_stopped,      ///< the device is stopped or its breaker is open
  device_unavailable,  ///< it could not be brought up
  device_condemned,    ///< a sticky fault in `isolation::thread`; the process should end
  worker_not_found,    ///< no worker executable at the given or any known path
  version_mismatch,    ///< worker, library or a plugin are not of the same version
  protocol_violation,  ///< bytes from the other side that break the protocol
  library_missing,     ///< a vendor library, or a plugin, is not enabled or not installed
  library_error,       ///< the vendor library refused; `library`, `call`, `code` say how
  numerical,           ///< a numerical outcome (singular, not converged)
  system_error,        ///< the operating system refused; `code` is errno
};

/// The code's name, such as "mailbox_full".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(errc code) noexcept;

/// A failure as a value. Text is for people; decide on `code`.
struct error {
  errc code{};
  std::string message{};         ///< the rule that failed, with the values
  std::string request{};         ///< the request with its numbers, as `blas.gemm<f32> m=… n=… k=…`
  std::string library{};         ///< vendor library, "cublas", "openblas", "" when none
  std::string call{};            ///< vendor or system call
  std::string code_name{};       ///< the vendor's own name of its code, unchanged
  std::int64_t vendor_code = 0;  ///< the vendor's own code, or errno
  std::int32_t device = -1;      ///< device ordinal, -1 when none
  std::uint64_t generation = 0;  ///< the device's generation when it happened
  /// The failure that brought this one about: of `actor_stopped` and `no_reply`, what the actor had
  /// failed with. Null when there is none.
  std::shared_ptr<const error> cause{};

  /// The whole failure in a fixed order: vendor call, request and rule, device, cause.
  [[nodiscard]] TROUPE_EXPORT std::string to_string() const;
};

/// An `error` for a failed system call: `errc::system_error` with errno's number and name.
[[nodiscard]] TROUPE_EXPORT error system_failure(std::string_view call, int errno_value,
                                                 std::string_view what = {});

/// What `.get()` throws: the only exception that Troupe raises at its users.
class TROUPE_EXPORT failure : public std::exception {
 public:
  explicit failure(troupe::error e);
  failure(const failure&);
  failure& operator=(const failure&) = delete;
  ~failure() override;

  [[nodiscard]] const char* what() const noexcept override;
  [[nodiscard]] const troupe::error& error() const noexcept { return error_; }
  [[nodiscard]] errc code() const noexcept { return error_.code; }

 private:
  troupe::error error_;
  std::string text_;
};

}  // namespace troupe
