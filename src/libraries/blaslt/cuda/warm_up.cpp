#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"

#include <array>

namespace troupe::cuda {
namespace {

/// A small product of each kind, in workspace.
result<void> warm_up(lane& where) {
  constexpr std::int64_t side = 64;
  constexpr std::int64_t bytes = side * side * 4;
  constexpr std::array types{dtype::f32, dtype::bf16, dtype::e4m3};
  for (const dtype type : types) {
    const auto request_at = [&](std::byte* first) {
      const dtype out = type == dtype::e4m3 ? dtype::bf16 : type;
      const auto matrix = [&](int place, dtype of) {
        return any_tensor::unowned(first + place * bytes, of, {side, side});
      };
      return blaslt::matmul{
          .a = matrix(0, type), .b = matrix(1, type).transpose(), .d = matrix(2, out)};
    };
    // A plan is good wherever the workspace lies: all of it is aligned alike.
    auto found = plan_for(where, sides(request_at(TRY(where.workspace(3 * bytes)).data())));
    if (!found) {
      if (found.error().code == errc::unsupported) continue;
      return std::move(found).error();
    }
    const lt_kernel& kernel = found->plan->chosen();
    call_frame c(where);
    const auto operands = c.bytes(3 * bytes);
    c.share(kernel.workspace_bytes);
    TRY(c.begin());
    TRY(check(cudaMemsetAsync(operands, 0, 3 * bytes, where.stream()), "cudaMemsetAsync"));
    const blaslt::matmul request = request_at(operands);
    TRY(run(*found->plan, found->library, sides(request), kernel, request.d.address(), c.shared(),
            where.stream()));
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace
}  // namespace troupe::cuda
