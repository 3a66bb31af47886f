#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/batches.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/lu.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;

/// Factors for solving, and their pivots in the routines' form. The pivots are checked, so that
/// none leads out of its matrix.
class factors final : call_frame::step {
 public:
  factors(call_frame& c, const any_tensor& lu, const any_tensor& pivots, bool at_once)
      : step(c),
        frame_(c),
        lu_(c, lu, place::columns, {.reads = &lu}),
        pivots_(pivots),
        at_once_(at_once),
        wide_(c.array<std::int64_t>(at_once ? 0 : pivots.count())),
        narrow_(c.array<std::int32_t>(at_once ? pivots.count() : 0)),
        first_bad_(c.array<std::uint64_t>(1)),
        info_(c.array<std::int32_t>(1)),
        list_(c.array<void*>(at_once ? lu_->count : 0)) {}

  /// Overwrites the matrices of `b`.
  [[nodiscard]] result<void> solve(const cusolver_lane& solver, cublasOperation_t op,
                                   const listed& b, lane& where) const {
    if (at_once_) {
      TRY(write_list({*lu_, list_}, where));
      TRY(write_list(b, where));
      return getrs_batched({*lu_, list_}, op, narrow_, b, where);
    }
    return for_each_matrix(lu_->count, [&](std::int64_t matrix) {
      return getrs({solver, frame_, *lu_, matrix, info_}, op, wide_ + matrix * lu_->rows, b.all);
    });
  }
  [[nodiscard]] const matrices& operator*() const noexcept { return *lu_; }
  [[nodiscard]] result<void> report(late_failure failure, lane& where) const {
    return report_pivots(pivots_, first_bad_, failure, where);
  }

 private:
  result<void> before(lane& where) override {
    pivot_copies copies{.first_bad = first_bad_};
    if (at_once_) {
      copies.narrow = narrow_;
    } else {
      copies.to = wide_;
    }
    return admit_pivots(pivots_, copies, where);
  }

  const call_frame& frame_;
  staged lu_;
  const any_tensor& pivots_;
  bool at_once_;
  frame_array<std::int64_t> wide_;
  frame_array<std::int32_t> narrow_;
  frame_array<std::uint64_t> first_bad_;
  frame_array<std::int32_t> info_;
  frame_array<void*> list_;
};

result<void> run_getrf(const solver::getrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged lu(c, r.lu, place::columns, {.reads = &r.a, .writes = true});
  const std::int64_t count = lu->count;
  const std::int64_t least = std::min(lu->rows, lu->columns);
  const bool at_once = lu->rows == lu->columns && is_batch_of_small(count, least);
  const auto info = c.array<std::int32_t>(count);
  const auto narrow_pivots = c.array<std::int32_t>(at_once ? count * least : 0);
  const auto list = c.array<void*>(at_once ? count : 0);
  if (!at_once) c.share(TRY(getrf_bytes(*solver, *lu, r.lu.address())));
  TRY(c.begin());
  auto* const pivots = r.pivots.data<std::int64_t>();
  if (at_once) {
    const listed all{*lu, list};
    TRY(write_list(all, where));
    TRY(getrf_batched(all, narrow_pivots, info, where));
    TRY(widen_pivots(narrow_pivots, pivots, count * least, where));
  } else {
    TRY(for_each_matrix(count, [&](std::int64_t matrix) {
      return getrf({*solver, c, *lu, matrix, info + matrix}, pivots + matrix * least);
    }));
  }
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

result<void> run_getrs(const solver::getrs& r, lane& where, late_failure failure) {
  if (r.lu.empty()) return {};
  const auto solver = TRY(cusolver_of(where));
  constexpr cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  call_frame c(where);
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const bool at_once = is_batch_of_small(x->count, x->rows);
  factors lu(c, r.lu, r.pivots, at_once);
  const auto list = c.array<void*>(at_once ? x->count : 0);
  TRY(c.begin());
  if (!r.x.empty()) {
    TRY(lu.solve(*solver, operations[static_cast<int>(r.op_a)], {*x, list}, where));
  }
  TRY(c.end());
  return lu.report(failure, where);
}

// cuSOLVER has no getri, so solve for the identity. Work on a copy, because a singular matrix must
// leave the result unchanged.
result<void> run_getri(const solver::getri& r, lane& where, late_failure failure) {
  if (r.lu.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged inverse(c, r.inverse, place::copy, {.writes = true});
  const std::int64_t count = inverse->count;
  const bool at_once = is_batch_of_small(count, inverse->rows);
  const auto info = c.array<std::int32_t>(count);
  factors lu(c, r.lu, r.pivots, at_once);
  const auto list = c.array<void*>(at_once ? count : 0);
  TRY(c.begin());
  TRY(find_zero_on_diagonal(*lu, info, where));
  TRY(fill_identity(*inverse, where));
  TRY(lu.solve(*solver, CUBLAS_OP_N, {*inverse, list}, where));
  TRY(restore_where_failed(*inverse, r.inverse, info, where));
  TRY(c.end());
  TRY(report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.lu, failure,
             where));
  return lu.report(failure, where);
}

result<void> run_gesv(const solver::gesv& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  call_frame c(where);
  staged lu(c, r.a, place::copy, {.reads = &r.a});
  staged x(c, r.x, place::columns, {.reads = &r.b, .writes = true});
  const std::int64_t count = lu->count;
  const std::int64_t n = lu->rows;
  const bool at_once = is_batch_of_small(count, n);
  const auto info = c.array<std::int32_t>(count + 1);
  const auto pivots = c.array<std::int64_t>(at_once ? 0 : count * n);
  const auto narrow_pivots = c.array<std::int32_t>(at_once ? count * n : 0);
  const auto lists = c.array<void*>(at_once ? 2 * count : 0);
  if (!at_once) c.share(TRY(getrf_bytes(*solver, *lu, r.a.address())));
  TRY(c.begin());
  const bool solves = !r.x.empty();
  if (at_once) {
    const listed factored{*lu, lists};
    const listed solved{*x, lists + count};
    TRY(write_list(factored, where));
    TRY(getrf_batched(factored, narrow_pivots, info, where));
    if (solves) {
      TRY(write_list(solved, where));
      TRY(getrs_batched(factored, CUBLAS_OP_N, narrow_pivots, solved, where));
    }
  } else {
    TRY(for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
      std::int64_t* const its_pivots = pivots + matrix * n;
      TRY(getrf({*solver, c, *lu, matrix, info + matrix}, its_pivots));
      if (!solves) return {};
      return getrs({*solver, c, *lu, matrix, info + count}, CUBLAS_OP_N, its_pivots, *x);
    }));
  }
  TRY(c.end());
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

const plugin_operations lu_operations([](operation_table& table) {
  add<solver::getrf>(table, run_getrf);
  add<solver::getrs>(table, run_getrs);
  add<solver::getri>(table, run_getri);
  add<solver::gesv>(table, run_gesv);
});

}  // namespace
}  // namespace troupe::cuda
