#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/decomposition.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"
#include "libraries/solver/cuda/routines/products.hpp"

#include <troupe/solver/least_squares.hpp>

#include <algorithm>
#include <limits>

namespace troupe::cuda {
namespace {

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

result<void> clear_all(const any_tensor& t, lane& where) {
  return t.null() ? result<void>() : clear(t.address(), t.count() * size_of(t.type()), where);
}

/// Without equations or unknowns, zeros are the shortest solution. Without right sides there is
/// none, and QR is not asked about a.
result<void> run_empty(const solver::gels& r, lane& where) {
  if (!r.x.empty()) {
    workroom room;
    staged x(r.x, staged::place::copy, room.parts());
    if (auto taken = room.take(where); !taken) return taken;
    x.place_in(room.base());
    if (auto done = clear(x->first, bytes_of(*x), where); !done) return done;
    if (auto done = x.store(where); !done) return done;
  }
  if (auto done = clear_all(r.rank, where); !done) return done;
  return clear_all(r.info, where);
}

/// By QR of a, or of aᴴ where a is wide: a · x = Rᴴ · Qᴴ · x then.
result<void> run_by_qr(const solver::gels& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  const std::int64_t rows = std::max(m, n);
  const std::int64_t values = std::min(m, n);
  const bool wide = m < n;
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const dtype type = r.a.type();
  const std::int64_t size = size_of(type);
  workroom room;
  matrices a = packed(nullptr, type, rows, values, count);
  matrices b = packed(nullptr, type, rows, nrhs, count);
  const std::size_t a_at = room.add(bytes_of(a));
  const std::size_t b_at = room.add(bytes_of(b));
  const std::size_t tau_at = room.add(values * size);
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  const cublasOperation_t adjoint = is_complex(type) ? CUBLAS_OP_C : CUBLAS_OP_T;
  const by_q how{.op = wide ? CUBLAS_OP_N : adjoint, .reflectors = values};
  auto factoring = geqrf_bytes(**solver, a, r.a.address());
  if (!factoring) return std::move(factoring).error();
  room.add_routine(*factoring);
  auto multiplying = ormqr_bytes(**solver, a, how, b, r.a.address());
  if (!multiplying) return std::move(multiplying).error();
  room.add_routine(*multiplying);
  if (auto taken = room.take(where); !taken) return taken;
  a.first = room.at<std::byte>(a_at);
  b.first = room.at<std::byte>(b_at);
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  void* const tau = room.at<std::byte>(tau_at);
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = copy(wide ? r.a.transpose() : r.a, as_tensor(a, r.a), where); !done) return done;
  if (wide) {
    if (auto done = conjugate(a, where); !done) return done;
    if (auto done = clear(b.first, bytes_of(b), where); !done) return done;
  }
  if (auto done = set_aside_not_finite(a, part::all, flags, where); !done) return done;
  if (auto done = copy(r.b, first_rows(as_tensor(b, r.b), m), where); !done) return done;
  auto solved = for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
    const on_matrix on{**solver, room, a, matrix, info + count};
    if (auto done = geqrf(on, tau); !done) return done;
    if (!wide) {
      if (auto done = ormqr(on, how, tau, b); !done) return done;
      return solve_upper(CUBLAS_OP_N, a, values, b, matrix, where);
    }
    if (auto done = solve_upper(adjoint, a, values, b, matrix, where); !done) return done;
    return ormqr(on, how, tau, b);
  });
  if (!solved) return solved;
  if (auto done = find_zero_on_diagonal(a, info, where); !done) return done;
  if (auto done = copy(first_rows(as_tensor(b, r.x), n), r.x, where); !done) return done;
  return report({.info = info, .flags = flags, .count = count, .words = solver::rank_deficient},
                r.info, r.a, failure, where);
}

double epsilon_of(dtype type) noexcept {
  return real_of(type) == dtype::f32 ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                     : std::numeric_limits<double>::epsilon();
}

/// x = right · diag(1 / s) · leftᴴ · b, without what counts as zero.
result<void> run_by_values(const solver::gels& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t m = rows_of(r.a);
  const std::int64_t n = columns_of(r.a);
  const std::int64_t nrhs = columns_of(r.x);
  const std::int64_t values = std::min(m, n);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const dtype type = r.a.type();
  workroom room;
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  matrices b = packed(nullptr, type, m, nrhs, count);
  matrices c = packed(nullptr, type, values, nrhs, count);
  matrices x = packed(nullptr, type, n, nrhs, count);
  const std::size_t b_at = room.add(bytes_of(b));
  const std::size_t c_at = room.add(bytes_of(c));
  const std::size_t x_at = room.add(bytes_of(x));
  auto parts = decomposition::make(**solver, {.vectors = solver::singular_vectors::thin}, type, m,
                                   n, count, r.a.address(), room);
  if (!parts) return std::move(parts).error();
  if (auto taken = room.take(where); !taken) return taken;
  b.first = room.at<std::byte>(b_at);
  c.first = room.at<std::byte>(c_at);
  x.first = room.at<std::byte>(x_at);
  parts->place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = parts->load(r.a, flags, where); !done) return done;
  if (auto done = copy(r.b, as_tensor(b, r.b), where); !done) return done;
  if (auto done = parts->run(room, info, where); !done) return done;
  // The vectors of values: there may be more of them.
  matrices left = parts->left();
  matrices right = parts->right();
  left.columns = right.columns = values;
  const auto each = [&](cublasOperation_t op, const matrices& by, const matrices& from,
                        const matrices& to) {
    return for_each_matrix(nrhs > 0 ? count : 0, [&](std::int64_t matrix) {
      return multiply(op, by, from, to, matrix, where);
    });
  };
  if (auto done = each(CUBLAS_OP_C, left, b, c); !done) return done;
  const double rcond =
      r.rcond >= 0 ? r.rcond : static_cast<double>(std::max(m, n)) * epsilon_of(type);
  auto* const rank = r.rank.null() ? nullptr : r.rank.data<std::int32_t>();
  if (auto done = divide_by_values(c, parts->s(), values, rcond, rank, flags, where); !done) {
    return done;
  }
  if (auto done = each(CUBLAS_OP_N, right, c, x); !done) return done;
  if (nrhs > 0) {
    if (auto done = copy(as_tensor(x, r.x), r.x, where); !done) return done;
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_gels(const solver::gels& r, lane& where, late_failure failure) {
  if (cuda::batch_of(r.a) == 0) return {};
  const bool by_values = r.driver == solver::least_squares_driver::svd;
  if (r.a.empty() || (!by_values && r.x.empty())) return run_empty(r, where);
  return by_values ? run_by_values(r, where, failure) : run_by_qr(r, where, failure);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::gels>(table, run_gels, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
