#pragma once

#include "backend/cuda/context/vendor_status.hpp"

#include <troupe/base/result.hpp>

#include <cuda_runtime_api.h>

#include <span>
#include <string_view>

namespace troupe::cuda {

/// The meaning of a driver code for the request, the context and the device. Source: CUDA Driver
/// API, "Data types used by CUDA driver", CUresult.
enum class severity : std::uint8_t {
  none,
  not_ready,    ///< no failure: still running
  request,      ///< this call was refused, the context is usable
  memory,       ///< out of memory; the context is usable
  lost,         ///< the context is unusable: only a new process helps
  device_gone,  ///< the device itself does not answer
};

/// `code` is a `CUresult` or a `cudaError_t`: a number that both have means the same in both. An
/// unlisted one counts as `lost`.
[[nodiscard]] severity severity_of(int code) noexcept;

/// True if nothing that is enqueued on the stream runs any more, whatever code a library has
/// returned. A stream that is captured is not asked: that would end the capture, and nothing of it
/// has run.
[[nodiscard]] inline bool context_is_lost(cudaStream_t stream) noexcept {
  auto capture = cudaStreamCaptureStatusNone;
  const bool captured = cudaStreamIsCapturing(stream, &capture) == cudaSuccess &&
                        capture != cudaStreamCaptureStatusNone;
  const severity found = captured ? severity::none : severity_of(cudaStreamQuery(stream));
  (void)cudaGetLastError();
  return found == severity::lost || found == severity::device_gone;
}

/// The error for a code, with its name, the library and the call; success for 0. Codes of severity
/// `lost` and `device_gone` become `errc::device_fault`, `memory` becomes `errc::out_of_memory`,
/// `request` becomes `errc::library_error`.
[[nodiscard]] result<void> check(cudaError_t code, std::string_view call);

/// The error for an unsuccessful status of a call of `library`, by the list `known`. If `stream`
/// shows that the context is lost, that is the error, whatever the library's status; so it is for
/// an unlisted status.
[[nodiscard]] error failure_of(std::span<const vendor_status> known, int status,
                               std::string_view library, std::string_view call,
                               cudaStream_t stream);

}  // namespace troupe::cuda
