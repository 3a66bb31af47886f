#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/symmetric_eigen.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i64_bytes = size_of(dtype::i64);

constexpr cusolverEigMode_t mode_of(bool vectors) noexcept {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}
constexpr part part_of(bool upper) noexcept { return upper ? part::upper : part::lower; }

/// All eigenvalues of the matrices of `m`, which their vectors overwrite.
class all_eigenvalues {
 public:
  all_eigenvalues(const cusolver_lane& solver, const matrices& m, bool vectors, bool upper,
                  solver::eigen_driver driver) noexcept
      : solver_(solver), m_(m), mode_(mode_of(vectors)), fill_(fill_mode(upper)), driver_(driver) {}

  [[nodiscard]] result<routine_bytes> bytes(const void* like) const {
    routine_bytes said;
    if (driver_ == solver::eigen_driver::jacobi) {
      TRY(for_classic_type(m_.type, [&]<class T>(T) -> result<void> {
        int count = 0;
        const auto* const any = static_cast<const T*>(like);
        auto asked = solver_routines<T>::syevj_size(
            solver_, mode_, fill_, narrow(m_.rows), any, narrow(m_.ld),
            static_cast<const real_t<T>*>(like), &count, solver_.jacobi_eigen);
        said.device = static_cast<std::size_t>(count) * sizeof(T);
        return asked;
      }));
      return said;
    }
    const cudaDataType type = as_cuda(m_.type);
    const cudaDataType real = as_cuda(real_of(m_.type));
    TRY(at_once() ? check(cusolverDnXsyevBatched_bufferSize(
                              solver_.handle, solver_.parameters, mode_, fill_, m_.rows, type, like,
                              m_.ld, real, like, type, &said.device, &said.host, m_.count),
                          "cusolverDnXsyevBatched_bufferSize", solver_.stream)
                  : check(cusolverDnXsyevd_bufferSize(solver_.handle, solver_.parameters, mode_,
                                                      fill_, m_.rows, type, like, m_.ld, real, like,
                                                      type, &said.device, &said.host),
                          "cusolverDnXsyevd_bufferSize", solver_.stream));
    return said;
  }

  /// Writes to `w` [count, n].
  [[nodiscard]] result<void> run(const call_frame& c, std::byte* w, std::int32_t* info) const {
    const routine_bytes& bytes = c.shared_bytes();
    const cudaDataType type = as_cuda(m_.type);
    const cudaDataType real = as_cuda(real_of(m_.type));
    if (at_once()) {
      return check(
          cusolverDnXsyevBatched(solver_.handle, solver_.parameters, mode_, fill_, m_.rows, type,
                                 m_.at(0), m_.ld, real, w, type, c.shared(), bytes.device,
                                 c.shared_host(), bytes.host, info, m_.count),
          "cusolverDnXsyevBatched", solver_.stream);
    }
    const std::int64_t step = m_.rows * size_of(real_of(m_.type));
    return for_each_matrix(m_.count, [&](std::int64_t b) -> result<void> {
      if (driver_ == solver::eigen_driver::jacobi) {
        return for_classic_type(m_.type, [&]<class T>(T) {
          return solver_routines<T>::syevj(
              solver_, mode_, fill_, narrow(m_.rows), m_.at<T>(b), narrow(m_.ld),
              reinterpret_cast<real_t<T>*>(w + b * step), reinterpret_cast<T*>(c.shared()),
              c.shared_elements<T>(), info + b, solver_.jacobi_eigen);
        });
      }
      return check(cusolverDnXsyevd(solver_.handle, solver_.parameters, mode_, fill_, m_.rows, type,
                                    m_.at(b), m_.ld, real, w + b * step, type, c.shared(),
                                    bytes.device, c.shared_host(), bytes.host, info + b),
                   "cusolverDnXsyevd", solver_.stream);
    });
  }

 private:
  /// True if one call can do all matrices; it needs packed ones.
  [[nodiscard]] bool at_once() const noexcept {
    return driver_ != solver::eigen_driver::jacobi && m_.count > 1 && m_.rows <= 512 &&
           m_.ld == m_.rows && m_.step == m_.rows * m_.columns;
  }

  const cusolver_lane& solver_;
  const matrices& m_;
  cusolverEigMode_t mode_;
  cublasFillMode_t fill_;
  solver::eigen_driver driver_;
};

/// Sets aside matrices with infinities or NaNs, and makes the diagonals real.
result<void> prepare(const matrices& m, bool upper, std::uint32_t* flags, lane& where) {
  if (is_complex(m.type)) TRY(shape_triangle(m, {.upper = upper, .real_diagonal = true}, where));
  return set_aside_not_finite(m, part_of(upper), flags, where);
}

result<void> run_eigh(const solver::eigh& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) {
    TRY(clear(r.count, where));
    return clear(r.info, where);
  }
  const auto solver = TRY(cusolver_of(where));
  const bool upper = r.uplo == blas::uplo::upper;
  const bool all = r.range == solver::eigen_range::all;
  call_frame c(where);
  // If all vectors are wanted, they are computed in the result.
  const bool in_place = all && r.vectors;
  staged work(c, in_place ? r.v : r.a, in_place ? place::columns : place::copy,
              {.reads = &r.a, .writes = in_place});
  const std::int64_t values = r.w.extent(r.w.rank() - 1);
  frame_matrices some(c, work->type, n, values, count, !all);
  const auto w = c.bytes(n * count * size_of(real_of(work->type)));
  const auto scales = c.bytes(count * size_of(real_of(work->type)));
  const auto info = c.array<std::int32_t>(count);
  const auto flags = c.array<std::uint32_t>(count);
  const auto places = c.array<std::int64_t>(2 * count + 1);
  const all_eigenvalues routine(*solver, *work, r.vectors, upper, r.driver);
  c.share(TRY(routine.bytes(r.a.address())));
  TRY(c.begin());
  const chosen which{.first = places,
                     .found = places + count,
                     .most = reinterpret_cast<unsigned long long*>(places + 2 * count)};
  TRY(clear(flags, count * i32_bytes, where));
  TRY(clear(which.most, i64_bytes, where));
  TRY(prepare(*work, upper, flags, where));
  // cuSOLVER's vectors lose digits if the elements are very small or large.
  TRY(scale_into_range(*work, part_of(upper), scales, where));
  TRY(routine.run(c, w, info));
  TRY(divide_by_scales(*work, w, n, scales, where));
  TRY(choose_eigenvalues(r, w, flags, which, where));
  if (r.vectors && !all) {
    TRY(choose_columns(*work, which, *some, where));
    TRY(copy(as_tensor(*some, r.v), r.v, where));
  }
  TRY(c.end());
  if (r.range == solver::eigen_range::values) TRY(report_capacity(which, values, failure, where));
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_eigh_generalised(const solver::eigh_generalised& r, lane& where,
                                  late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) return clear(r.info, where);
  const auto solver = TRY(cusolver_of(where));
  constexpr cusolverEigType_t types[] = {CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_TYPE_2,
                                         CUSOLVER_EIG_TYPE_3};
  const cusolverEigType_t type = types[static_cast<int>(r.problem)];
  const cusolverEigMode_t mode = mode_of(r.vectors);
  const bool upper = r.uplo == blas::uplo::upper;
  call_frame c(where);
  staged a(c, r.vectors ? r.v : r.a, r.vectors ? place::columns : place::copy,
           {.reads = &r.a, .writes = r.vectors});
  staged b(c, r.b, place::copy, {.reads = &r.b});
  const auto w = c.bytes(n * count * size_of(real_of(a->type)));
  const auto info = c.array<std::int32_t>(count);
  const auto flags = c.array<std::uint32_t>(count);
  TRY(for_classic_type(a->type, [&]<class T>(T) -> result<void> {
    int elements = 0;
    const auto* const any = r.a.data<T>();
    auto asked = solver_routines<T>::sygvd_size(*solver, type, mode, fill_mode(upper), narrow(n),
                                                static_cast<const T*>(any), narrow(a->ld),
                                                static_cast<const T*>(any), narrow(b->ld),
                                                reinterpret_cast<const real_t<T>*>(any), &elements);
    c.share(static_cast<std::size_t>(elements) * sizeof(T));
    return asked;
  }));
  TRY(c.begin());
  TRY(clear(flags, count * i32_bytes, where));
  TRY(prepare(*a, upper, flags, where));
  TRY(prepare(*b, upper, flags, where));
  TRY(for_classic_type(a->type, [&]<class T>(T) {
    return for_each_matrix(count, [&](std::int64_t matrix) {
      return solver_routines<T>::sygvd(
          *solver, type, mode, fill_mode(upper), narrow(n), a->template at<T>(matrix),
          narrow(a->ld), b->template at<T>(matrix), narrow(b->ld),
          reinterpret_cast<real_t<T>*>(w.get()) + matrix * n, reinterpret_cast<T*>(c.shared()),
          c.shared_elements<T>(), info + matrix);
    });
  }));
  TRY(copy_first(w, n, r.w, where));
  TRY(c.end());
  return report({.info = info,
                 .flags = flags,
                 .count = count,
                 .words = solver::off_diagonals,
                 .other_from = n,
                 .other = solver::bad_minor_of_b},
                r.info, r.a, failure, where);
}

const plugin_operations symmetric_eigen_operations([](operation_table& table) {
  add<solver::eigh>(table, run_eigh, effort::blocks_host);
  add<solver::eigh_generalised>(table, run_eigh_generalised, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
