#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/symmetric_eigen.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>

namespace troupe::cpu {
namespace {

/// Workspace of a routine for Hermitian matrices, as a query answered.
template <class T>
struct hermitian_space {
  T best{};
  real_t<T> best_reals{};
  blasint best_integers = 0;
  blasint lwork = -1;
  blasint lreals = -1;
  blasint lintegers = -1;
  piece<T> work;
  piece<real_t<T>> reals;
  piece<blasint> integers;

  void add_to(scratch& memory) {
    lwork = enough(best);
    lreals = complex_v<T> ? enough(best_reals) : 0;
    lintegers = best_integers + 1;
    work = memory.add<T>(lwork);
    reals = memory.add<real_t<T>>(lreals);
    integers = memory.add<blasint>(lintegers);
  }
};

/// Calls a routine whose complex form takes two arguments more.
template <class T, class Routine, class... First, class... Last>
void call_hermitian(Routine routine, T* work, const blasint* lwork, real_t<T>* reals,
                    const blasint* lreals, std::tuple<First...> first, Last... last) {
  std::apply(
      [&](auto... arguments) {
        if constexpr (complex_v<T>) {
          routine(arguments..., work, lwork, reals, lreals, last...);
        } else {
          routine(arguments..., work, lwork, last...);
        }
      },
      first);
}

/// All eigenvalues of `a`, by divide and conquer; the vectors replace `a`.
template <class T>
class all_eigenvalues {
 public:
  all_eigenvalues(bool vectors, blas::uplo uplo, std::int64_t n, scratch& memory)
      : job_(vectors ? 'V' : 'N'), uplo_(letter(uplo)), n_(n) {
    (void)call(nullptr, std::max<std::int64_t>(n, 1), nullptr, &space_.best, &space_.best_reals,
               &space_.best_integers);
    space_.add_to(memory);
  }
  blasint run(const scratch& memory, const matrix_view<T>& a, real_t<T>* w) {
    return call(a.at, a.ld(), w, memory[space_.work], memory[space_.reals],
                memory[space_.integers]);
  }

 private:
  blasint call(T* a, std::int64_t ld, real_t<T>* w, T* work, real_t<T>* reals, blasint* integers) {
    blasint info = 0;
    call_hermitian<T>(solver_lapack<T>::heevd, work, &space_.lwork, reals, &space_.lreals,
                      std::tuple(&job_, &uplo_, &n_, a, &ld, w), integers, &space_.lintegers, &info,
                      std::size_t{1}, std::size_t{1});
    return info;
  }

  char job_;
  char uplo_;
  std::int64_t n_;
  hermitian_space<T> space_;
};

/// Some eigenvalues, of `a`, whose content is lost.
template <class T>
class some_eigenvalues {
 public:
  some_eigenvalues(const solver::eigh& r, std::int64_t n, scratch& memory)
      : r_(r), job_(r.vectors ? 'V' : 'N'), uplo_(letter(r.uplo)), n_(n) {
    (void)call(nullptr, nullptr, nullptr, nullptr, &space_.best, &space_.best_reals,
               &space_.best_integers);
    space_.add_to(memory);
    supports_ = memory.add<blasint>(2 * std::max<std::int64_t>(n, 1));
  }
  blasint run(const scratch& memory, T* a, real_t<T>* w, T* z) {
    return call(a, w, z, memory[supports_], memory[space_.work], memory[space_.reals],
                memory[space_.integers]);
  }
  [[nodiscard]] std::int64_t found() const { return found_; }

 private:
  // LAPACK writes `supports`. NOLINTNEXTLINE(readability-non-const-parameter)
  blasint call(T* a, real_t<T>* w, T* z, blasint* supports, T* work, real_t<T>* reals,
               blasint* integers) {
    const bool by_index = r_.range == solver::eigen_range::indices;
    const char range = by_index ? 'I' : 'V';
    const auto lower = static_cast<real_t<T>>(r_.lower);
    const auto upper = static_cast<real_t<T>>(r_.upper);
    const blasint first = r_.first + 1;
    const blasint last = r_.first + r_.w.extent(r_.w.rank() - 1);
    const real_t<T> tolerance{};
    const std::int64_t ld = std::max<std::int64_t>(n_, 1);
    blasint info = 0;
    call_hermitian<T>(solver_lapack<T>::heevr, work, &space_.lwork, reals, &space_.lreals,
                      std::tuple(&job_, &range, &uplo_, &n_, a, &ld, &lower, &upper, &first, &last,
                                 &tolerance, &found_, w, z, &ld, supports),
                      integers, &space_.lintegers, &info, std::size_t{1}, std::size_t{1},
                      std::size_t{1});
    return info;
  }

  const solver::eigh& r_;
  char job_;
  char uplo_;
  std::int64_t n_;
  blasint found_ = 0;
  hermitian_space<T> space_;
  piece<blasint> supports_;
};

template <class T>
result<void> eigh_all(const solver::eigh& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  scratch memory;
  const auto copy = memory.add<T>(r.vectors ? 0 : n * n);
  const auto place = [&](std::int64_t i) {
    return r.vectors ? matrix_of<T>(r.v, i) : column_major<T>(nullptr, n, n);
  };
  const column_major_place<T> vectors(memory, place(0));
  all_eigenvalues<T> routine(r.vectors, r.uplo, n, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto work = r.vectors ? vectors.of(memory, place(i)) : column_major(memory[copy], n, n);
    const auto a = matrix_of<T>(r.a, i);
    if (a.at != work.at) copy_triangle(r.uplo, a, work);
    make_diagonal_real(work);
    if (!is_finite(r.uplo, work)) {
      ended.note_not_finite(i);
      continue;
    }
    const blasint info = n > 0 ? routine.run(memory, work, vector_of<real_t<T>>(r.w, i)) : 0;
    if (r.vectors) copy_unless_same(work, place(i));
    ended.note(i, info, solver::off_diagonals);
  }
  return ended.verdict();
}

/// Writes the eigenvalues and vectors that were found; what else there is room for is NaN or zero.
template <class T>
void write_found(const solver::eigh& r, std::int64_t i, std::int64_t found, const real_t<T>* w,
                 const matrix_view<T>& z) {
  const std::int64_t workspace = r.w.extent(r.w.rank() - 1);
  auto* const to = vector_of<real_t<T>>(r.w, i);
  const std::int64_t kept = std::min(found, workspace);
  std::copy_n(w, kept, to);
  std::fill(to + kept, to + workspace, std::numeric_limits<real_t<T>>::quiet_NaN());
  if (!r.vectors) return;
  const auto v = matrix_of<T>(r.v, i);
  copy_matrix(z.first(kept), v.first(kept));
  for (std::int64_t j = kept; j < workspace; ++j) {
    for (std::int64_t row = 0; row < v.rows; ++row)
      v(row, j) = T{};
  }
}

template <class T>
result<void> eigh_some(const solver::eigh& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const std::int64_t workspace = r.w.extent(r.w.rank() - 1);
  scratch memory;
  const auto copy = memory.add<T>(n * n);
  const auto values = memory.add<real_t<T>>(n);
  const auto vectors = memory.add<T>(r.vectors ? n * n : 0);
  some_eigenvalues<T> routine(r, n, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  std::int64_t needed = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = column_major(memory[copy], n, n);
    copy_triangle(r.uplo, matrix_of<T>(r.a, i), a);
    make_diagonal_real(a);
    if (!r.count.null()) r.count.data<std::int64_t>()[i] = 0;
    if (!is_finite(r.uplo, a)) {
      ended.note_not_finite(i);
      continue;
    }
    const bool nothing = n == 0 || (workspace == 0 && r.range == solver::eigen_range::indices);
    const blasint info = nothing ? 0 : routine.run(memory, a.at, memory[values], memory[vectors]);
    const std::int64_t found = nothing ? 0 : routine.found();
    write_found(r, i, found, memory[values], column_major(memory[vectors], r.vectors ? n : 0, n));
    if (!r.count.null()) r.count.data<std::int64_t>()[i] = found;
    needed = std::max(needed, found);
    ended.note(i, info, solver::off_diagonals);
  }
  if (auto good = ended.verdict(); !good) return good;
  if (needed <= workspace) return {};
  return error{.code = errc::capacity_exceeded,
               .message = "needs " + std::to_string(needed) + " elements of w, which has " +
                          std::to_string(workspace)};
}

template <class T>
result<void> eigh_generalised(const solver::eigh_generalised& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const std::int64_t n = r.a.extent(r.a.rank() - 1);
  const blasint type = static_cast<blasint>(r.problem) + 1;
  const char job = r.vectors ? 'V' : 'N';
  const char uplo = letter(r.uplo);
  scratch memory;
  const auto copy_a = memory.add<T>(n * n);
  const auto copy_b = memory.add<T>(n * n);
  hermitian_space<T> space;
  const std::int64_t ld = std::max<std::int64_t>(n, 1);
  const auto call = [&](T* a, T* b, real_t<T>* w, T* work, real_t<T>* reals, blasint* integers) {
    blasint info = 0;
    call_hermitian<T>(solver_lapack<T>::hegvd, work, &space.lwork, reals, &space.lreals,
                      std::tuple(&type, &job, &uplo, &n, a, &ld, b, &ld, w), integers,
                      &space.lintegers, &info, std::size_t{1}, std::size_t{1});
    return info;
  };
  (void)call(nullptr, nullptr, nullptr, &space.best, &space.best_reals, &space.best_integers);
  space.add_to(memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto a = column_major(memory[copy_a], n, n);
    const auto b = column_major(memory[copy_b], n, n);
    copy_triangle(r.uplo, matrix_of<T>(r.a, i), a);
    copy_triangle(r.uplo, matrix_of<T>(r.b, i), b);
    make_diagonal_real(a);
    make_diagonal_real(b);
    if (!is_finite(r.uplo, a) || !is_finite(r.uplo, b)) {
      ended.note_not_finite(i);
      continue;
    }
    const blasint info = n == 0 ? 0
                                : call(a.at, b.at, vector_of<real_t<T>>(r.w, i), memory[space.work],
                                       memory[space.reals], memory[space.integers]);
    if (r.vectors && info == 0) copy_matrix(a, matrix_of<T>(r.v, i));
    if (info > n) {
      ended.note_with(i, info, solver::bad_minor_of_b, info - n);
    } else {
      ended.note(i, info, solver::off_diagonals);
    }
  }
  return ended.verdict();
}

result<void> run_eigh(const solver::eigh& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) {
    return r.range == solver::eigen_range::all ? eigh_all<T>(r, lane) : eigh_some<T>(r, lane);
  });
}
result<void> run_eigh_generalised(const solver::eigh_generalised& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return eigh_generalised<T>(r, lane); });
}

const plugin_operations symmetric_eigen_operations([](operation_table& table) {
  table.add<solver::eigh>(run_eigh);
  table.add<solver::eigh_generalised>(run_eigh_generalised);
});

}  // namespace
}  // namespace troupe::cpu
