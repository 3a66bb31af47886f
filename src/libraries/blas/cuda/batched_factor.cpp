#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
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
/// first bad one, in the workspace.
class prepared final : call_frame::step {
 public:
  /// The last batch is brought home. Where `tau` is given, the second list is of its rows.
  prepared(call_frame& c, std::initializer_list<matrix_batch> batches, std::int64_t pivots = 0,
           const any_tensor* tau = nullptr)
      : step(c),
        batches_{*batches.begin(), *(batches.end() - 1)},
        used_(batches.size()),
        pivots_(c.array<std::int32_t>(pivots)),
        first_bad_(c.array<std::uint64_t>(pivots > 0 ? 1 : 0)) {
    for (std::size_t i = 0; i < used_; ++i)
      copies_[i] = c.bytes(batches_[i].copy_bytes());
    lists_ = c.array<void*>(2 * count());
    if (tau != nullptr) tau_ = {tau->address(), tau->stride(0) * size_of(tau->type())};
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
    return reinterpret_cast<T* const*>(lists_.get() + static_cast<std::int64_t>(i) * count() +
                                       from);
  }

 private:
  /// Enqueues the packed copies, where there are any, and the lists.
  result<void> before(lane& where) override {
    std::array<address_series, 2> series{address_series{}, tau_};
    for (std::size_t i = 0; i < used_; ++i) {
      matrix_batch& one = batches_[i];
      home_ = one.place;
      if (one.moved) {
        one.place = one.packed_at(copies_[i]);
        TRY(combine(where, one.type, one.extents, one.place, {.place = home_, .factor = 1}));
      }
      series[i] = one.series();
    }
    return write_series(where, lists_, {series[0], series[1]}, count());
  }
  result<void> after(lane& where) override {
    const matrix_batch& one = batches_[used_ - 1];
    if (!one.moved) return {};
    return combine(where, one.type, one.extents, home_, {.place = one.place, .factor = 1});
  }

  std::array<matrix_batch, 2> batches_;
  std::size_t used_;
  frame_array<std::int32_t> pivots_;
  frame_array<std::uint64_t> first_bad_;
  std::array<frame_array<std::byte>, 2> copies_{};
  frame_array<void*> lists_;
  batch_place home_{};  ///< of the last batch
  address_series tau_{};
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
  const auto handle = TRY(cublas_of(where));
  call_frame c(where);
  prepared on(c, {matrix_batch(r.a)});
  TRY(c.begin());
  const std::int64_t n = r.a.extent(1);
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) {
      return matrix_routines<T>::getrf(handle, narrow(n), on.list<T>(0, from), on.ld(0),
                                       r.pivots.data<std::int32_t>() + from * n,
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  return c.end();
}

result<void> run_getrs(const blas::getrs_batched& r, lane& where, late_failure failure) {
  if (r.b.empty()) return {};
  const auto handle = TRY(cublas_of(where));
  const std::int64_t n = r.a.extent(1);
  constexpr cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  const cublasOperation_t op = operations[static_cast<int>(r.op_a)];
  call_frame c(where);
  prepared on(c, {matrix_batch(r.a), matrix_batch(r.b)}, r.pivots.count());
  TRY(c.begin());
  TRY(admit_pivots(where, r.pivots, on.pivots(), on.first_bad()));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::getrs(handle, op, narrow(n), narrow(r.b.extent(2)),
                                    on.list<const T>(0, from), on.ld(0),
                                    static_cast<const std::int32_t*>(on.pivots() + from * n),
                                    on.list<T>(1, from), on.ld(1), &info, count));
      return accepted(info, matrix_routines<T>::getrs.name);
    });
  }));
  TRY(c.end());
  return report_pivots(where, r.pivots, on.first_bad(), failure);
}

result<void> run_getri(const blas::getri_batched& r, lane& where, late_failure failure) {
  if (r.a.empty()) return clear_info(where, r.info);
  const auto handle = TRY(cublas_of(where));
  const std::int64_t n = r.a.extent(1);
  call_frame c(where);
  prepared on(c, {matrix_batch(r.a), matrix_batch(r.c)}, r.pivots.count());
  TRY(c.begin());
  TRY(admit_pivots(where, r.pivots, on.pivots(), on.first_bad()));
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) {
      return matrix_routines<T>::getri(handle, narrow(n), on.list<const T>(0, from), on.ld(0),
                                       static_cast<const std::int32_t*>(on.pivots() + from * n),
                                       on.list<T>(1, from), on.ld(1),
                                       r.info.data<std::int32_t>() + from, count);
    });
  }));
  TRY(c.end());
  return report_pivots(where, r.pivots, on.first_bad(), failure);
}

result<void> run_geqrf(const blas::geqrf_batched& r, lane& where) {
  if (r.a.empty()) return {};
  const auto handle = TRY(cublas_of(where));
  call_frame c(where);
  prepared on(c, {matrix_batch(r.a)}, 0, &r.tau);
  TRY(c.begin());
  TRY(for_classic_type(r.a.type(), [&]<class T>(T) {
    return on.in_parts([&](std::int64_t from, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::geqrf(handle, narrow(r.a.extent(1)), narrow(r.a.extent(2)),
                                    on.list<T>(0, from), on.ld(0), on.list<T>(1, from), &info,
                                    count));
      return accepted(info, matrix_routines<T>::geqrf.name);
    });
  }));
  return c.end();
}

const plugin_operations operations([](operation_table& table) {
  add<blas::getrf_batched>(table, run_getrf);
  add<blas::getrs_batched>(table, run_getrs);
  add<blas::getri_batched>(table, run_getri);
  add<blas::geqrf_batched>(table, run_geqrf);
});

}  // namespace

}  // namespace troupe::cuda
