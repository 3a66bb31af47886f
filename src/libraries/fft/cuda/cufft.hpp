#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/requests/geometry.hpp"

#include <troupe/base/result.hpp>

#include <cufftXt.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::cuda {

/// Converts a status to success or to an error with its name and the call. If `stream` reports that
/// the context is lost, the error is `device_fault`, whatever cuFFT reports. Otherwise ALLOC_FAILED
/// is `out_of_memory`; NOT_SUPPORTED, NOT_IMPLEMENTED and INVALID_SIZE are `unsupported`; any other
/// status is `library_error`.
[[nodiscard]] result<void> check(cufftResult status, std::string_view call, cudaStream_t stream);

/// A device function that cuFFT calls for each number that it loads or stores.
struct cufft_callback {
  std::string name;
  std::vector<std::byte> code;  ///< LTO-IR
  cufftXtCallbackType type = CUFFT_CB_UNDEFINED;
  void* info = nullptr;  ///< in device memory; must live as long as the plan
};

/// A cuFFT plan on a lane's stream. It owns no workspace: each call brings it.
class cufft_plan {
 public:
  /// With callbacks it links kernels, which takes up to a second. Then another thread than the
  /// lane's may call it, without the lane's stream. \errors `out_of_memory`; `unsupported`
  [[nodiscard]] static result<cufft_plan> make(const fft::transform& t, const advanced_layout& as,
                                               cudaStream_t stream,
                                               std::span<const cufft_callback> callbacks = {});

  cufft_plan(cufft_plan&& other) noexcept
      : handle_(std::exchange(other.handle_, CUFFT_PLAN_NULL)),
        stream_(other.stream_),
        work_bytes_(other.work_bytes_) {}
  cufft_plan& operator=(cufft_plan&&) = delete;
  ~cufft_plan();

  /// Sets the stream that `run` enqueues on.
  [[nodiscard]] result<void> set_stream(cudaStream_t stream);
  /// The bytes that `run` needs at `work`.
  [[nodiscard]] std::size_t work_bytes() const noexcept { return work_bytes_; }
  [[nodiscard]] result<void> run(std::byte* in, std::byte* out, fft::direction direction,
                                 std::byte* work) const;

 private:
  cufft_plan(cufftHandle handle, cudaStream_t stream) noexcept : handle_(handle), stream_(stream) {}

  cufftHandle handle_;
  cudaStream_t stream_;
  std::size_t work_bytes_ = 0;
};

/// The lane's plan for transforms like `t`: a cached one, or a new one. Valid until the next call.
/// \errors as `cufft_plan::make`
[[nodiscard]] result<const cufft_plan*> plan_for(lane& where, const fft::transform& t,
                                                 const advanced_layout& as);

}  // namespace troupe::cuda
