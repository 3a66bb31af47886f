#include "libraries/memory/cuda/copy.hpp"

#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/loading.hpp"
#include "backend/cuda/context/registration.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <troupe/memory/copy.hpp>

#include <algorithm>
#include <limits>
#include <optional>

namespace troupe::cuda {
namespace {

using elementwise::strided_loops;

// A copy engine moves shorter rows one at a time, while a kernel has many in flight.
constexpr std::int64_t least_engine_row_bytes = 512;
// The largest pitch of cudaMemcpy2DAsync: `cudaDeviceProp::memPitch` of every device so far.
constexpr std::int64_t largest_pitch_bytes = std::numeric_limits<std::int32_t>::max();

/// Copies one row. The driver refuses to copy across registrations of host memory.
cudaError_t copy_row(const any_tensor& from, const any_tensor& to, std::uint64_t bytes,
                     cudaStream_t stream) {
  const bool on_device = from.space() == to.space();
  const std::byte* const host = from.space() == memory_space::host ? from.address() : to.address();
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t left = bytes - done;
    const std::uint64_t step =
        on_device ? left : std::min(left, bytes_to_registration_boundary(host + done));
    const cudaError_t code = cudaMemcpyAsync(to.address() + done, from.address() + done, step,
                                             cudaMemcpyDefault, stream);
    if (code != cudaSuccess) return code;
    done += step;
  }
  return cudaSuccess;
}

/// Copies by the driver if that is the fastest way; returns nothing if a kernel is.
std::optional<cudaError_t> copy_by_driver(const strided_loops& loops, const any_tensor& from,
                                          const any_tensor& to, cudaStream_t stream) {
  const bool from_host = from.space() == memory_space::host;
  const bool to_host = to.space() == memory_space::host;
  // Between host memories, the driver would copy synchronously in this thread.
  if (from_host && to_host) return std::nullopt;
  const auto& inner = loops.innermost();
  const std::int64_t bytes = size_of(to.type());
  if (inner.from != bytes || inner.to != bytes) return std::nullopt;
  const std::int64_t row_bytes = inner.extent * bytes;
  if (loops.rank == 1) {
    return copy_row(from, to, static_cast<std::uint64_t>(row_bytes), stream);
  }
  const auto& rows = loops.dimensions[0];
  if (loops.rank != 2 || from_host == to_host || row_bytes < least_engine_row_bytes ||
      rows.from < row_bytes || rows.from > largest_pitch_bytes || rows.to > largest_pitch_bytes) {
    return std::nullopt;
  }
  return cudaMemcpy2DAsync(to.address(), static_cast<std::size_t>(rows.to), from.address(),
                           static_cast<std::size_t>(rows.from), static_cast<std::size_t>(row_bytes),
                           static_cast<std::size_t>(rows.extent), cudaMemcpyDefault, stream);
}

result<void> run_copy(const memory::copy& r, lane& where) {
  if (r.to.same_view(r.from)) return {};
  return copy_elements(r.from, r.to, where);
}

}  // namespace

result<void> copy_elements(const any_tensor& from, const any_tensor& to, lane& where) {
  strided_loops loops(from, to);
  if (loops.empty) return {};
  if (const auto code = copy_by_driver(loops, from, to, where.stream())) {
    // A row of host memory may extend over several registrations.
    if (*code != cudaErrorInvalidValue) return check(*code, "cudaMemcpyAsync");
    (void)cudaGetLastError();
  }
  const unit moved = choose_unit(loops, size_of(to.type()), from.address(), to.address());
  return enqueue_copy(strided_map(loops, true), moved, from.address(), to.address(),
                      where.stream());
}

namespace {

const kernel_loading copy_kernels(load_copy_kernels);
const plugin_operations copy_operations([](operation_table& table) {
  add<memory::copy>(table, run_copy);
});

}  // namespace

}  // namespace troupe::cuda
