#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

namespace troupe::cuda {
namespace {

/// Factors an identity, which loads the library's code and makes the lane's handle.
result<void> warm_up(lane& where) {
  TRY(load_copy_kernels());
  const auto solver = TRY(cusolver_of(where));
  constexpr std::int64_t n = 64;
  for (const dtype type : {dtype::f32, dtype::f64}) {
    call_frame c(where);
    const auto info = c.array<std::int32_t>(1);
    const auto pivots = c.array<std::int64_t>(n);
    frame_matrices a(c, type, n, n, 1);
    // Any address of device memory: the reported size does not depend on it.
    const auto any = TRY(where.workspace(1));
    c.share(TRY(getrf_bytes(*solver, *a, any.data())));
    TRY(c.begin());
    TRY(fill_identity(*a, where));
    TRY(getrf({*solver, c, *a, 0, info}, pivots));
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace
}  // namespace troupe::cuda
