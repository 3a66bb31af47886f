#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/triangular.hpp>

namespace troupe::cuda {
namespace {

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

// Apart from what the request writes, which a singular matrix leaves as it is.
result<void> run_trtri(const solver::trtri& r, lane& where, late_failure failure) {
  if (r.a.empty()) {
    return r.info.null() ? result<void>()
                         : clear(r.info.address(), r.info.count() * i32_bytes, where);
  }
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const bool upper = r.uplo == blas::uplo::upper;
  const bool unit = r.diag == blas::diag::unit;
  workroom room;
  staged inverse(r.inverse, staged::place::copy, room.parts());
  const std::int64_t count = inverse->count;
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  auto bytes = trtri_bytes(**solver, *inverse, upper, unit, r.a.address());
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  if (auto taken = room.take(where); !taken) return taken;
  inverse.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = inverse.load(r.a, where); !done) return done;
  if (unit) {
    if (auto done = clear(info, count * i32_bytes, where); !done) return done;
  } else {
    if (auto done = find_zero_on_diagonal(*inverse, info, where); !done) return done;
  }
  auto inverted = for_each_matrix(count, [&](std::int64_t matrix) {
    return trtri({**solver, room, *inverse, matrix, info + count}, upper, unit);
  });
  if (!inverted) return inverted;
  if (r.a.same_view(r.inverse)) {
    // What is not read stays; cuSOLVER writes there.
    const triangle_shape as{.upper = upper, .unit_diagonal = unit};
    if (auto done = restore_beside(*inverse, r.inverse, as, where); !done) return done;
  } else {
    auto done = shape_triangle(*inverse,
                               {.upper = upper, .zero_other = true, .unit_diagonal = unit}, where);
    if (!done) return done;
  }
  if (auto done = restore_where_failed(*inverse, r.inverse, info, where); !done) return done;
  if (auto done = inverse.store(where); !done) return done;
  return report({.info = info, .count = count, .words = solver::zero_diagonal}, r.info, r.a,
                failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::trtri>(table, run_trtri);
});

}  // namespace
}  // namespace troupe::cuda
