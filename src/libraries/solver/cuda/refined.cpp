#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/refined.hpp>

#include <algorithm>
#include <vector>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

template <class F>
result<void> for_refined_type(dtype type, F f) {
  return type == dtype::f64 ? f(double{}) : f(c128{});
}

/// Whether the routine has said that refinement does not lead anywhere.
bool is_about_the_matrix(const error& why) noexcept {
  return why.code == errc::library_error &&
         (why.vendor_code == CUSOLVER_STATUS_IRS_MATRIX_SINGULAR ||
          why.vendor_code == CUSOLVER_STATUS_IRS_OUT_OF_RANGE);
}

// Factors the matrix here if refinement does not converge: see limits::cusolver::refinement.
result<void> run_gesv_refined(const solver::gesv_refined& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  if (count == 0) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged a(r.a, place::copy, room.parts());
  // Without right sides there is one of zeros, so that a singular matrix is told of.
  const std::int64_t sides = std::max<std::int64_t>(nrhs, 1);
  const std::int64_t side_bytes = n * sides * count * size_of(r.a.type());
  const std::size_t b_at = room.add(side_bytes);
  const std::size_t x_at = room.add(side_bytes);
  const std::size_t pivots_at = room.add(n * size_of(dtype::i64));
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  const bool solves = n > 0;
  if (solves) {
    auto sized = for_refined_type(r.a.type(), [&]<class T>(T) {
      T* const any = r.a.data<T>();
      std::size_t bytes = 0;
      auto asked = solver_routines<T>::refined_size(
          **solver, narrow(n), narrow(sides), any, narrow(n), reinterpret_cast<int*>(any), any,
          narrow(n), any, narrow(n), static_cast<void*>(any), &bytes);
      room.add_routine({.device = bytes});
      return asked;
    });
    if (!sized) return sized;
    auto bytes = getrf_bytes(**solver, *a, r.a.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  a.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  const matrices b = packed(room.at<std::byte>(b_at), a->type, n, sides, count);
  const matrices x = packed(room.at<std::byte>(x_at), a->type, n, sides, count);
  if (auto done = clear(info, count * i32_bytes, where); !done) return done;
  const auto load = [&]() -> result<void> {
    if (auto done = a.load(r.a, where); !done) return done;
    return nrhs == 0 ? clear(b.first, side_bytes, where) : copy(r.b, as_tensor(b, r.b), where);
  };
  if (auto done = load(); !done) return done;
  std::vector<std::int64_t> left;
  auto done = for_refined_type(a->type, [&]<class T>(T) {
    return for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
      int iterations = 0;
      if (solves) {
        auto called = solver_routines<T>::refined(
            **solver, narrow(n), narrow(sides), a->template at<T>(matrix), narrow(a->ld),
            room.at<int>(pivots_at), b.at<T>(matrix), narrow(b.ld), x.at<T>(matrix), narrow(x.ld),
            room.device(), room.routine().device, &iterations, info + matrix);
        if (!called && !is_about_the_matrix(called.error())) return called;
        if (!called) iterations = std::min(iterations, -1);
        if (iterations < 0) left.push_back(matrix);
      }
      if (r.iterations.null()) return {};
      // From memory that is not the device's own: read before the call returns.
      return check(cudaMemcpyAsync(r.iterations.data<std::int32_t>() + matrix, &iterations,
                                   sizeof iterations, cudaMemcpyDefault, where.stream()),
                   "cudaMemcpyAsync");
    });
  });
  if (!done) return done;
  if (!left.empty()) {
    if (auto loaded = load(); !loaded) return loaded;
  }
  for (const std::int64_t matrix : left) {
    auto* const pivots = room.at<std::int64_t>(pivots_at);
    const on_matrix on{**solver, room, *a, matrix, info + matrix};
    if (auto factored = getrf(on, pivots); !factored) return factored;
    const on_matrix solving{**solver, room, *a, matrix, info + count};
    if (auto solved = getrs(solving, CUBLAS_OP_N, pivots, b); !solved) return solved;
    if (auto moved = check(cudaMemcpyAsync(x.at(matrix), b.at(matrix),
                                           static_cast<std::size_t>(n * sides * size_of(a->type)),
                                           cudaMemcpyDeviceToDevice, where.stream()),
                           "cudaMemcpyAsync");
        !moved) {
      return moved;
    }
  }
  if (nrhs > 0) {
    if (auto copied = copy(as_tensor(x, r.x), r.x, where); !copied) return copied;
  }
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::gesv_refined>(table, run_gesv_refined, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
