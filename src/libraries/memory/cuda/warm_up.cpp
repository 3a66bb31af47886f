#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/loading.hpp"
#include "base/try.hpp"
#include "libraries/memory/cuda/kernels.hpp"

#include <array>

namespace troupe::cuda {
namespace {

result<void> warm_up(lane& where) {
  TRY(load_kernels());
  constexpr std::int64_t side = 64;
  constexpr std::int64_t bytes = side * side * 4;
  const auto memory = TRY(where.workspace(2 * bytes));
  std::byte* const from_address = memory.data();
  std::byte* const to_address = memory.data() + bytes;
  constexpr std::array<std::int64_t, 2> turned{1, side};
  const auto from = any_tensor::unowned(from_address, dtype::f32, {side, side}, turned);
  const auto to = any_tensor::unowned(to_address, dtype::f32, {side, side});
  const auto converted = any_tensor::unowned(to_address, dtype::f16, {side, side});

  using elementwise::strided_loops;
  constexpr unit element{.bytes = 4, .alignment = 4};
  constexpr float one = 1;
  TRY(enqueue_fill(strided_map(strided_loops(from, from), false), element, &one, from_address,
                   where.stream()));
  TRY(enqueue_copy(strided_map(strided_loops(from, to), true), element, from_address, to_address,
                   where.stream()));
  return enqueue_convert(strided_map(strided_loops(from, converted), true), dtype::f32,
                         from_address, dtype::f16, to_address, where.stream());
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace

}  // namespace troupe::cuda
