#include "backend/cuda/context/executor.hpp"
#include "libraries/memory/cuda/kernels.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

namespace troupe::cuda {
namespace {

/// Factors an identity: loads the library's code, and makes the lane's handle.
result<void> warm_up(lane& where) {
  if (auto loaded = load_copy_kernels(); !loaded) return loaded;
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  constexpr std::int64_t n = 64;
  for (const dtype type : {dtype::f32, dtype::f64}) {
    workroom room;
    const std::size_t info_at = room.add(size_of(dtype::i32));
    const std::size_t pivots_at = room.add(n * size_of(dtype::i64));
    matrices a = packed(nullptr, type, n, n, 1);
    const std::size_t a_at = room.add(bytes_of(a));
    // Any address of device memory; what it says does not depend on it.
    auto any = where.workspace(1);
    if (!any) return std::move(any).error();
    auto factoring = getrf_bytes(**solver, a, any->data());
    if (!factoring) return std::move(factoring).error();
    room.add_routine(*factoring);
    if (auto taken = room.take(where); !taken) return taken;
    a.first = room.at<std::byte>(a_at);
    if (auto done = fill_identity(a, where); !done) return done;
    const on_matrix on{**solver, room, a, 0, room.at<std::int32_t>(info_at)};
    if (auto done = getrf(on, room.at<std::int64_t>(pivots_at)); !done) return done;
  }
  return {};
}

const plugin_warm_up ahead_of_use([](lane_context& where) {
  return warm_up(static_cast<lane&>(where));
});

}  // namespace
}  // namespace troupe::cuda
