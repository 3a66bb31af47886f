#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/decomposition.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"
#include "libraries/solver/cuda/routines/products.hpp"

#include <troupe/solver/svd.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;
using solver::singular_vectors;
using solver::svd_driver;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

/// Writes the first columns of `m`, as many as `to` has.
result<void> write_columns(const matrices& m, const any_tensor& to, lane& where) {
  return copy(first_columns(as_tensor(m, to), columns_of(to)), to, where);
}
/// The same as rows of the adjoint. `m` is conjugated.
result<void> write_adjoint(const matrices& m, const any_tensor& to, lane& where) {
  if (auto done = conjugate(m, where); !done) return done;
  return write_columns(m, to.transpose(), where);
}

/// Of matrices without elements: no values, and bases of what there is.
result<void> run_empty(const solver::svd& r, lane& where) {
  for (const any_tensor* const basis : {&r.u, &r.vh}) {
    if (r.vectors != singular_vectors::full || basis->empty()) continue;
    workroom room;
    staged vectors(*basis, place::columns, room.parts());
    if (auto taken = room.take(where); !taken) return taken;
    vectors.place_in(room.base());
    if (auto done = fill_identity(*vectors, where); !done) return done;
    if (auto done = vectors.store(where); !done) return done;
  }
  return r.info.null() ? result<void>()
                       : clear(r.info.address(), r.info.count() * i32_bytes, where);
}

result<void> run_whole(const solver::svd& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  auto parts = decomposition::make(**solver, {.driver = r.driver, .vectors = r.vectors}, r.a.type(),
                                   rows_of(r.a), columns_of(r.a), count, r.a.address(), room);
  if (!parts) return std::move(parts).error();
  if (auto taken = room.take(where); !taken) return taken;
  parts->place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = parts->load(r.a, flags, where); !done) return done;
  if (auto done = parts->run(room, info, where); !done) return done;
  if (auto done = copy_first(parts->s(), parts->values(), r.s, where); !done) return done;
  if (r.vectors != singular_vectors::none) {
    if (auto done = write_columns(parts->left(), r.u, where); !done) return done;
    if (auto done = write_adjoint(parts->right(), r.vh, where); !done) return done;
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

/// Makes the columns of matrices an orthonormal basis, by QR.
class orthonormal_basis {
 public:
  static result<orthonormal_basis> make(const cusolver_lane& solver, const matrices& m,
                                        const void* like, workroom& room) {
    for (const bool factors : {true, false}) {
      auto bytes = factors ? geqrf_bytes(solver, m, like) : orgqr_bytes(solver, m, m.columns, like);
      if (!bytes) return std::move(bytes).error();
      room.add_routine(*bytes);
    }
    orthonormal_basis made(solver);
    made.tau_at_ = room.add(m.columns * size_of(m.type));
    made.info_at_ = room.add(i32_bytes);
    return made;
  }
  [[nodiscard]] result<void> run(const workroom& room, const matrices& m,
                                 std::int64_t matrix) const {
    const on_matrix on{solver_, room, m, matrix, room.at<std::int32_t>(info_at_)};
    void* const tau = room.at<std::byte>(tau_at_);
    auto done = geqrf(on, tau);
    return done ? orgqr(on, m.columns, tau) : std::move(done);
  }

 private:
  explicit orthonormal_basis(const cusolver_lane& solver) noexcept : solver_(solver) {}

  const cusolver_lane& solver_;
  std::size_t tau_at_ = 0;
  std::size_t info_at_ = 0;
};

/// Halko, Martinsson, Tropp, "Finding structure with randomness", 2011: algorithms 4.4 and 5.1.
/// cuSOLVER's own, Xgesvdr, takes no seed.
result<void> run_randomised(const solver::svd& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t kept = r.s.extent(r.s.rank() - 1);
  const std::int64_t width = std::min(kept + r.oversampling, std::min(m, n));
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const dtype type = r.a.type();
  workroom room;
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  const std::size_t a_at = room.add(m * n * count * size_of(type));
  const std::size_t range_at = room.add(m * width * count * size_of(type));
  const std::size_t corange_at = room.add(n * width * count * size_of(type));
  const std::size_t left_at = room.add(m * width * count * size_of(type));
  matrices a = packed(nullptr, type, m, n, count);
  matrices range = packed(nullptr, type, m, width, count);
  matrices corange = packed(nullptr, type, n, width, count);
  auto range_basis = orthonormal_basis::make(**solver, range, r.a.address(), room);
  if (!range_basis) return std::move(range_basis).error();
  auto corange_basis = orthonormal_basis::make(**solver, corange, r.a.address(), room);
  if (!corange_basis) return std::move(corange_basis).error();
  // Of (Qᴴ · a)ᴴ, which has as many rows as a has columns.
  auto parts = decomposition::make(**solver, {.driver = svd_driver::jacobi, .vectors = r.vectors},
                                   type, n, width, count, r.a.address(), room);
  if (!parts) return std::move(parts).error();
  if (auto taken = room.take(where); !taken) return taken;
  a.first = room.at<std::byte>(a_at);
  range.first = room.at<std::byte>(range_at);
  corange.first = room.at<std::byte>(corange_at);
  parts->place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = copy(r.a, as_tensor(a, r.a), where); !done) return done;
  if (auto done = set_aside_not_finite(a, part::all, flags, where); !done) return done;
  if (auto done = fill_normal(corange, r.seed, where); !done) return done;
  auto found = for_each_matrix(count, [&](std::int64_t b) -> result<void> {
    const auto to_range = [&]() -> result<void> {
      auto done = multiply(CUBLAS_OP_N, a, corange, range, b, where);
      return done ? range_basis->run(room, range, b) : std::move(done);
    };
    if (auto done = to_range(); !done) return done;
    for (std::int64_t again = 0; again < r.iterations; ++again) {
      if (auto done = multiply(CUBLAS_OP_C, a, range, corange, b, where); !done) return done;
      if (auto done = corange_basis->run(room, corange, b); !done) return done;
      if (auto done = to_range(); !done) return done;
    }
    return multiply(CUBLAS_OP_C, a, range, parts->tall(), b, where);
  });
  if (!found) return found;
  if (auto done = parts->run(room, info, where); !done) return done;
  if (auto done = copy_first(parts->s(), parts->values(), r.s, where); !done) return done;
  if (r.vectors != singular_vectors::none) {
    const matrices left = packed(room.at<std::byte>(left_at), type, m, width, count);
    auto multiplied = for_each_matrix(count, [&](std::int64_t b) {
      return multiply(CUBLAS_OP_N, range, parts->right(), left, b, where);
    });
    if (!multiplied) return multiplied;
    if (auto done = write_columns(left, r.u, where); !done) return done;
    if (auto done = write_adjoint(parts->left(), r.vh, where); !done) return done;
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_svd(const solver::svd& r, lane& where, late_failure failure) {
  if (cuda::batch_of(r.a) == 0) return {};
  if (r.a.empty()) return run_empty(r, where);
  return r.driver == svd_driver::randomised ? run_randomised(r, where, failure)
                                            : run_whole(r, where, failure);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::svd>(table, run_svd, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
