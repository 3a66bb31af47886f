#pragma once

#include <troupe/plugin/accelerator.hpp>
#include <troupe/plugin/executor.hpp>

#include <memory>
#include <string_view>
#include <type_traits>

/// What the executors of a GPU are written with, Troupe's own and those of plugins. Nothing here
/// names a type of CUDA, so a source includes CUDA's headers as it likes.
namespace troupe::cuda {

/// A stream, which is passed where a `cudaStream_t` or `CUstream` is wanted.
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
/// thread. An executor enqueues and returns; it never waits for the stream.
///
/// `workspace(bytes)` is device memory, aligned to 256 bytes, that is this executor's until what it
/// has enqueued on the lane has run; asking again invalidates what was handed out before. Tensors
/// have their device addresses in `any_tensor::data`; those in host memory are reached there, too.
class lane : public accelerator_lane {
 public:
  [[nodiscard]] virtual native_stream stream() const noexcept = 0;
  /// What a library keeps with this lane, such as its handle; null until the library sets it. `key`
  /// is an address of the library's own.
  [[nodiscard]] virtual std::shared_ptr<void>& attachment(const void* key) = 0;
  /// Number of multiprocessors of the device.
  [[nodiscard]] virtual int multiprocessors() const noexcept = 0;
  /// What a `cudaError_t` or `CUresult` of `call` means: success for 0, else an error with the
  /// code, its name and the call: `device_fault` where the context is lost, `out_of_memory`, and
  /// `library_error` where nothing but the call was refused.
  /// \code
  ///   kernel<<<blocks, threads, 0, where.stream()>>>(…);
  ///   return where.outcome_of(cudaGetLastError(), "kernel");
  /// \endcode
  [[nodiscard]] virtual result<void> outcome_of(int code, std::string_view call) const = 0;
};

/// Adds an executor that enqueues the work of `R`. One whose request has a reply gets the address
/// to write it to: shared host memory, reachable for the device at the same address, aligned to 32
/// bytes. What the queue (or the executor itself) has written there before the request's mark is
/// the reply.
template <request R>
  requires std::is_void_v<reply_of<R>>
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte*) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where));
                    },
                .executor = reinterpret_cast<void*>(enqueue)});
}
template <request R>
  requires(!std::is_void_v<reply_of<R>>)
void add(operation_table& table, result<void> (*enqueue)(const R&, lane&, reply_of<R>*)) {
  table.insert({.type = &request_type_of<R>(),
                .run =
                    [](void* held, const void* r, lane_context& where, std::byte* reply) {
                      const auto function =
                          reinterpret_cast<result<void> (*)(const R&, lane&, reply_of<R>*)>(held);
                      return function(*static_cast<const R*>(r), static_cast<lane&>(where),
                                      reinterpret_cast<reply_of<R>*>(reply));
                    },
                .executor = reinterpret_cast<void*>(enqueue)});
}

}  // namespace troupe::cuda
