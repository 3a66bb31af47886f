#include "libraries/fft/cuda/cufft.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/fft/cuda/status.hpp"
#include "libraries/fft/shared/plan_cache.hpp"

#include <array>
#include <cstdint>

namespace troupe::cuda {
namespace {

cudaDataType as_cuda(dtype precision, bool complex) noexcept {
  switch (precision) {
    case dtype::f64:
      return complex ? CUDA_C_64F : CUDA_R_64F;
    case dtype::f16:
      return complex ? CUDA_C_16F : CUDA_R_16F;
    case dtype::bf16:
      return complex ? CUDA_C_16BF : CUDA_R_16BF;
    default:
      return complex ? CUDA_C_32F : CUDA_R_32F;
  }
}

/// The type of cuFFT's parameters, which it does not write although they are not const.
using long_array = std::array<long long, 3>;
long_array as_longs(const std::array<std::int64_t, 3>& numbers) noexcept {
  return {numbers[0], numbers[1], numbers[2]};
}

fft::plan_key key_of(const fft::transform& t, const advanced_layout& as) noexcept {
  fft::plan_key key;
  key.add(static_cast<std::int64_t>(t.kind));
  key.add(static_cast<std::int64_t>(t.precision));
  key.add(t.rank);
  for (const fft::loop& axis : t.axes)
    key.add(axis.n);
  for (const advanced_side* side : {&as.in, &as.out}) {
    for (const std::int64_t extent : side->embed)
      key.add(extent);
    key.add(side->stride);
    key.add(side->distance);
  }
  key.add(as.batch);
  return key;
}

using plan_cache = fft::plan_cache<std::shared_ptr<const cufft_plan>>;
constexpr char handles_key = 0;

plan_cache& plans_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&handles_key);
  if (!place) place = std::make_shared<plan_cache>();
  return *static_cast<plan_cache*>(place.get());
}

}  // namespace

result<void> check(cufftResult status, std::string_view call, cudaStream_t stream) {
  if (status == CUFFT_SUCCESS) return {};
  return failure_of(cufft_statuses, status, "cufft", call, stream);
}

result<cufft_plan> cufft_plan::make(const fft::transform& t, const advanced_layout& as,
                                    cudaStream_t stream,
                                    std::span<const cufft_callback> callbacks) {
  cufftHandle handle = CUFFT_PLAN_NULL;
  TRY(check(cufftCreate(&handle), "cufftCreate", stream));
  cufft_plan made(handle, stream);
  // If cuFFT allocated by itself, it would wait for the device.
  TRY(check(cufftSetAutoAllocation(handle, 0), "cufftSetAutoAllocation", stream));
  for (const cufft_callback& one : callbacks) {
    void* info = one.info;
    TRY(check(cufftXtSetJITCallback(handle, one.name.c_str(), one.code.data(), one.code.size(),
                                    one.type, &info),
              "cufftXtSetJITCallback", stream));
  }
  long_array lengths{};
  for (std::size_t d = 0; d < lengths.size(); ++d)
    lengths[d] = t.axes[d].n;
  long_array in = as_longs(as.in.embed);
  long_array out = as_longs(as.out.embed);
  TRY(check(
      cufftXtMakePlanMany(handle, t.rank, lengths.data(), in.data(), as.in.stride, as.in.distance,
                          as_cuda(t.precision, t.in_is_complex()), out.data(), as.out.stride,
                          as.out.distance, as_cuda(t.precision, t.out_is_complex()), as.batch,
                          &made.work_bytes_, as_cuda(t.precision, true)),
      "cufftXtMakePlanMany", stream));
  TRY(made.set_stream(stream));
  return made;
}

result<void> cufft_plan::set_stream(cudaStream_t stream) {
  stream_ = stream;
  return check(cufftSetStream(handle_, stream), "cufftSetStream", stream);
}

cufft_plan::~cufft_plan() {
  if (handle_ != CUFFT_PLAN_NULL) (void)cufftDestroy(handle_);
}

result<void> cufft_plan::run(std::byte* in, std::byte* out, fft::direction direction,
                             std::byte* work) const {
  // The lane's workspace moves when it grows, so each call sets its address.
  if (work_bytes_ > 0) {
    TRY(check(cufftSetWorkArea(handle_, work), "cufftSetWorkArea", stream_));
  }
  const int sign = direction == fft::direction::forward ? CUFFT_FORWARD : CUFFT_INVERSE;
  return check(cufftXtExec(handle_, in, out, sign), "cufftXtExec", stream_);
}

result<const cufft_plan*> plan_for(lane& where, const fft::transform& t,
                                   const advanced_layout& as) {
  plan_cache& plans = plans_of(where);
  const fft::plan_key key = key_of(t, as);
  std::shared_ptr<const cufft_plan> plan;
  if (const auto* const kept = plans.find(key)) {
    plan = *kept;
  } else {
    auto made = TRY(cufft_plan::make(t, as, where.stream()));
    plan = std::make_shared<const cufft_plan>(std::move(made));
    plans.add(key, plan, fft::plan_bytes(t));
  }
  where.retain(plan);
  return plan.get();
}

}  // namespace troupe::cuda
