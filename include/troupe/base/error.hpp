#pragma once

#include <troupe/base/export.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

namespace troupe {

/// The kind of a failure: a closed set. Supervisors decide on this value only. Switch over it
/// without `default:`, so that the compiler warns about new codes.
enum class errc : std::uint16_t {
  // The caller's arguments; found before anything is queued.
  invalid_argument = 1,  ///< a value out of range, or a combination that the operation excludes
  shape_mismatch,        ///< extents that do not match each other
  type_mismatch,         ///< element types that do not match each other or the operation
  layout_unsupported,    ///< strides that the library does not support
  aliasing,              ///< operands overlap where they must not
  size_overflow,         ///< a size that exceeds 64 bits or the request's limit
  unsupported,           ///< valid, but not available on this backend or library version

  // The buffers.
  stale_buffer,       ///< its device has stopped, or its contents were lost
  tainted_buffer,     ///< its writer was lost or failed; overwriting all of it clears the taint
  frozen_buffer,      ///< a write to a frozen buffer
  foreign_buffer,     ///< the buffer belongs to another device
  out_of_memory,      ///< device or host memory is exhausted or over its limit
  capacity_exceeded,  ///< a result, whose size its data decides, is larger than its tensor

  // The request's life.
  mailbox_full,       ///< the mailbox or request ring is at its capacity
  cancelled,          ///< cancelled by the caller's stop token
  timed_out,          ///< the caller's timeout expired; the work itself may continue
  deadline_exceeded,  ///< the deadline passed; a request that had begun runs to its end
  no_reply,           ///< the receiver dropped the request, or waits for its own reply
  actor_stopped,      ///< the receiver has stopped
  handler_failed,     ///< a handler threw an exception

  // The device.
  device_fault,        ///< this request ended its worker (crash, sticky fault, hang)
  aborted,             ///< lost with a worker that another request ended; not safe to rerun
  poisonous,           ///< quarantined, because it ended two workers
  device_stopped,      ///< the device is stopped, or gave up after too many faults
  device_unavailable,  ///< the device could not be started
  device_condemned,    ///< a sticky fault in `isolation::thread`; the process should end
  worker_not_found,    ///< no worker executable at the given or any known path
  version_mismatch,    ///< worker, library and plugins are not all of the same version
  protocol_violation,  ///< the other side sent bytes that violate the protocol
  library_missing,     ///< a vendor library or plugin is not enabled or not installed
  library_error,       ///< the vendor library refused; see `library`, `call`, `vendor_code`
  numerical,           ///< a numerical outcome (singular, not converged)
  system_error,        ///< the operating system refused; `vendor_code` is errno
};

/// The code's name, such as "mailbox_full".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(errc code) noexcept;

/// A failure as a value. The text is for people; programs decide on `code`.
struct error {
  errc code{};
  std::string message{};         ///< the violated rule, with the values
  std::string request{};         ///< the request and its sizes: `blas.gemm<f32> m=… n=… k=…`
  std::string library{};         ///< vendor library: "cublas", "openblas"; empty if none
  std::string call{};            ///< vendor or system call
  std::string code_name{};       ///< the vendor's name for its code, unchanged
  std::int64_t vendor_code = 0;  ///< the vendor's code, or errno
  std::int32_t device = -1;      ///< device ordinal; -1 if none
  std::uint64_t generation = 0;  ///< the device's generation at the time
  /// The failure that caused this one: for `actor_stopped` and `no_reply`, the failure of the
  /// actor. Null if there is none.
  std::shared_ptr<const error> cause{};

  /// The complete text in a fixed order: vendor call, request and rule, device, cause.
  [[nodiscard]] TROUPE_EXPORT std::string to_string() const;
};

/// An `error` for a failed system call: `errc::system_error` with errno's number and name.
[[nodiscard]] TROUPE_EXPORT error system_failure(std::string_view call, int errno_value,
                                                 std::string_view what = {});

/// The exception that `.get()` throws: the only type that Troupe throws to its users.
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
