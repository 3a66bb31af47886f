#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/batches.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/lu.hpp>

#include <algorithm>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);
constexpr std::int64_t i64_bytes = size_of(dtype::i64);

/// Factors that are solved with, and their pivots as routines take them: admitted, so that none
/// leads out of its matrix.
class factors {
 public:
  factors(const any_tensor& lu, const any_tensor& pivots, bool at_once, workroom& room)
      : lu_(lu, place::columns, room.parts()),
        home_(lu),
        pivots_(pivots),
        at_once_(at_once),
        pivots_at_(room.add(pivots.count() * (at_once ? i32_bytes : i64_bytes))),
        first_bad_at_(room.add(i64_bytes)),
        info_at_(room.add(i32_bytes)),
        list_at_(at_once ? room.add(list_bytes(lu_->count)) : 0) {}

  [[nodiscard]] result<void> load(const workroom& room, lane& where) {
    room_ = &room;
    lu_.place_in(room.base());
    if (auto done = lu_.load(home_, where); !done) return done;
    pivot_copies copies{.first_bad = first_bad()};
    if (at_once_) {
      copies.narrow = room.at<std::int32_t>(pivots_at_);
      if (auto done = write_list(as_list(), where); !done) return done;
    } else {
      copies.to = room.at<std::int64_t>(pivots_at_);
    }
    return admit_pivots(pivots_, copies, where);
  }

  /// Overwrites the matrices of `b`.
  [[nodiscard]] result<void> solve(const cusolver_lane& solver, cublasOperation_t op,
                                   const listed& b, lane& where) const {
    if (at_once_) {
      if (auto done = write_list(b, where); !done) return done;
      return getrs_batched(as_list(), op, room_->at<const std::int32_t>(pivots_at_), b, where);
    }
    return for_each_matrix(lu_->count, [&](std::int64_t matrix) {
      return getrs({solver, *room_, *lu_, matrix, room_->at<std::int32_t>(info_at_)}, op,
                   room_->at<std::int64_t>(pivots_at_) + matrix * lu_->rows, b.all);
    });
  }

  [[nodiscard]] const matrices& lu() const noexcept { return *lu_; }
  [[nodiscard]] result<void> report(late_failure failure, lane& where) const {
    return report_pivots(pivots_, first_bad(), failure, where);
  }

 private:
  [[nodiscard]] listed as_list() const noexcept { return {*lu_, room_->at<void*>(list_at_)}; }
  [[nodiscard]] std::uint64_t* first_bad() const noexcept {
    return room_->at<std::uint64_t>(first_bad_at_);
  }

  staged lu_;
  const any_tensor& home_;
  const any_tensor& pivots_;
  bool at_once_;
  std::size_t pivots_at_;
  std::size_t first_bad_at_;
  std::size_t info_at_;
  std::size_t list_at_;
  const workroom* room_ = nullptr;
};

result<void> clear_info(const any_tensor& info, lane& where) {
  return info.null() ? result<void>() : clear(info.address(), info.count() * i32_bytes, where);
}

result<void> run_getrf(const solver::getrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged lu(r.lu, place::columns, room.parts());
  const std::int64_t count = lu->count;
  const std::int64_t least = std::min(lu->rows, lu->columns);
  const bool at_once = lu->rows == lu->columns && is_batch_of_small(count, least);
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t pivots_at = at_once ? room.add(count * least * i32_bytes) : 0;
  const std::size_t list_at = at_once ? room.add(list_bytes(count)) : 0;
  if (!at_once) {
    auto bytes = getrf_bytes(**solver, *lu, r.lu.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  lu.place_in(room.base());
  if (auto done = lu.load(r.a, where); !done) return done;
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const pivots = r.pivots.data<std::int64_t>();
  if (at_once) {
    const listed all{*lu, room.at<void*>(list_at)};
    if (auto done = write_list(all, where); !done) return done;
    auto* const narrow_pivots = room.at<std::int32_t>(pivots_at);
    if (auto done = getrf_batched(all, narrow_pivots, info, where); !done) return done;
    if (auto done = widen_pivots(narrow_pivots, pivots, count * least, where); !done) return done;
  } else {
    auto done = for_each_matrix(count, [&](std::int64_t matrix) {
      return getrf({**solver, room, *lu, matrix, info + matrix}, pivots + matrix * least);
    });
    if (!done) return done;
  }
  if (auto done = lu.store(where); !done) return done;
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

result<void> run_getrs(const solver::getrs& r, lane& where, late_failure failure) {
  if (r.lu.empty()) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  constexpr cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  workroom room;
  staged x(r.x, place::columns, room.parts());
  const bool at_once = is_batch_of_small(x->count, x->rows);
  factors lu(r.lu, r.pivots, at_once, room);
  const std::size_t list_at = at_once ? room.add(list_bytes(x->count)) : 0;
  if (auto taken = room.take(where); !taken) return taken;
  x.place_in(room.base());
  if (auto done = lu.load(room, where); !done) return done;
  if (!r.x.empty()) {
    if (auto done = x.load(r.b, where); !done) return done;
    if (auto done = lu.solve(**solver, operations[static_cast<int>(r.op_a)],
                             {*x, room.at<void*>(list_at)}, where);
        !done) {
      return done;
    }
    if (auto done = x.store(where); !done) return done;
  }
  return lu.report(failure, where);
}

// cuSOLVER has no getri: the identity is solved for. Apart from what the request writes, which a
// singular matrix leaves as it is.
result<void> run_getri(const solver::getri& r, lane& where, late_failure failure) {
  if (r.lu.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged inverse(r.inverse, place::copy, room.parts());
  const std::int64_t count = inverse->count;
  const bool at_once = is_batch_of_small(count, inverse->rows);
  factors lu(r.lu, r.pivots, at_once, room);
  const std::size_t list_at = at_once ? room.add(list_bytes(count)) : 0;
  const std::size_t info_at = room.add(count * i32_bytes);
  if (auto taken = room.take(where); !taken) return taken;
  inverse.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = lu.load(room, where); !done) return done;
  if (auto done = find_zero_on_diagonal(lu.lu(), info, where); !done) return done;
  if (auto done = fill_identity(*inverse, where); !done) return done;
  if (auto done = lu.solve(**solver, CUBLAS_OP_N, {*inverse, room.at<void*>(list_at)}, where);
      !done) {
    return done;
  }
  if (auto done = restore_where_failed(*inverse, r.inverse, info, where); !done) return done;
  if (auto done = inverse.store(where); !done) return done;
  auto told = report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.lu,
                     failure, where);
  return told ? lu.report(failure, where) : std::move(told);
}

result<void> run_gesv(const solver::gesv& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged lu(r.a, place::copy, room.parts());
  staged x(r.x, place::columns, room.parts());
  const std::int64_t count = lu->count;
  const std::int64_t n = lu->rows;
  const bool at_once = is_batch_of_small(count, n);
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  const std::size_t pivots_at = room.add(count * n * (at_once ? i32_bytes : i64_bytes));
  const std::size_t lists_at = at_once ? room.add(2 * list_bytes(count)) : 0;
  if (!at_once) {
    auto bytes = getrf_bytes(**solver, *lu, r.a.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  lu.place_in(room.base());
  x.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = lu.load(r.a, where); !done) return done;
  if (auto done = x.load(r.b, where); !done) return done;
  const bool solves = !r.x.empty();
  if (at_once) {
    auto* const pivots = room.at<std::int32_t>(pivots_at);
    const listed factored{*lu, room.at<void*>(lists_at)};
    const listed solved{*x, room.at<void*>(lists_at) + count};
    if (auto done = write_list(factored, where); !done) return done;
    if (auto done = getrf_batched(factored, pivots, info, where); !done) return done;
    if (solves) {
      if (auto done = write_list(solved, where); !done) return done;
      auto done = getrs_batched(factored, CUBLAS_OP_N, pivots, solved, where);
      if (!done) return done;
    }
  } else {
    auto* const pivots = room.at<std::int64_t>(pivots_at);
    auto done = for_each_matrix(count, [&](std::int64_t matrix) -> result<void> {
      std::int64_t* const its_pivots = pivots + matrix * n;
      auto factored = getrf({**solver, room, *lu, matrix, info + matrix}, its_pivots);
      if (!factored || !solves) return factored;
      return getrs({**solver, room, *lu, matrix, info + count}, CUBLAS_OP_N, its_pivots, *x);
    });
    if (!done) return done;
  }
  if (auto done = x.store(where); !done) return done;
  return report({.info = info, .count = count, .words = solver::zero_pivot}, r.info, r.a, failure,
                where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::getrf>(table, run_getrf);
  add<solver::getrs>(table, run_getrs);
  add<solver::getri>(table, run_getri);
  add<solver::gesv>(table, run_gesv);
});

}  // namespace
}  // namespace troupe::cuda
