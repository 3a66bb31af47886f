#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "base/try.hpp"
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
    std::byte* const operands = TRY(where.workspace(3 * bytes)).data();
    auto found = plan_for(where, sides(request_at(operands)));
    if (!found) {
      if (found.error().code == errc::unsupported) continue;
      return std::move(found).error();
    }
    const lt_kernel& kernel = found->plan->chosen();
    pieces all;
    const std::size_t data_at = all.add(3 * bytes);
    const std::size_t work_at = all.add(static_cast<std::int64_t>(kernel.workspace_bytes));
    // The plan is good wherever workspace lies: all of it is aligned alike.
    std::byte* const memory = TRY(where.workspace(all.bytes())).data();
    TRY(check(cudaMemsetAsync(memory, 0, all.bytes(), where.stream()), "cudaMemsetAsync"));
    const blaslt::matmul request = request_at(memory + data_at);
    TRY(run(*found->plan, found->library, sides(request), kernel, request.d.address(),
            memory + work_at, where.stream()));
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace
}  // namespace troupe::cuda
