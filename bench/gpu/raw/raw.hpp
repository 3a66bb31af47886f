#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

/// CUDA and cuBLAS called as a plain program calls them, in this program's own context: the floor
/// that Troupe is measured against. No type of CUDA's shows, so that the benchmarks include none of
/// its headers. Every failure is a std::runtime_error with the call and its code's name.
namespace troupe::bench::raw {

/// Takes device 0 and waits for it by spinning, the fastest that CUDA offers. Call it first.
/// \returns the device's name and the driver's version
[[nodiscard]] std::string open_device();
/// Ends what `open_device` began, once nothing of it is left; it may be called again then.
void close_device();

/// A stream of its own. Used by one thread.
class stream {
 public:
  stream();
  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  void launch_empty();
  void synchronize();

  void copy(void* to, const void* from, std::size_t bytes);  ///< cudaMemcpyAsync
  void allocate_and_free(std::size_t bytes);                 ///< cudaMallocAsync, cudaFreeAsync

  [[nodiscard]] void* native() const noexcept { return stream_; }

 private:
  void* stream_ = nullptr;
};

/// Memory that lives as long as this does: on the device, or pinned in the host.
class memory {
 public:
  enum class place : std::uint8_t { device, pinned };
  memory(place where, std::size_t bytes);
  ~memory();
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  [[nodiscard]] void* address() const noexcept { return address_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(address_), bytes_};
  }

 private:
  place where_;
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

enum class half : std::uint8_t { f16, bf16 };

/// A cuBLAS handle on a stream, as it is made: products of packed row-major square matrices.
class cublas {
 public:
  explicit cublas(stream& on);
  ~cublas();
  cublas(const cublas&) = delete;
  cublas& operator=(const cublas&) = delete;

  /// c = a · b by cublasSgemm.
  void multiply(int n, const void* a, const void* b, void* c);
  /// The same in a half precision by cublasGemmEx, accumulated in f32.
  void multiply(half type, int n, const void* a, const void* b, void* c);

 private:
  void* handle_ = nullptr;
};

/// Work for a stream, captured once and launched as a CUDA graph.
class graph {
 public:
  graph(stream& on, const std::function<void()>& given);
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  void launch(stream& on);

 private:
  void* executable_ = nullptr;
};

}  // namespace troupe::bench::raw
