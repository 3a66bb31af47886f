#include "libraries/blas/openblas/lapack.hpp"

#include <troupe/blas/batched_factor.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <string>

namespace troupe::cpu {
namespace {

template <class T>
T* member(const any_tensor& batch, std::int64_t i) {
  return batch.data<T>() + i * batch.stride(0);
}

std::int64_t ld_of(const any_tensor& batch) {
  return blas::leading_dimension(batch, blas::order::column_major);
}

/// Scratch of the lane: `pivots` 64-bit pivots, then `bytes` more.
struct scratch {
  blasint* pivots;
  std::byte* rest;
};

result<scratch> scratch_of(lane_context& lane, std::int64_t pivots, std::int64_t bytes) {
  // The pivots are padded to a cache line, so that what follows stays aligned.
  const std::int64_t head = (pivots * 8 + 63) / 64 * 64;
  auto memory = lane.workspace(static_cast<std::size_t>(head + bytes));
  if (!memory) return std::move(memory).error();
  return scratch{reinterpret_cast<blasint*>(memory->data()), memory->data() + head};
}

/// Pivots for LAPACK, widened and checked: it would follow a bad one out of the matrix.
result<void> widen_pivots(const any_tensor& pivots, std::int64_t i, blasint* wide) {
  const std::int64_t n = pivots.extent(1);
  const auto* const narrow = pivots.data<std::int32_t>() + i * n;
  for (std::int64_t row = 0; row < n; ++row) {
    wide[row] = narrow[row];
    if (wide[row] < 1 || wide[row] > n) {
      return error{.code = errc::invalid_argument,
                   .message = "pivots[" + std::to_string(i) + ", " + std::to_string(row) + "] is " +
                              std::to_string(wide[row]) + ", not within 1 and " +
                              std::to_string(n)};
    }
  }
  return {};
}

result<void> run_getrf(const blas::getrf_batched& r, lane_context& lane) {
  const std::int64_t n = r.a.extent(1);
  const std::int64_t ld = ld_of(r.a);
  auto memory = scratch_of(lane, n, 0);
  if (!memory) return std::move(memory).error();
  for (std::int64_t i = 0; i < r.a.extent(0); ++i) {
    blasint info = 0;
    if (n > 0) {
      for_classic_type(r.a.type(), [&]<class T>(T) {
        lapack<T>::getrf(&n, &n, member<T>(r.a, i), &ld, memory->pivots, &info);
      });
      std::copy_n(memory->pivots, n, r.pivots.data<std::int32_t>() + i * n);
    }
    r.info.data<std::int32_t>()[i] = static_cast<std::int32_t>(info);
  }
  return {};
}

result<void> run_getrs(const blas::getrs_batched& r, lane_context& lane) {
  const std::int64_t n = r.a.extent(1);
  const std::int64_t nrhs = r.b.extent(2);
  if (r.b.empty()) return {};
  const std::int64_t lda = ld_of(r.a);
  const std::int64_t ldb = ld_of(r.b);
  const char trans = "NTC"[static_cast<int>(r.op_a)];
  auto memory = scratch_of(lane, n, 0);
  if (!memory) return std::move(memory).error();
  for (std::int64_t i = 0; i < r.a.extent(0); ++i) {
    if (auto good = widen_pivots(r.pivots, i, memory->pivots); !good) return good;
    for_classic_type(r.a.type(), [&]<class T>(T) {
      blasint info = 0;
      lapack<T>::getrs(&trans, &n, &nrhs, member<T>(r.a, i), &lda, memory->pivots,
                       member<T>(r.b, i), &ldb, &info, 1);
    });
  }
  return {};
}

template <class T>
result<void> getri(const blas::getri_batched& r, lane_context& lane) {
  const std::int64_t n = r.a.extent(1);
  const std::int64_t lda = ld_of(r.a);
  const std::int64_t ldc = ld_of(r.c);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  lapack<T>::getri(&n, nullptr, &ldc, nullptr, &best, &lwork, &info);
  lwork = std::max<std::int64_t>(queried(best), std::max<std::int64_t>(n, 1));
  auto memory = scratch_of(lane, n, lwork * static_cast<std::int64_t>(sizeof(T)));
  if (!memory) return std::move(memory).error();
  for (std::int64_t i = 0; i < r.a.extent(0); ++i) {
    if (auto good = widen_pivots(r.pivots, i, memory->pivots); !good) return good;
    T* const inverse = member<T>(r.c, i);
    for (std::int64_t column = 0; column < n; ++column)
      std::copy_n(member<T>(r.a, i) + column * lda, n, inverse + column * ldc);
    if (n > 0) lapack<T>::getri(&n, inverse, &ldc, memory->pivots, memory->rest, &lwork, &info);
    r.info.data<std::int32_t>()[i] = n > 0 ? static_cast<std::int32_t>(info) : 0;
  }
  return {};
}

result<void> run_getri(const blas::getri_batched& r, lane_context& lane) {
  result<void> done;
  for_classic_type(r.a.type(), [&]<class T>(T) { done = getri<T>(r, lane); });
  return done;
}

template <class T>
result<void> geqrf(const blas::geqrf_batched& r, lane_context& lane) {
  const std::int64_t m = r.a.extent(1);
  const std::int64_t n = r.a.extent(2);
  if (r.a.empty()) return {};
  const std::int64_t lda = ld_of(r.a);
  blasint lwork = -1;
  blasint info = 0;
  T best{};
  lapack<T>::geqrf(&m, &n, nullptr, &lda, nullptr, &best, &lwork, &info);
  lwork = std::max<std::int64_t>(queried(best), n);
  auto memory = scratch_of(lane, 0, lwork * static_cast<std::int64_t>(sizeof(T)));
  if (!memory) return std::move(memory).error();
  for (std::int64_t i = 0; i < r.a.extent(0); ++i) {
    lapack<T>::geqrf(&m, &n, member<T>(r.a, i), &lda, r.tau.data<T>() + i * r.tau.extent(1),
                     memory->rest, &lwork, &info);
  }
  return {};
}

result<void> run_geqrf(const blas::geqrf_batched& r, lane_context& lane) {
  result<void> done;
  for_classic_type(r.a.type(), [&]<class T>(T) { done = geqrf<T>(r, lane); });
  return done;
}

const plugin_operations batched_factor_operations([](operation_table& table) {
  table.add<blas::getrf_batched>(run_getrf, effort::by_size);
  table.add<blas::getrs_batched>(run_getrs, effort::by_size);
  table.add<blas::getri_batched>(run_getri, effort::by_size);
  table.add<blas::geqrf_batched>(run_geqrf, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
