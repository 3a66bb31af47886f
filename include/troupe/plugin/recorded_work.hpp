#pragma once

#include <troupe/request/request.hpp>
#include <troupe/tensor/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe {

class operation_table;

/// Work that an accelerator has recorded, to be enqueued as a whole (a CUDA graph). It keeps the
/// objects that its lane was told to `retain`. Used by the thread that owns its lane.
class recorded_work {
 public:
  /// Waits until it does not run any more.
  virtual ~recorded_work() = default;
  /// True while a launch of it may not have ended. It must not be changed then.
  [[nodiscard]] virtual bool is_running() = 0;
  /// The operations of the device in it: kernels, copies.
  [[nodiscard]] virtual std::size_t size() const noexcept = 0;
};

/// A condition that an accelerator looks at by itself, in recorded work: a number in its memory.
struct recorded_condition {
  enum class kind : std::uint8_t {
    repeat,  ///< its body, while the number is not zero
    when,    ///< the first body if the number is not zero, else the second if there is one
    choose,  ///< the body with that number; none if there is no such body
  };
  kind what = kind::repeat;
  const std::byte* at = nullptr;
  dtype type{};
  std::uint64_t bodies = 1;
  std::uint64_t at_most = 0;  ///< rounds of `repeat`; if it still holds then, the work fails
  std::uint64_t number = 0;   ///< the request's, for the failure
};

/// Whether the executor of a request may be called while its lane records: its calls only enqueue
/// work, which depends on nothing but the request, its tensors' contents, and objects that it has
/// told the lane to `retain`. They neither wait nor read what is computed, nor do they leave behind
/// state of the host that stands for that work. The request has run on that lane before.
using may_record = bool(const void* request);

/// Says which operations of a table can be recorded; a library lists them in one source file:
///
///     const plugin_recordings recordings([](recordable_operations& can) {
///       can.be<blas::gemm, blas::axpy>();
///     });
class TROUPE_EXPORT recordable_operations {
 public:
  explicit recordable_operations(operation_table& table) noexcept : table_(table) {}

  template <request... R>
  void be(may_record* when = &always) {
    (set(request_type_of<R>().id, when), ...);
  }

  static bool always(const void*) { return true; }

 private:
  void set(std::uint64_t id, may_record* when) noexcept;

  operation_table& table_;
};

}  // namespace troupe
