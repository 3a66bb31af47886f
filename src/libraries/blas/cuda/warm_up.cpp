#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/blas/cuda/product/product.hpp"

#include <array>

namespace troupe::cuda {
namespace {

result<void> warm_up(lane& where) {
  constexpr std::int64_t side = 64;
  constexpr std::array types{dtype::f32, dtype::f16, dtype::f64};
  constexpr std::int64_t bytes = side * side * 8;
  call_frame frame(where);
  const auto operands = frame.bytes(3 * bytes);
  TRY(frame.begin());
  TRY(check(cudaMemsetAsync(operands, 0, 3 * bytes, where.stream()), "cudaMemsetAsync"));
  const scalar alpha = 1;
  const scalar beta = 0;
  for (const dtype type : types) {
    const auto matrix = [&](int place) {
      return any_tensor::unowned(operands + place * bytes, type, {side, side});
    };
    const any_tensor a = matrix(0);
    const any_tensor b = matrix(1);
    const any_tensor c = matrix(2);
    // None of these asks for workspace.
    TRY(multiply({a, b, c, alpha, beta, blas::op::none, blas::op::none, {}}, where));
    TRY(scale(where, c, 2));
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
