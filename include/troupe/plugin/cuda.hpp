#pragma once

#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <memory>
#include <string_view>
#include <type_traits>

/// The interface for executors on a GPU, Troupe's own and those of plugins. It names no CUDA type,
/// so a source may include CUDA's headers as it likes.
namespace troupe::cuda {

/// A stream; converts to `cudaStream_t` and `CUstream`.
class native_stream {
 public:
  explicit native_stream(void* handle) noexcept : handle_(handle) {}
  template <class Stream>
  operator Stream*() const noexcept {  // NOLINT(google-explicit-constructor): it is one
    return static_cast<Stream*>(handle_);
  }

 private:
  void* handle_;
};

/// A lane as executors see it: a stream of the worker's context, which is current on the calling
/// thread. An executor enqueues work and returns; it waits for the stream only if it was added with
/// `effort::blocks_host`.
///
/// `workspace(bytes)` is device memory, aligned to 256 bytes. It belongs to this executor until the
/// work that it enqueued on the lane has run; another call invalidates the previous workspace.
/// `any_tensor::data` is a device address, also for tensors in host memory.
class lane : public accelerator_lane {
 public:
  [[nodiscard]] virtual native_stream stream() const noexcept = 0;
  /// An object that a library keeps with this lane, such as its handle; null until the library sets
  /// it. `key` is an address owned by the library.
  [[nodiscard]] virtual std::shared_ptr<void>& attachment(const void* key) = 0;
  /// Number of multiprocessors of the device.
  [[nodiscard]] virtual int multiprocessors() const noexcept = 0;
  /// Converts the `cudaError_t` or `CUresult` that `call` returned: success for 0, else an error
  /// with the code, its name and the call. The error is `device_fault` if the context is lost,
  /// `out_of_memory`, or `library_error` if only the call was refused.
  /// \code
  ///   kernel<<<blocks, threads, 0, where.stream()>>>(…);
  ///   return where.outcome_of(cudaGetLastError(), "kernel");
  /// \endcode
  [[nodiscard]] virtual result<void> outcome_of(int code, std::string_view call) const = 0;
};

/// Adds an executor that enqueues the work of `R`. If the request has a reply, the executor
/// receives the address to write it to: shared host memory, accessible to the device at the same
/// address and aligned to 32 bytes. The reply is what the queue, or the executor itself, has
/// written there before the request's mark.
template <request R>
  requires std::is_void_v<reply_of<R>>
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&),
         effort how_long = effort::unknown) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte*) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where));
                    },
                .executor = reinterpret_cast<void*>(enqueue),
                .effort = how_long});
}
template <request R>
  requires(!std::is_void_v<reply_of<R>>)
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&, reply_of<R>*),
         effort how_long = effort::unknown) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte* reply) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&, reply_of<R>*)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                                      reinterpret_cast<reply_of<R>*>(reply));
                    },
                .executor = reinterpret_cast<void*>(enqueue),
                .effort = how_long});
}

}  // namespace troupe::cuda
