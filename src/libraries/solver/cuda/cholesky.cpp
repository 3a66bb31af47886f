#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/batches.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/cholesky.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

/// The triangle in column-major terms. With a = L · Lᴴ, the transpose of a is conj(L) · Lᵀ, and its
/// factor U = Lᵀ is the row-major L: row-major matrices are factored in place.
bool is_upper(const matrices& m, blas::uplo uplo) noexcept {
  return (uplo == blas::uplo::upper) != m.transposed;
}

/// The layouts in which a factor can be used for solving. The transpose of a complex factor is a
/// factor of conj(a).
place readable(const any_tensor& factor) noexcept {
  return is_complex(factor.type()) ? place::columns : place::either;
}

/// Factors the matrices of `m` and makes their diagonals real. Reports a NaN on the diagonal as not
/// positive; cuSOLVER does not.
struct factoring {
  const cusolver_lane& solver;
  const call_frame& frame;
  const matrices& m;
  bool upper;
  std::int32_t* info;
  void** list;  ///< null: one by one

  [[nodiscard]] result<void> run(lane& where) const {
    if (is_complex(m.type)) TRY(shape_triangle(m, {.real_diagonal = true}, where));
    TRY(call(where));
    return find_nan_on_diagonal(m, info, where);
  }

 private:
  [[nodiscard]] result<void> call(lane& where) const {
    if (list == nullptr) {
      return for_each_matrix(m.count, [&](std::int64_t matrix) {
        return potrf({solver, frame, m, matrix, info + matrix}, upper);
      });
    }
    const listed all{m, list};
    TRY(write_list(all, where));
    return potrf_batched(all, upper, info, where);
  }
};

result<void> run_potrf(const solver::potrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged factor(c, r.factor, place::either, {.reads = &r.a, .writes = true});
  const bool upper = is_upper(*factor, r.uplo);
  const std::int64_t count = factor->count;
  // In place, the other triangle must be kept, but cuSOLVER's batched routine writes there.
  const bool in_place = r.a.same_view(r.factor);
  const bool at_once = !in_place && is_batch_of_small(count, factor->rows);
  const auto info = c.array<std::int32_t>(count);
  const auto list = c.array<void*>(at_once ? count : 0);
  if (!at_once) c.share(TRY(potrf_bytes(*solver, *factor, upper, r.factor.address())));
  TRY(c.begin());
  const factoring work{*solver, c, *factor, upper, info, at_once ? list.get() : nullptr};
  TRY(work.run(where));
  if (!in_place) TRY(shape_triangle(*factor, {.upper = upper, .zero_other = true}, where));
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::bad_minor}, r.info, r.a, failure,
                where);
}

result<void> run_potrs(const solver::potrs& r, lane& where) {
  if (r.factor.empty() || r.x.empty()) return {};
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged factor(c, r.factor, readable(r.factor), {.reads = &r.factor});
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const bool upper = is_upper(*factor, r.uplo);
  const std::int64_t count = x->count;
  const bool at_once = is_batch_of_small(count, x->rows);
  const auto info = c.array<std::int32_t>(1);
  const auto lists = c.array<void*>(at_once ? 2 * count : 0);
  TRY(c.begin());
  if (at_once) {
    const listed factored{*factor, lists};
    const listed solved{*x, lists + count};
    TRY(write_list(factored, where));
    TRY(write_list(solved, where));
    TRY(potrs_batched(factored, upper, solved, where));
  } else {
    TRY(for_each_matrix(count, [&](std::int64_t matrix) {
      return potrs({*solver, c, *factor, matrix, info}, upper, *x);
    }));
  }
  return c.end();
}

// Works on a copy, because a singular factor must leave the result unchanged.
result<void> run_potri(const solver::potri& r, lane& where, late_failure failure) {
  if (r.factor.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged inverse(c, r.inverse, place::copy, {.reads = &r.factor, .writes = true});
  const bool upper = is_upper(*inverse, r.uplo);
  const std::int64_t count = inverse->count;
  const auto info = c.array<std::int32_t>(count + 1);
  c.share(TRY(potri_bytes(*solver, *inverse, upper, r.factor.address())));
  TRY(c.begin());
  TRY(find_zero_on_diagonal(*inverse, info, where));
  TRY(for_each_matrix(count, [&](std::int64_t matrix) {
    return potri({*solver, c, *inverse, matrix, info + count}, upper);
  }));
  TRY(mirror_triangle(*inverse, upper, where));
  TRY(restore_where_failed(*inverse, r.inverse, info, where));
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::zero_diagonal}, r.info, r.factor,
                failure, where);
}

result<void> run_posv(const solver::posv& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged factor(c, r.a, place::copy, {.reads = &r.a});
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const bool upper = r.uplo == blas::uplo::upper;
  const std::int64_t count = factor->count;
  const bool at_once = is_batch_of_small(count, factor->rows);
  const auto info = c.array<std::int32_t>(count + 1);
  const auto lists = c.array<void*>(at_once ? 2 * count : 0);
  if (!at_once) c.share(TRY(potrf_bytes(*solver, *factor, upper, r.a.address())));
  TRY(c.begin());
  const factoring work{*solver, c, *factor, upper, info, at_once ? lists.get() : nullptr};
  TRY(work.run(where));
  if (!r.x.empty() && at_once) {
    const listed solved{*x, lists + count};
    TRY(write_list(solved, where));
    TRY(potrs_batched({*factor, lists}, upper, solved, where));
  } else if (!r.x.empty()) {
    TRY(for_each_matrix(count, [&](std::int64_t matrix) {
      return potrs({*solver, c, *factor, matrix, info + count}, upper, *x);
    }));
  }
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::bad_minor}, r.info, r.a, failure,
                where);
}

const plugin_operations cholesky_operations([](operation_table& table) {
  add<solver::potrf>(table, run_potrf);
  add<solver::potrs>(table, run_potrs);
  add<solver::potri>(table, run_potri);
  add<solver::posv>(table, run_posv);
});

}  // namespace
}  // namespace troupe::cuda
