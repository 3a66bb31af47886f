#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/batches.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/cholesky.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);

/// The triangle of what lies there. With a = L · Lᴴ, the transpose of a is U · Uᴴ conjugated, of
/// which Lᵀ is the factor: row-major matrices are factored where they are.
bool is_upper(const matrices& m, blas::uplo uplo) noexcept {
  return (uplo == blas::uplo::upper) != m.transposed;
}

/// Where factors can be solved with: the transpose of a complex factor is that of conj(a).
place readable(const any_tensor& factor) noexcept {
  return is_complex(factor.type()) ? place::columns : place::either;
}

result<void> clear_info(const any_tensor& info, lane& where) {
  return info.null() ? result<void>() : clear(info.address(), info.count() * i32_bytes, where);
}

/// Factors the matrices of `m`, whose diagonal is made real. A NaN is no positive number, which
/// cuSOLVER does not say.
struct factoring {
  const cusolver_lane& solver;
  const workroom& room;
  const matrices& m;
  bool upper;
  std::int32_t* info;
  void** list;  ///< null: one by one

  [[nodiscard]] result<void> run(lane& where) const {
    if (is_complex(m.type)) {
      auto done = shape_triangle(m, {.real_diagonal = true}, where);
      if (!done) return done;
    }
    if (auto done = call(where); !done) return done;
    return find_nan_on_diagonal(m, info, where);
  }

 private:
  [[nodiscard]] result<void> call(lane& where) const {
    if (list == nullptr) {
      return for_each_matrix(m.count, [&](std::int64_t matrix) {
        return potrf({solver, room, m, matrix, info + matrix}, upper);
      });
    }
    const listed all{m, list};
    if (auto done = write_list(all, where); !done) return done;
    return potrf_batched(all, upper, info, where);
  }
};

result<void> run_potrf(const solver::potrf& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged factor(r.factor, place::either, room.parts());
  const bool upper = is_upper(*factor, r.uplo);
  const std::int64_t count = factor->count;
  // In place the other triangle stays; cuSOLVER's routine for many matrices at once writes there.
  const bool in_place = r.a.same_view(r.factor);
  const bool at_once = !in_place && is_batch_of_small(count, factor->rows);
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t list_at = at_once ? room.add(list_bytes(count)) : 0;
  if (!at_once) {
    auto bytes = potrf_bytes(**solver, *factor, upper, r.factor.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  factor.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = factor.load(r.a, where); !done) return done;
  const factoring work{**solver, room, *factor,
                       upper,    info, at_once ? room.at<void*>(list_at) : nullptr};
  if (auto done = work.run(where); !done) return done;
  if (!in_place) {
    auto done = shape_triangle(*factor, {.upper = upper, .zero_other = true}, where);
    if (!done) return done;
  }
  if (auto done = factor.store(where); !done) return done;
  return report({.info = info, .count = count, .words = solver::bad_minor}, r.info, r.a, failure,
                where);
}

result<void> run_potrs(const solver::potrs& r, lane& where) {
  if (r.factor.empty() || r.x.empty()) return {};
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged factor(r.factor, readable(r.factor), room.parts());
  staged x(r.x, place::columns, room.parts());
  const bool upper = is_upper(*factor, r.uplo);
  const std::int64_t count = x->count;
  const bool at_once = is_batch_of_small(count, x->rows);
  const std::size_t info_at = room.add(i32_bytes);
  const std::size_t lists_at = at_once ? room.add(2 * list_bytes(count)) : 0;
  if (auto taken = room.take(where); !taken) return taken;
  factor.place_in(room.base());
  x.place_in(room.base());
  if (auto done = factor.load(r.factor, where); !done) return done;
  if (auto done = x.load(r.b, where); !done) return done;
  if (at_once) {
    const listed factored{*factor, room.at<void*>(lists_at)};
    const listed solved{*x, room.at<void*>(lists_at) + count};
    if (auto done = write_list(factored, where); !done) return done;
    if (auto done = write_list(solved, where); !done) return done;
    if (auto done = potrs_batched(factored, upper, solved, where); !done) return done;
  } else {
    auto done = for_each_matrix(count, [&](std::int64_t matrix) {
      return potrs({**solver, room, *factor, matrix, room.at<std::int32_t>(info_at)}, upper, *x);
    });
    if (!done) return done;
  }
  return x.store(where);
}

// Apart from what the request writes, which a singular factor leaves as it is.
result<void> run_potri(const solver::potri& r, lane& where, late_failure failure) {
  if (r.factor.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged inverse(r.inverse, place::copy, room.parts());
  const bool upper = is_upper(*inverse, r.uplo);
  const std::int64_t count = inverse->count;
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  auto bytes = potri_bytes(**solver, *inverse, upper, r.factor.address());
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  if (auto taken = room.take(where); !taken) return taken;
  inverse.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = inverse.load(r.factor, where); !done) return done;
  if (auto done = find_zero_on_diagonal(*inverse, info, where); !done) return done;
  auto inverted = for_each_matrix(count, [&](std::int64_t matrix) {
    return potri({**solver, room, *inverse, matrix, info + count}, upper);
  });
  if (!inverted) return inverted;
  if (auto done = mirror_triangle(*inverse, upper, where); !done) return done;
  if (auto done = restore_where_failed(*inverse, r.inverse, info, where); !done) return done;
  if (auto done = inverse.store(where); !done) return done;
  return report({.info = info, .count = count, .words = solver::zero_diagonal}, r.info, r.factor,
                failure, where);
}

result<void> run_posv(const solver::posv& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  workroom room;
  staged factor(r.a, place::copy, room.parts());
  staged x(r.x, place::columns, room.parts());
  const bool upper = r.uplo == blas::uplo::upper;
  const std::int64_t count = factor->count;
  const bool at_once = is_batch_of_small(count, factor->rows);
  const std::size_t info_at = room.add((count + 1) * i32_bytes);
  const std::size_t lists_at = at_once ? room.add(2 * list_bytes(count)) : 0;
  if (!at_once) {
    auto bytes = potrf_bytes(**solver, *factor, upper, r.a.address());
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  if (auto taken = room.take(where); !taken) return taken;
  factor.place_in(room.base());
  x.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  if (auto done = factor.load(r.a, where); !done) return done;
  if (auto done = x.load(r.b, where); !done) return done;
  void** const lists = at_once ? room.at<void*>(lists_at) : nullptr;
  const factoring work{**solver, room, *factor, upper, info, lists};
  if (auto done = work.run(where); !done) return done;
  if (!r.x.empty()) {
    if (at_once) {
      const listed solved{*x, lists + count};
      if (auto done = write_list(solved, where); !done) return done;
      auto done = potrs_batched({*factor, lists}, upper, solved, where);
      if (!done) return done;
    } else {
      auto done = for_each_matrix(count, [&](std::int64_t matrix) {
        return potrs({**solver, room, *factor, matrix, info + count}, upper, *x);
      });
      if (!done) return done;
    }
    if (auto done = x.store(where); !done) return done;
  }
  return report({.info = info, .count = count, .words = solver::bad_minor}, r.info, r.a, failure,
                where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::potrf>(table, run_potrf);
  add<solver::potrs>(table, run_potrs);
  add<solver::potri>(table, run_potri);
  add<solver::posv>(table, run_posv);
});

}  // namespace
}  // namespace troupe::cuda
