#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/eigen.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

constexpr dtype complex_of(dtype type) noexcept {
  if (type == dtype::f32) return dtype::c64;
  return type == dtype::f64 ? dtype::c128 : type;
}

/// Eigenvalues and right eigenvectors of single matrices: what cuSOLVER has.
struct right_problem {
  const cusolver_lane& solver;
  const matrices& a;

  [[nodiscard]] result<routine_bytes> bytes(const void* like) const {
    routine_bytes said;
    const cudaDataType type = as_cuda(a.type);
    auto asked =
        check(cusolverDnXgeev_bufferSize(
                  solver.handle, solver.parameters, CUSOLVER_EIG_MODE_NOVECTOR,
                  CUSOLVER_EIG_MODE_VECTOR, a.rows, type, like, a.ld, as_cuda(complex_of(a.type)),
                  like, type, nullptr, a.rows, type, like, a.rows, type, &said.device, &said.host),
              "cusolverDnXgeev_bufferSize", solver.stream);
    if (!asked) return std::move(asked).error();
    return said;
  }
  /// The matrix is lost. `v`: packed, as many as there are matrices.
  [[nodiscard]] result<void> run(const workroom& room, std::int64_t b, std::byte* w,
                                 const matrices& v, std::int32_t* info) const {
    const routine_bytes& bytes = room.routine();
    const cudaDataType type = as_cuda(a.type);
    return check(
        cusolverDnXgeev(solver.handle, solver.parameters, CUSOLVER_EIG_MODE_NOVECTOR,
                        CUSOLVER_EIG_MODE_VECTOR, a.rows, type, a.at(b), a.ld,
                        as_cuda(complex_of(a.type)), w, type, nullptr, a.rows, type, v.at(b), v.ld,
                        type, room.device(), bytes.device, room.host(), bytes.host, info),
        "cusolverDnXgeev", solver.stream);
  }
};

/// Left eigenvectors are right ones of the adjoint, whose eigenvalues are the conjugates. Where
/// both are asked for, each takes those of the nearest eigenvalue.
result<void> run_eig(const solver::eig& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) {
    return r.info.null() ? result<void>()
                         : clear(r.info.address(), r.info.count() * i32_bytes, where);
  }
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const bool real = !is_complex(r.a.type());
  const dtype complex = complex_of(r.a.type());
  const bool only_left = r.left && !r.right;
  workroom room;
  staged a(r.a, place::copy, room.parts());
  const std::int64_t w_bytes = n * count * size_of(complex);
  const std::int64_t v_bytes = n * n * count * size_of(complex);
  const std::size_t w_at = room.add(w_bytes);
  const std::size_t other_at = room.add(w_bytes);
  const std::size_t raw_at = room.add(n * n * count * size_of(a->type));
  const std::size_t spread_at = room.add(v_bytes);
  const std::size_t sorted_at = room.add(r.left && r.right ? v_bytes : 0);
  const std::size_t taken_at = room.add(2 * n * i32_bytes);
  const std::size_t info_at = room.add(2 * count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  const right_problem problem{**solver, *a};
  auto bytes = problem.bytes(r.a.address());
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  if (auto taken = room.take(where); !taken) return taken;
  a.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  auto* const w = room.at<std::byte>(w_at);
  auto* const other = room.at<std::byte>(other_at);
  const matrices raw = packed(room.at<std::byte>(raw_at), a->type, n, n, count);
  const matrices spread = packed(room.at<std::byte>(spread_at), complex, n, n, count);
  const std::int64_t step = n * size_of(complex);

  // Eigenvalues to `to`, vectors to `spread`.
  const auto solve = [&](bool adjoint, std::byte* to, std::int32_t* its_info) -> result<void> {
    if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
    if (auto done = copy(adjoint ? r.a.transpose() : r.a, as_tensor(*a, r.a), where); !done) {
      return done;
    }
    if (adjoint) {
      if (auto done = conjugate(*a, where); !done) return done;
    }
    if (auto done = set_aside_not_finite(*a, part::all, flags, where); !done) return done;
    return for_each_matrix(count, [&](std::int64_t b) -> result<void> {
      auto done = problem.run(room, b, to + b * step, real ? raw : spread, its_info + b);
      return done && real ? spread_vectors(raw, to + b * step, spread, b, where) : std::move(done);
    });
  };

  if (!only_left) {
    if (auto done = solve(false, w, info); !done) return done;
    if (r.right) {
      if (auto done = copy(as_tensor(spread, r.vr), r.vr, where); !done) return done;
    }
  }
  if (r.left) {
    if (auto done = solve(true, other, info + (only_left ? 0 : count)); !done) return done;
    if (only_left) {
      // Of a real matrix the conjugate of a vector is that of the conjugate eigenvalue, so pairs
      // stay in their order.
      if (auto done =
              real ? conjugate(spread, where) : conjugate_values(other, complex, n * count, where);
          !done) {
        return done;
      }
      if (auto done = copy(as_tensor(spread, r.vl), r.vl, where); !done) return done;
    } else {
      const matrices sorted = packed(room.at<std::byte>(sorted_at), complex, n, n, count);
      auto matched = for_each_matrix(count, [&](std::int64_t b) {
        return match_vectors(spread, other + b * step, w + b * step,
                             room.at<std::int32_t>(taken_at), sorted, b, where);
      });
      if (!matched) return matched;
      if (auto done = copy(as_tensor(sorted, r.vl), r.vl, where); !done) return done;
    }
  }
  std::byte* const values = only_left ? other : w;
  const any_tensor found = any_tensor::unowned(values, complex, shape(r.w.extents()));
  if (auto done = copy(found, r.w, where); !done) return done;
  return report(
      {.info = info, .flags = flags, .count = count, .words = solver::missing_eigenvalues}, r.info,
      r.a, failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::eig>(table, run_eig, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
