#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/kernels/pivots.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"

#include <troupe/blas/batched_factor.hpp>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace troupe::cuda {
namespace {

// These routines count in 32 bits. Extents within a matrix fit, which is checked; leading
// dimensions and batches may not.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

constexpr int narrow(std::int64_t value) noexcept { return static_cast<int>(value); }

/// A batch of column-major matrices as these routines take it.
struct matrix_batch {
  batch_place place;
  batch_extents extents;
  dtype type;
  bool moved = false;  ///< its columns are too far apart: packed copies in the workspace

  explicit matrix_batch(const any_tensor& t) noexcept
      : place(place_of(t)), extents(extents_of(t)), type(t.type()) {
    // What a stride of one row or column says has no meaning.
    place.row = 1;
    place.column = blas::leading_dimension(t, blas::order::column_major);
    moved = place.column > most;
  }
  [[nodiscard]] std::int64_t copy_bytes() const noexcept {
    return moved ? extents.rows * extents.columns * extents.count * size_of(type) : 0;
  }
  [[nodiscard]] batch_place packed_at(std::byte* to) const noexcept {
    return {.first = to, .row = 1, .column = extents.rows, .batch = extents.rows * extents.columns};
  }
  [[nodiscard]] address_series series() const noexcept {
    return {place.first, place.batch * size_of(type)};
  }
  [[nodiscard]] int ld() const noexcept { return narrow(place.column); }
};

/// One or two batches, the lists of their matrices, 32-bit integers for pivots and a place for the
/// first bad one, in device memory.
class prepared {
 public:
  /// Takes the workspace for all of it; enqueues nothing. Where `tau` is given, the second list is
  /// of its rows.
  [[nodiscard]] static result<prepared> make(lane& where,
                                             std::initializer_list<matrix_batch> batches,
                                             std::int64_t pivots = 0,
                                             const any_tensor* tau = nullptr) {
    prepared made(where, batches);
    pieces all;
    const std::size_t at_pivots = all.add(pivots * size_of(dtype::i32));
    const std::size_t at_first_bad = all.add(pivots > 0 ? size_of(dtype::u64) : 0);
    std::array<std::size_t, 2> at_copies{};
    for (std::size_t i = 0; i < made.used_; ++i)
      at_copies[i] = all.add(made.batches_[i].copy_bytes());
    const std::size_t at_lists = all.add(address_bytes(2, made.count()));
    std::byte* const memory = TRY(where.workspace(all.bytes())).data();
    made.pivots_ = reinterpret_cast<std::int32_t*>(memory + at_pivots);
    made.first_bad_ = reinterpret_cast<std::uint64_t*>(memory + at_first_bad);
    made.lists_ = reinterpret_cast<void**>(memory + at_lists);
    for (std::size_t i = 0; i < made.used_; ++i)
      made.copies_[i] = memory + at_copies[i];
    if (tau != nullptr) made.tau_ = {tau->address(), tau->stride(0) * size_of(tau->type())};
    return made;
  }

  /// Enqueues the packed copies, where there are any, and the lists.
  [[nodiscard]] result<void> begin() {
    std::array<address_series, 2> series{address_series{}, tau_};
    for (std::size_t i = 0; i < used_; ++i) {
      matrix_batch& one = batches_[i];
      homes_[i] = one.place;
      if (one.moved) {
        one.place = one.packed_at(copies_[i]);
        TRY(combine(where_, one.type, one.extents, one.place, {.place = homes_[i], .factor = 1}));
      }
      series[i] = one.series();
    }
    return write_series(where_, lists_, {series[0], series[1]}, count());
  }

  /// Enqueues bringing the `i`-th batch home, where it was moved.
  [[nodiscard]] result<void> bring_home(std::size_t i) const {
    const matrix_batch& one = batches_[i];
    if (!one.moved) return {};
    return combine(where_, one.type, one.extents, homes_[i], {.place = one.place, .factor = 1});
  }

  /// Calls `call(from, count)` for parts of the batch that 32 bits can count.
  template <class Call>
  [[nodiscard]] result<void> in_parts(Call call) const {
    for (std::int64_t from = 0; from < count(); from += most) {
      TRY(call(from, narrow(std::min(most, count() - from))));
    }
    return {};
  }

  [[nodiscard]] std::int64_t count() const noexcept { return batches_[0].extents.count; }
  [[nodiscard]] int ld(std::size_t i) const noexcept { return batches_[i].ld(); }
  [[nodiscard]] std::int32_t* pivots() const noexcept { return pivots_; }
  [[nodiscard]] std::uint64_t* first_bad() const noexcept { return first_bad_; }
  /// The `i`-th list, from one matrix on.
  template <class T>
  [[nodiscard]] T* const* list(std::size_t i, std::int64_t from) const noexcept {
    return reinterpret_cast<T* const*>(lists_ + static_cast<std::int64_t>(i) * count() + from);
  }

 private:
  prepared(lane& where, std::initializer_list<matrix_batch> batches) noexcept
      : where_(where), batches_{*batches.begin(), *(batches.end() - 1)}, used_(batches.size()) {}

  lane& where_;
  std::array<matrix_batch, 2> batches_;
  std::array<batch_place, 2> homes_{};
  std::array<std::byte*, 2> copies_{};
  address_series tau_{};
  std::size_t used_;
  std::int32_t* pivots_ = nullptr;
  std::uint64_t* first_bad_ = nullptr;
  void** lists_ = nullptr;
};

result<void> clear_info(lane& where, const any_tensor& info) {
  if (info.empty()) return {};
  return check(cudaMemsetAsync(info.address(), 0,
                               static_cast<std::size_t>(info.extent(0) * size_of(info.type())),
                               where.stream()),
               "cudaMemsetAsync");
}

/// What a routine says about its arguments, in host memory; cuBLAS refuses the call as well then.
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
  prepared on = TRY(prepared::make(where, {matrix_batch(r.a)}));
  TRY(on.begin());
  const std::int64_t n = r.a.extent(1);
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) {
      return matrix_routines<T>::getrf(handle, narrow(n), on.list<T>(0, from), on.ld(0),
                                       r.pivots.data<std::int32_t>() + from * n,
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  return on.bring_home(0);
}

result<void> run_getrs(const blas::getrs_batched& r, lane& where, late_failure failure) {
  if (r.b.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t n = r.a.extent(1);
  constexpr cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  const cublasOperation_t op = operations[static_cast<int>(r.op_a)];
  prepared on =
      TRY(prepared::make(where, {matrix_batch(r.a), matrix_batch(r.b)}, r.pivots.count()));
  TRY(admit_pivots(where, r.pivots, on.pivots(), on.first_bad()));
  TRY(on.begin());
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      auto called = matrix_routines<T>::getrs(
          handle, op, narrow(n), narrow(r.b.extent(2)), on.list<const T>(0, from), on.ld(0),
          static_cast<const std::int32_t*>(on.pivots() + from * n), on.list<T>(1, from), on.ld(1),
          &info, count);
      return called ? accepted(info, matrix_routines<T>::getrs.name) : std::move(called);
    });
  }));
  TRY(on.bring_home(1));
  return report_pivots(where, r.pivots, on.first_bad(), failure);
}

result<void> run_getri(const blas::getri_batched& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(where, r.info);
  const cublasHandle_t handle = TRY(cublas_of(where));
  const std::int64_t n = r.a.extent(1);
  prepared on =
      TRY(prepared::make(where, {matrix_batch(r.a), matrix_batch(r.c)}, r.pivots.count()));
  TRY(admit_pivots(where, r.pivots, on.pivots(), on.first_bad()));
  TRY(on.begin());
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) {
      return matrix_routines<T>::getri(handle, narrow(n), on.list<const T>(0, from), on.ld(0),
                                       static_cast<const std::int32_t*>(on.pivots() + from * n),
                                       on.list<T>(1, from), on.ld(1),
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  TRY(on.bring_home(1));
  return report_pivots(where, r.pivots, on.first_bad(), failure);
}

result<void> run_geqrf(const blas::geqrf_batched& r, lane& where) {
  if (r.a.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  prepared on = TRY(prepared::make(where, {matrix_batch(r.a)}, 0, &r.tau));
  TRY(on.begin());
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      auto called = matrix_routines<T>::geqrf(handle, narrow(r.a.extent(1)), narrow(r.a.extent(2)),
                                              on.list<T>(0, from), on.ld(0), on.list<T>(1, from),
                                              &info, count);
      return called ? accepted(info, matrix_routines<T>::geqrf.name) : std::move(called);
    });
  }));
  return on.bring_home(0);
}

const plugin_operations batched_factor_operations([](operation_table& table) {
  add<blas::getrf_batched>(table, run_getrf);
  add<blas::getrs_batched>(table, run_getrs);
  add<blas::getri_batched>(table, run_getri);
  add<blas::geqrf_batched>(table, run_geqrf);
});

}  // namespace

}  // namespace troupe::cuda
