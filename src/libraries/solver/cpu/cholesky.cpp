#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/cholesky.hpp>

#include <cmath>
#include <complex>

namespace troupe::cpu {
namespace {

template <class T>
std::int64_t factor(blas::uplo uplo, const matrix_view<T>& a) {
  const char side = letter(uplo);
  const std::int64_t ld = a.ld();
  blasint info = 0;
  make_diagonal_real(a);
  if (a.rows > 0) solver_lapack<T>::potrf(&side, &a.rows, a.at, &ld, &info, 1);
  // OpenBLAS's own xPOTRF takes a NaN for positive.
  const std::int64_t factored = info > 0 ? info - 1 : a.rows;
  for (std::int64_t i = 0; i < factored; ++i) {
    if (std::isnan(std::real(a(i, i)))) return i + 1;
  }
  return info;
}

/// Solves with L · Lᴴ or Uᴴ · U. The factor may be row-major: it is the transposed one then.
template <class T>
void solve(blas::uplo uplo, const matrix_view<T>& factor, const matrix_view<T>& x) {
  if (x.empty()) return;
  const bool turned = factor.ld() == 0;
  const std::int64_t ld = turned ? factor.transposed().ld() : factor.ld();
  const auto triangle = as_cblas(turned ? other(uplo) : uplo);
  const auto straight = turned ? CblasTrans : CblasNoTrans;
  const auto adjoint = turned ? CblasConjNoTrans : CblasConjTrans;
  const T one(1);
  const auto apply = [&](CBLAS_TRANSPOSE how) {
    routines<T>::trsm(CblasColMajor, CblasLeft, triangle, how, CblasNonUnit, x.rows, x.columns,
                      by(one), factor.at, ld, x.at, x.ld());
  };
  const bool lower = uplo == blas::uplo::lower;
  apply(lower ? straight : adjoint);
  apply(lower ? adjoint : straight);
}

template <class T>
result<void> potrf(const solver::potrf& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const auto view = [&](std::int64_t i) {
    return oriented<T>(r.uplo, matrix_of<T>(r.a, i), matrix_of<T>(r.factor, i));
  };
  const column_major_place<T> place(memory, view(0).to);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const oriented<T> one = view(i);
    const auto work = place.of(memory, one.to);
    const bool in_place = one.from.at == one.to.at;
    if (one.from.at != work.at) copy_triangle(one.uplo, one.from, work);
    ended.note(i, factor(one.uplo, work), solver::bad_minor);
    if (place.is_packed()) copy_triangle(one.uplo, work, one.to);
    if (!in_place) clear_beside(one.uplo, one.to);
  }
  return ended.verdict();
}

template <class T>
result<void> potrs(const solver::potrs& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.b);
  if (count == 0) return {};
  scratch memory;
  const auto factor = [&](std::int64_t i) {
    return oriented<T>(r.uplo, matrix_of<T>(r.factor, i), matrix_of<T>(r.factor, i));
  };
  const auto is_turned = [&](const oriented<T>& one) { return one.uplo != r.uplo; };
  const column_major_place<T> factors(memory, factor(0).to);
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    const oriented<T> one = factor(i);
    const auto whole = factors.filled(memory, one.to);
    solve(r.uplo, is_turned(one) ? whole.transposed() : whole, work);
    copy_unless_same(work, x);
  }
  return {};
}

template <class T>
result<void> potri(const solver::potri& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.factor);
  outcomes ended(r.factor, r.info);
  if (count == 0) return {};
  scratch memory;
  const auto view = [&](std::int64_t i) {
    return oriented<T>(r.uplo, matrix_of<T>(r.factor, i), matrix_of<T>(r.inverse, i));
  };
  const column_major_place<T> place(memory, view(0).to);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const oriented<T> one = view(i);
    const auto work = place.of(memory, one.to);
    if (one.from.at != work.at) copy_triangle(one.uplo, one.from, work);
    const char side = letter(one.uplo);
    const std::int64_t ld = work.ld();
    blasint info = 0;
    if (work.rows > 0) solver_lapack<T>::potri(&side, &work.rows, work.at, &ld, &info, 1);
    mirror(one.uplo, work);
    copy_unless_same(work, one.to);
    ended.note(i, info, solver::zero_diagonal);
  }
  return ended.verdict();
}

template <class T>
result<void> posv(const solver::posv& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  scratch memory;
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const column_major_place<T> place(memory, matrix_of<T>(r.x, 0));
  const auto copy = memory.add<T>(n * n);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = column_major(memory[copy], n, n);
    copy_triangle(r.uplo, matrix_of<T>(r.a, i), a);
    const std::int64_t info = factor(r.uplo, a);
    ended.note(i, info, solver::bad_minor);
    const auto x = matrix_of<T>(r.x, i);
    const auto work = place.of(memory, x);
    copy_unless_same(matrix_of<T>(r.b, i), work);
    if (info == 0) solve(r.uplo, a, work);
    copy_unless_same(work, x);
  }
  return ended.verdict();
}

result<void> run_potrf(const solver::potrf& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return potrf<T>(r, lane); });
}
result<void> run_potrs(const solver::potrs& r, lane_context& lane) {
  return with_classic_type(r.factor.type(), [&]<class T>(T) { return potrs<T>(r, lane); });
}
result<void> run_potri(const solver::potri& r, lane_context& lane) {
  return with_classic_type(r.factor.type(), [&]<class T>(T) { return potri<T>(r, lane); });
}
result<void> run_posv(const solver::posv& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return posv<T>(r, lane); });
}

const plugin_operations cholesky_operations([](operation_table& table) {
  table.add<solver::potrf>(run_potrf, effort::by_size);
  table.add<solver::potrs>(run_potrs, effort::by_size);
  table.add<solver::potri>(run_potri, effort::by_size);
  table.add<solver::posv>(run_posv, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
