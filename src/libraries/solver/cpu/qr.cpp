#include "libraries/solver/cpu/lapack.hpp"
#include "libraries/solver/cpu/scratch.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/qr.hpp>

#include <algorithm>
#include <numeric>

namespace troupe::cpu {
namespace {

template <class T>
result<void> geqrf(const solver::geqrf& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  if (r.a.empty()) return {};
  scratch memory;
  const auto like = matrix_of<T>(r.qr, 0);
  const column_major_place<T> place(memory, like);
  const std::int64_t least = std::max<std::int64_t>(like.rows, 1);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  solver_lapack<T>::geqrf(&like.rows, &like.columns, nullptr, &least, nullptr, &best, &lwork,
                          &info);
  lwork = std::max(enough(best), like.columns);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto qr = matrix_of<T>(r.qr, i);
    const auto work = place.of(memory, qr);
    copy_unless_same(matrix_of<T>(r.a, i), work);
    const std::int64_t ld = work.ld();
    solver_lapack<T>::geqrf(&work.rows, &work.columns, work.at, &ld, vector_of<T>(r.tau, i),
                            memory[space], &lwork, &info);
    copy_unless_same(work, qr);
  }
  return {};
}

template <class T>
result<void> geqp3(const solver::geqp3& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.a);
  scratch memory;
  const auto like = count > 0 ? matrix_of<T>(r.qr, 0) : matrix_view<T>{};
  const column_major_place<T> place(memory, like);
  const std::int64_t least = std::max<std::int64_t>(like.rows, 1);
  const auto reals = memory.add<real_t<T>>(complex_v<T> ? 2 * like.columns : 0);
  const auto call = [&](T* a, std::int64_t ld, blasint* columns, T* tau, T* work,
                        const blasint& lwork) {
    blasint info = 0;
    if constexpr (complex_v<T>) {
      solver_lapack<T>::geqp3(&like.rows, &like.columns, a, &ld, columns, tau, work, &lwork,
                              lwork < 0 ? nullptr : memory[reals], &info);
    } else {
      solver_lapack<T>::geqp3(&like.rows, &like.columns, a, &ld, columns, tau, work, &lwork, &info);
    }
  };
  T best{};
  call(nullptr, least, nullptr, nullptr, &best, -1);
  const blasint lwork = std::max(enough(best), 3 * like.columns + 1);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto qr = matrix_of<T>(r.qr, i);
    const auto work = place.of(memory, qr);
    copy_unless_same(matrix_of<T>(r.a, i), work);
    auto* const columns = vector_of<std::int64_t>(r.columns, i);
    if (work.rows == 0) {  // LAPACK would leave them as they are
      std::iota(columns, columns + work.columns, std::int64_t{0});
      continue;
    }
    std::fill_n(columns, work.columns, std::int64_t{0});  // each is free to move
    call(work.at, work.ld(), columns, vector_of<T>(r.tau, i), memory[space], lwork);
    for (std::int64_t j = 0; j < work.columns; ++j)
      --columns[j];
    copy_unless_same(work, qr);
  }
  return {};
}

template <class T>
result<void> orgqr(const solver::orgqr& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.q);
  if (r.q.empty()) return {};
  scratch memory;
  const auto like = matrix_of<T>(r.q, 0);
  const column_major_place<T> place(memory, like);
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  solver_lapack<T>::ungqr(&like.rows, &like.columns, &reflectors, nullptr, &like.rows, nullptr,
                          &best, &lwork, &info);
  lwork = std::max(enough(best), like.columns);
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto q = matrix_of<T>(r.q, i);
    const auto work = place.of(memory, q);
    copy_unless_same(matrix_of<T>(r.qr, i).first(reflectors), work.first(reflectors));
    const std::int64_t ld = work.ld();
    solver_lapack<T>::ungqr(&work.rows, &work.columns, &reflectors, work.at, &ld,
                            vector_of<T>(r.tau, i), memory[space], &lwork, &info);
    copy_unless_same(work, q);
  }
  return {};
}

template <class T>
result<void> ormqr(const solver::ormqr& r, lane_context& lane) {
  const std::int64_t count = batch_count(r.x);
  if (r.x.empty()) return {};
  scratch memory;
  const auto like = matrix_of<T>(r.y, 0);
  const column_major_place<T> place(memory, like);
  const column_major_place<T> factors(memory, matrix_of<T>(r.qr, 0));
  const std::int64_t reflectors = r.tau.extent(r.tau.rank() - 1);
  const char side = r.side == blas::side::left ? 'L' : 'R';
  const char trans = r.op_q == blas::storage_op::none ? 'N' : complex_v<T> ? 'C' : 'T';
  const std::int64_t lda = std::max<std::int64_t>(r.qr.extent(r.qr.rank() - 2), 1);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  solver_lapack<T>::unmqr(&side, &trans, &like.rows, &like.columns, &reflectors, nullptr, &lda,
                          nullptr, nullptr, &like.rows, &best, &lwork, &info, 1, 1);
  lwork = std::max(enough(best), std::max(like.rows, like.columns));
  const auto space = memory.add<T>(lwork);
  if (auto taken = memory.take(lane); !taken) return taken;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto y = matrix_of<T>(r.y, i);
    const auto work = place.of(memory, y);
    copy_unless_same(matrix_of<T>(r.x, i), work);
    const auto qr = factors.filled(memory, matrix_of<T>(r.qr, i));
    const std::int64_t ld = qr.ld();
    const std::int64_t ldc = work.ld();
    solver_lapack<T>::unmqr(&side, &trans, &work.rows, &work.columns, &reflectors, qr.at, &ld,
                            vector_of<T>(r.tau, i), work.at, &ldc, memory[space], &lwork, &info, 1,
                            1);
    copy_unless_same(work, y);
  }
  return {};
}

result<void> run_geqrf(const solver::geqrf& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return geqrf<T>(r, lane); });
}
result<void> run_geqp3(const solver::geqp3& r, lane_context& lane) {
  return with_classic_type(r.a.type(), [&]<class T>(T) { return geqp3<T>(r, lane); });
}
result<void> run_orgqr(const solver::orgqr& r, lane_context& lane) {
  return with_classic_type(r.qr.type(), [&]<class T>(T) { return orgqr<T>(r, lane); });
}
result<void> run_ormqr(const solver::ormqr& r, lane_context& lane) {
  return with_classic_type(r.qr.type(), [&]<class T>(T) { return ormqr<T>(r, lane); });
}

const plugin_operations qr_operations([](operation_table& table) {
  table.add<solver::geqrf>(run_geqrf, effort::by_size);
  table.add<solver::geqp3>(run_geqp3, effort::by_size);
  table.add<solver::orgqr>(run_orgqr, effort::by_size);
  table.add<solver::ormqr>(run_ormqr, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
