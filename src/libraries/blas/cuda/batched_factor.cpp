#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/kernels/checked_pivots.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"

#include <troupe/blas/batched_factor.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

namespace troupe::cuda {
namespace {

// These routines count in 32 bits. Extents within a matrix fit, which is checked; leading
// dimensions and batches may not.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

constexpr int narrow(std::int64_t value) noexcept { return static_cast<int>(value); }

/// A batch of column-major matrices as these routines take it. Columns that are too far apart for
/// them are in a packed copy.
class matrix_batch final : call_frame::step {
 public:
  matrix_batch(call_frame& c, const any_tensor& t, use how) noexcept
      : step(c), extents_(extents_of(t)), home_(place_of(t)), type_(t.type()), how_(how) {
    // A single row or column may have any stride.
    home_.row = 1;
    home_.column = blas::leading_dimension(t, blas::order::column_major);
    place_ = home_;
    if (!moved()) return;
    const std::int64_t elements = extents_.rows * extents_.columns;
    copy_ = c.bytes(elements * extents_.count * size_of(type_));
    place_ = {.row = 1, .column = extents_.rows, .batch = elements};
  }

  [[nodiscard]] int ld() const noexcept { return narrow(place_.column); }
  /// The addresses of the matrices. After the frame's `begin`.
  [[nodiscard]] address_series series() const noexcept {
    return {place_.first, place_.batch * size_of(type_)};
  }

 private:
  [[nodiscard]] bool moved() const noexcept { return home_.column > most; }
  result<void> before(lane& where) override {
    if (!moved()) return {};
    place_.first = copy_;
    return combine(where, type_, extents_, place_, {.place = home_, .factor = 1});
  }
  result<void> after(lane& where) override {
    if (!moved() || how_ == use::reads) return {};
    return combine(where, type_, extents_, home_, {.place = place_, .factor = 1});
  }

  batch_extents extents_;
  batch_place home_, place_;
  dtype type_;
  use how_;
  frame_array<std::byte> copy_;
};

/// Addresses as a list of `count` matrices, beginning with one of them.
template <class T>
T* const* as_list(void** first) noexcept {
  return reinterpret_cast<T* const*>(first);
}

/// Calls `call(from, count)` for parts of a batch that 32 bits can count.
template <class Call>
result<void> in_parts(std::int64_t batch, Call call) {
  for (std::int64_t from = 0; from < batch; from += most)
    TRY(call(from, narrow(std::min(most, batch - from))));
  return {};
}

result<void> clear_info(lane& where, const any_tensor& info) {
  if (info.empty()) return {};
  return check(cudaMemsetAsync(info.address(), 0,
                               static_cast<std::size_t>(info.extent(0) * size_of(info.type())),
                               where.stream()),
               "cudaMemsetAsync");
}

/// The error for `info`, which a routine leaves in host memory; cuBLAS refuses the call as well.
result<void> accepted(int info, std::string_view call) {
  if (info == 0) return {};
  return error{.code = errc::library_error,
               .message = "argument " + std::to_string(-info) + " has an illegal value",
               .library = "cublas",
               .call = std::string(call)};
}

result<void> run_getrf(const blas::getrf_batched& r, lane& where) {
  if (r.a.empty()) return clear_info(where, r.info);
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t batch = r.a.extent(0);
  const std::int64_t n = r.a.extent(1);
  call_frame c(where);
  matrix_batch a(c, r.a, use::updates);
  const auto list = c.array<void*>(batch);
  TRY(c.begin());
  TRY(write_series(where, list, {a.series()}, batch));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return in_parts(batch, [&](std::int64_t from, int count) {
      return matrix_routines<T>::getrf(handle, narrow(n), as_list<T>(list + from), a.ld(),
                                       r.pivots.data<std::int32_t>() + from * n,
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  return c.end();
}

result<void> run_getrs(const blas::getrs_batched& r, lane& where, late_failure failure) {
  if (r.b.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  constexpr cublasOperation_t transpositions[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  const cublasOperation_t op = transpositions[static_cast<int>(r.op_a)];
  const std::int64_t batch = r.a.extent(0);
  call_frame c(where);
  matrix_batch a(c, r.a, use::reads);
  matrix_batch b(c, r.b, use::updates);
  checked_pivots pivots(c, r.pivots, failure);
  const auto lists = c.array<void*>(2 * batch);
  TRY(c.begin());
  TRY(write_series(where, lists, {a.series(), b.series()}, batch));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return in_parts(batch, [&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::getrs(handle, op, narrow(r.a.extent(1)), narrow(r.b.extent(2)),
                                    as_list<const T>(lists + from), a.ld(), pivots.of(from),
                                    as_list<T>(lists + batch + from), b.ld(), &info, count));
      return accepted(info, matrix_routines<T>::getrs.name);
    });
  }));
  return c.end();
}

result<void> run_getri(const blas::getri_batched& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(where, r.info);
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t batch = r.a.extent(0);
  call_frame c(where);
  matrix_batch a(c, r.a, use::reads);
  matrix_batch inverse(c, r.c, use::updates);  // a singular matrix leaves it as it is
  checked_pivots pivots(c, r.pivots, failure);
  const auto lists = c.array<void*>(2 * batch);
  TRY(c.begin());
  TRY(write_series(where, lists, {a.series(), inverse.series()}, batch));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return in_parts(batch, [&](std::int64_t from, int count) {
      return matrix_routines<T>::getri(handle, narrow(r.a.extent(1)),
                                       as_list<const T>(lists + from), a.ld(), pivots.of(from),
                                       as_list<T>(lists + batch + from), inverse.ld(),
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  return c.end();
}

result<void> run_geqrf(const blas::geqrf_batched& r, lane& where) {
  if (r.a.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t batch = r.a.extent(0);
  const address_series tau{r.tau.address(), r.tau.stride(0) * size_of(r.tau.type())};
  call_frame c(where);
  matrix_batch a(c, r.a, use::updates);
  const auto lists = c.array<void*>(2 * batch);
  TRY(c.begin());
  TRY(write_series(where, lists, {a.series(), tau}, batch));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return in_parts(batch, [&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::geqrf(handle, narrow(r.a.extent(1)), narrow(r.a.extent(2)),
                                    as_list<T>(lists + from), a.ld(),
                                    as_list<T>(lists + batch + from), &info, count));
      return accepted(info, matrix_routines<T>::geqrf.name);
    });
  }));
  return c.end();
}

const plugin_operations batched_factor_operations([](operation_table& table) {
  add<blas::getrf_batched>(table, run_getrf);
  add<blas::getrs_batched>(table, run_getrs);
  add<blas::getri_batched>(table, run_getri);
  add<blas::geqrf_batched>(table, run_geqrf);
});

}  // namespace

}  // namespace troupe::cuda
