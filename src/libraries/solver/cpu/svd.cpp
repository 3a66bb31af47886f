#include "libraries/solver/cpu/outcomes.hpp"
#include "libraries/solver/cpu/singular_values.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <complex>
#include <random>

namespace troupe::cpu {
namespace {

using solver::singular_vectors;
using solver::svd_driver;

/// One decomposition: the matrix and where its vectors go.
template <class T>
struct parts {
  matrix_view<T> a;
  matrix_view<T> u;
  matrix_view<T> vh;
};

template <class T>
parts<T> parts_of(const solver::svd& r, std::int64_t i) {
  parts<T> one{.a = matrix_of<T>(r.a, i), .u = {}, .vh = {}};
  if (r.vectors == singular_vectors::none) return one;
  one.u = matrix_of<T>(r.u, i);
  one.vh = matrix_of<T>(r.vh, i);
  return one;
}
/// aᵀ = vhᵀ · diag(s) · uᵀ.
template <class T>
parts<T> turned(const parts<T>& one) {
  return {.a = one.a.transposed(), .u = one.vh.transposed(), .vh = one.u.transposed()};
}

/// Jacobi takes no wide matrices, and vectors that lie in rows are written without a copy as those
/// of the transposed matrix.
template <class T>
bool is_better_turned(const solver::svd& r, const parts<T>& one) {
  if (r.driver == svd_driver::jacobi) return one.a.rows < one.a.columns;
  return r.vectors != singular_vectors::none && one.u.ld() == 0 && one.vh.ld() == 0;
}

template <class T>
result<void> svd_whole(const solver::svd& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const bool turn = is_better_turned(r, parts_of<T>(r, 0));
  const auto part = [&](std::int64_t i) {
    const parts<T> one = parts_of<T>(r, i);
    return turn ? turned(one) : one;
  };
  const parts<T> like = part(0);
  const std::int64_t values = std::min(like.a.rows, like.a.columns);
  scratch memory;
  const auto copy = memory.add<T>(like.a.rows * like.a.columns);
  const column_major_place<T> left(memory, like.u);
  const column_major_place<T> right(memory, like.vh);
  singular_values<T> routine(r.driver, r.vectors, like.a.rows, like.a.columns, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const parts<T> one = part(i);
    const auto a = column_major(memory[copy], one.a.rows, one.a.columns);
    copy_matrix(one.a, a);
    if (!is_finite(a)) {
      ended.note_not_finite(i);
      continue;
    }
    const auto u = left.of(memory, one.u);
    const auto vh = right.of(memory, one.vh);
    blasint info = 0;
    if (values > 0) {
      info = routine.run(memory, a, vector_of<real_t<T>>(r.s, i), u, vh);
    } else {
      set_identity(u);
      set_identity(vh);
    }
    copy_unless_same(u, one.u);
    copy_unless_same(vh, one.vh);
    ended.note(i, info, solver::off_diagonals);
  }
  return ended.verdict();
}

/// The largest singular values: all of them are computed, and as many kept as are wanted.
template <class T>
result<void> svd_largest(const solver::svd& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const parts<T> like = parts_of<T>(r, 0);
  const std::int64_t m = like.a.rows;
  const std::int64_t n = like.a.columns;
  const std::int64_t k = std::min(m, n);
  const std::int64_t kept = r.s.extent(r.s.rank() - 1);
  const bool vectors = r.vectors != singular_vectors::none;
  scratch memory;
  const auto copy = memory.add<T>(m * n);
  const auto all = memory.add<real_t<T>>(k);
  const auto left = memory.add<T>(vectors ? m * k : 0);
  const auto right = memory.add<T>(vectors ? k * n : 0);
  singular_values<T> routine(svd_driver::automatic, r.vectors, m, n, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const parts<T> one = parts_of<T>(r, i);
    const auto a = column_major(memory[copy], m, n);
    copy_matrix(one.a, a);
    if (!is_finite(a)) {
      ended.note_not_finite(i);
      continue;
    }
    const auto u = column_major(memory[left], vectors ? m : 0, k);
    const auto vh = column_major(memory[right], vectors ? k : 0, n);
    const blasint info = k > 0 ? routine.run(memory, a, memory[all], u, vh) : 0;
    std::copy_n(memory[all], kept, vector_of<real_t<T>>(r.s, i));
    if (vectors) {
      copy_matrix(u.first(kept), one.u);
      copy_matrix(vh.transposed().first(kept).transposed(), one.vh);
    }
    ended.note(i, info, solver::off_diagonals);
  }
  return ended.verdict();
}

template <class T>
void fill_normal(T* at, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<real_t<T>> number;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (complex_v<T>) {
      const real_t<T> real = number(random);
      at[i] = {real, number(random)};
    } else {
      at[i] = number(random);
    }
  }
}

template <class T>
void multiply(CBLAS_TRANSPOSE op_a, const matrix_view<T>& a, const matrix_view<T>& b,
              const matrix_view<T>& c) {
  const T one(1);
  const T zero(0);
  const std::int64_t k = op_a == CblasNoTrans ? a.columns : a.rows;
  routines<T>::gemm(CblasColMajor, op_a, CblasNoTrans, c.rows, c.columns, k, by(one), a.at, a.ld(),
                    b.at, b.ld(), by(zero), c.at, c.ld());
}

/// Halko, Martinsson, Tropp, "Finding structure with randomness", 2011: algorithms 4.4 and 5.1.
template <class T>
result<void> svd_randomised(const solver::svd& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  outcomes ended(r.a, r.info);
  if (count == 0) return {};
  const parts<T> like = parts_of<T>(r, 0);
  const std::int64_t m = like.a.rows;
  const std::int64_t n = like.a.columns;
  const std::int64_t kept = r.s.extent(r.s.rank() - 1);
  const std::int64_t width = std::min({kept + r.oversampling, m, n});
  const bool vectors = r.vectors != singular_vectors::none;
  scratch memory;
  const auto copy = memory.add<T>(m * n);
  const auto range = memory.add<T>(m * width);
  const auto corange = memory.add<T>(n * width);
  const auto projected = memory.add<T>(width * n);
  const auto all = memory.add<real_t<T>>(width);
  const auto left = memory.add<T>(vectors ? width * width : 0);
  const auto right = memory.add<T>(vectors ? width * n : 0);
  singular_values<T> routine(svd_driver::automatic, r.vectors, width, n, memory);
  orthonormal_basis<T> basis(std::max(m, n), width, memory);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const parts<T> one = parts_of<T>(r, i);
    const auto a = column_major(memory[copy], m, n);
    copy_matrix(one.a, a);
    if (!is_finite(a)) {
      ended.note_not_finite(i);
      continue;
    }
    if (width == 0) {
      ended.note(i, 0, solver::off_diagonals);
      continue;
    }
    const auto q = column_major(memory[range], m, width);
    const auto p = column_major(memory[corange], n, width);
    fill_normal(p.at, n * width, r.seed);
    multiply(CblasNoTrans, a, p, q);
    basis.make(memory, q);
    for (std::int64_t again = 0; again < r.iterations; ++again) {
      multiply(CblasConjTrans, a, q, p);
      basis.make(memory, p);
      multiply(CblasNoTrans, a, p, q);
      basis.make(memory, q);
    }
    const auto b = column_major(memory[projected], width, n);
    multiply(CblasConjTrans, q, a, b);
    const auto u = column_major(memory[left], vectors ? width : 0, width);
    const auto vh = column_major(memory[right], vectors ? width : 0, n);
    const blasint info = routine.run(memory, b, memory[all], u, vh);
    std::copy_n(memory[all], kept, vector_of<real_t<T>>(r.s, i));
    if (vectors) {
      // The copy of a is not needed any more, and has room for all of u.
      const auto whole = column_major(memory[copy], m, kept);
      multiply(CblasNoTrans, q, u.first(kept), whole);
      copy_matrix(whole, one.u);
      copy_matrix(vh.transposed().first(kept).transposed(), one.vh);
    }
    ended.note(i, info, solver::off_diagonals);
  }
  return ended.verdict();
}

result<void> run_svd(const solver::svd& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) {
    switch (r.driver) {
      case svd_driver::randomised:
        return svd_randomised<T>(r, lane);
      case svd_driver::approximate:
        return svd_largest<T>(r, lane);
      case svd_driver::automatic:
      case svd_driver::qr:
      case svd_driver::jacobi:
      case svd_driver::polar:
        break;
    }
    return svd_whole<T>(r, lane);
  });
}

const plugin_operations svd_operations([](operation_table& table) {
  table.add<solver::svd>(run_svd);
});

}  // namespace
}  // namespace troupe::cpu
