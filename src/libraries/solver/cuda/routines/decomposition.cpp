#include "libraries/solver/cuda/routines/decomposition.hpp"

#include "base/try.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

// The limit of cuSOLVER's batched routine. Source: cuSOLVER documentation, gesvdjBatched.
constexpr std::int64_t largest_at_once = 32;

constexpr cusolverEigMode_t mode_of(bool vectors) noexcept {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

}  // namespace

decomposition::method decomposition::choose(solver::svd_driver driver, std::int64_t rows,
                                            std::int64_t count) noexcept {
  using solver::svd_driver;
  switch (driver) {
    case svd_driver::qr:
      return method::qr;
    case svd_driver::approximate:  // see limits::cusolver::approximate
    case svd_driver::polar:        // see limits::cusolver::polar
    case svd_driver::jacobi:
    case svd_driver::automatic:
    case svd_driver::randomised:
      break;
  }
  return count > 1 && rows <= largest_at_once ? method::jacobi_at_once : method::jacobi;
}

decomposition::decomposition(call_frame& c, const cusolver_lane& solver, const wanted& what,
                             dtype type, std::int64_t m, std::int64_t n, std::int64_t count)
    : frame_(c),
      solver_(solver),
      vectors_(what.vectors),
      method_(choose(what.driver, std::max(m, n), count)),
      wide_(m < n),
      values_(std::min(m, n)),
      a_(c, type, std::max(m, n), values_, count),
      s_(c.bytes(values_ * count * size_of(real_of(type)))),
      // The batched routine writes all columns.
      first_(c, type, a_->rows, full() || method_ == method::jacobi_at_once ? a_->rows : values_,
             count, writes_vectors()),
      second_(c, type, values_, values_, count, writes_vectors()),
      turned_(c, type, values_, values_, count, writes_vectors() && method_ == method::qr),
      scales_(c.bytes(count * size_of(real_of(type)))) {}

result<void> decomposition::load(const any_tensor& a, std::uint32_t* flags, lane& where) const {
  TRY(copy(wide_ ? a.transpose() : a, as_tensor(*a_, a), where));
  if (wide_) TRY(conjugate(*a_, where));
  auto set_aside = set_aside_not_finite(*a_, part::all, flags, where);
  // See limits::cusolver::range.
  return set_aside && method_ == method::qr ? scale_into_range(*a_, part::all, scales_, where)
                                            : std::move(set_aside);
}

result<routine_bytes> decomposition::bytes(const void* like) const {
  routine_bytes said;
  const cudaDataType type = as_cuda(a_->type);
  const cudaDataType real = as_cuda(real_of(a_->type));
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  if (method_ == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    TRY(check(cusolverDnXgesvd_bufferSize(solver_.handle, solver_.parameters, job, job, a_->rows,
                                          a_->columns, type, like, a_->ld, real, like, type, like,
                                          first_->ld, type, like, second_->ld, type, &said.device,
                                          &said.host),
              "cusolverDnXgesvd_bufferSize", solver_.stream));
    return said;
  }
  TRY(for_classic_type(a_->type, [&]<class T>(T) -> result<void> {
    using routine = solver_routines<T>;
    const auto* const any = static_cast<const T*>(like);
    const auto* const any_real = static_cast<const real_t<T>*>(like);
    const int rows = narrow(a_->rows);
    const int columns = narrow(a_->columns);
    int elements = 0;
    result<void> done;
    if (method_ == method::jacobi_at_once) {
      done = routine::gesvdj_batched_size(
          solver_, mode, rows, columns, any, narrow(a_->ld), any_real, any, narrow(first_->ld), any,
          narrow(second_->ld), &elements, solver_.jacobi_svd, narrow(a_->count));
    } else {
      done = routine::gesvdj_size(solver_, mode, full() ? 0 : 1, rows, columns, any, narrow(a_->ld),
                                  any_real, any, narrow(first_->ld), any, narrow(second_->ld),
                                  &elements, solver_.jacobi_svd);
    }
    said.device = static_cast<std::size_t>(elements) * sizeof(T);
    return done;
  }));
  return said;
}

result<void> decomposition::run_one(std::int64_t b, std::int32_t* info) const {
  const routine_bytes& bytes = frame_.shared_bytes();
  const cudaDataType type = as_cuda(a_->type);
  const dtype real_type = real_of(a_->type);
  const cudaDataType real = as_cuda(real_type);
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  std::byte* const s = s_ + b * values_ * size_of(real_type);
  if (method_ == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    return check(
        cusolverDnXgesvd(solver_.handle, solver_.parameters, job, job, a_->rows, a_->columns, type,
                         a_->at(b), a_->ld, real, s, type, first_->at(b), first_->ld, type,
                         turned_->at(b), turned_->ld, type, frame_.shared(), bytes.device,
                         frame_.shared_host(), bytes.host, info + b),
        "cusolverDnXgesvd", solver_.stream);
  }
  return for_classic_type(a_->type, [&]<class T>(T) {
    return solver_routines<T>::gesvdj(solver_, mode, full() ? 0 : 1, narrow(a_->rows),
                                      narrow(a_->columns), a_->template at<T>(b), narrow(a_->ld),
                                      reinterpret_cast<real_t<T>*>(s), first_->template at<T>(b),
                                      narrow(first_->ld), second_->template at<T>(b),
                                      narrow(second_->ld), reinterpret_cast<T*>(frame_.shared()),
                                      frame_.shared_elements<T>(), info + b, solver_.jacobi_svd);
  });
}

result<void> decomposition::run_all(std::int32_t* info) const {
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  return for_classic_type(a_->type, [&]<class T>(T) {
    using routine = solver_routines<T>;
    auto* const s = reinterpret_cast<real_t<T>*>(s_.get());
    auto* const work = reinterpret_cast<T*>(frame_.shared());
    const int work_elements = frame_.shared_elements<T>();
    return routine::gesvdj_batched(
        solver_, mode, narrow(a_->rows), narrow(a_->columns), a_->template at<T>(0), narrow(a_->ld),
        s, first_->template at<T>(0), narrow(first_->ld), second_->template at<T>(0),
        narrow(second_->ld), work, work_elements, info, solver_.jacobi_svd, narrow(a_->count));
  });
}

result<void> decomposition::run(std::int32_t* info, lane& where) const {
  if (method_ == method::jacobi_at_once) return run_all(info);
  auto done = for_each_matrix(a_->count, [&](std::int64_t b) { return run_one(b, info); });
  if (!done || method_ != method::qr) return done;
  TRY(divide_by_scales(*a_, s_, values_, scales_, where));
  if (!has_vectors()) return {};
  TRY(conjugate(*turned_, where));
  const any_tensor like =
      any_tensor::unowned(nullptr, a_->type, {a_->count, turned_->rows, turned_->columns});
  return copy(as_tensor(*turned_, like).transpose(), as_tensor(*second_, like), where);
}

}  // namespace troupe::cuda
