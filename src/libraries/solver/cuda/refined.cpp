#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/refined.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

template <class F>
result<void> for_refined_type(dtype type, F f) {
  return type == dtype::f64 ? f(double{}) : f(c128{});
}

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
  const std::size_t pivots_at = room.add(n * i32_bytes);
  const std::size_t info_at = room.add(count * i32_bytes);
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
  }
  if (auto taken = room.take(where); !taken) return taken;
  a.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  const matrices b = packed(room.at<std::byte>(b_at), a->type, n, sides, count);
  const matrices x = packed(room.at<std::byte>(x_at), a->type, n, sides, count);
  if (auto done = clear(info, count * i32_bytes, where); !done) return done;
  if (auto done = a.load(r.a, where); !done) return done;
  if (nrhs == 0) {
    if (auto done = clear(b.first, side_bytes, where); !done) return done;
  } else {
    if (auto done = copy(r.b, as_tensor(b, r.b), where); !done) return done;
  }
  auto done = for_refined_type(a->type, [&]<class T>(T) {
    return for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
      int iterations = 0;
      if (solves) {
        auto called = solver_routines<T>::refined(
            **solver, narrow(n), narrow(sides), a->template at<T>(matrix), narrow(a->ld),
            room.at<int>(pivots_at), b.at<T>(matrix), narrow(b.ld), x.at<T>(matrix), narrow(x.ld),
            room.device(), room.routine().device, &iterations, info + matrix);
        if (!called) return called;
      }
      if (r.iterations.null()) return {};
      // From memory that is not the device's own: read before the call returns.
      return check(cudaMemcpyAsync(r.iterations.data<std::int32_t>() + matrix, &iterations,
                                   sizeof iterations, cudaMemcpyDefault, where.stream()),
                   "cudaMemcpyAsync");
    });
  });
  if (!done) return done;
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
