#include "libraries/solver/cuda/routines/decomposition.hpp"

#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

// Of cuSOLVER's routine for many matrices at once. Source: cuSOLVER documentation, gesvdjBatched.
constexpr std::int64_t largest_at_once = 32;

constexpr cusolverEigMode_t mode_of(bool vectors) noexcept {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

}  // namespace

decomposition::method decomposition::choose(const wanted& what) const noexcept {
  using solver::svd_driver;
  switch (what.driver) {
    case svd_driver::qr:
      return method::qr;
    case svd_driver::approximate:  // see limits::cusolver::approximate
    case svd_driver::polar:        // see limits::cusolver::polar
    case svd_driver::jacobi:
    case svd_driver::automatic:
    case svd_driver::randomised:
      break;
  }
  return a_.count > 1 && a_.rows <= largest_at_once ? method::jacobi_at_once : method::jacobi;
}

result<decomposition> decomposition::make(const cusolver_lane& solver, const wanted& what,
                                          dtype type, std::int64_t m, std::int64_t n,
                                          std::int64_t count, const void* like, workroom& room) {
  decomposition made(solver);
  made.vectors_ = what.vectors;
  made.wide_ = m < n;
  const std::int64_t rows = std::max(m, n);
  const std::int64_t columns = std::min(m, n);
  made.a_ = packed(nullptr, type, rows, columns, count);
  made.method_ = made.choose(what);
  made.values_ = columns;
  made.a_at_ = room.add(bytes_of(made.a_));
  made.s_at_ = room.add(columns * count * size_of(real_of(type)));
  // This one writes all of them.
  const bool all = made.full() || made.method_ == method::jacobi_at_once;
  made.first_ = packed(nullptr, type, rows, all ? rows : columns, count);
  made.second_ = packed(nullptr, type, columns, columns, count);
  made.turned_ = made.second_;
  const std::int64_t kept = made.writes_vectors() ? 1 : 0;
  made.first_at_ = room.add(kept * bytes_of(made.first_));
  made.second_at_ = room.add(kept * bytes_of(made.second_));
  made.scales_at_ = room.add(count * size_of(real_of(type)));
  if (made.method_ == method::qr) made.turned_at_ = room.add(kept * bytes_of(made.turned_));
  auto bytes = made.bytes(like);
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  return made;
}

void decomposition::place_in(std::byte* base) noexcept {
  a_.first = base + a_at_;
  s_ = base + s_at_;
  scales_ = base + scales_at_;
  first_.first = base + first_at_;
  second_.first = base + second_at_;
  turned_.first = base + turned_at_;
}

result<void> decomposition::load(const any_tensor& a, std::uint32_t* flags, lane& where) const {
  if (auto done = copy(wide_ ? a.transpose() : a, as_tensor(a_, a), where); !done) return done;
  if (wide_) {
    if (auto done = conjugate(a_, where); !done) return done;
  }
  auto set_aside = set_aside_not_finite(a_, part::all, flags, where);
  // See limits::cusolver::range.
  return set_aside && method_ == method::qr ? scale_into_range(a_, part::all, scales_, where)
                                            : std::move(set_aside);
}

result<routine_bytes> decomposition::bytes(const void* like) const {
  routine_bytes said;
  const cudaDataType type = as_cuda(a_.type);
  const cudaDataType real = as_cuda(real_of(a_.type));
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  if (method_ == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    auto asked = check(cusolverDnXgesvd_bufferSize(solver_.handle, solver_.parameters, job, job,
                                                   a_.rows, a_.columns, type, like, a_.ld, real,
                                                   like, type, like, first_.ld, type, like,
                                                   second_.ld, type, &said.device, &said.host),
                       "cusolverDnXgesvd_bufferSize", solver_.stream);
    if (!asked) return std::move(asked).error();
    return said;
  }
  auto asked = for_classic_type(a_.type, [&]<class T>(T) -> result<void> {
    using routine = solver_routines<T>;
    const auto* const any = static_cast<const T*>(like);
    const auto* const any_real = static_cast<const real_t<T>*>(like);
    const int rows = narrow(a_.rows);
    const int columns = narrow(a_.columns);
    int elements = 0;
    result<void> done;
    if (method_ == method::jacobi_at_once) {
      done = routine::gesvdj_batched_size(solver_, mode, rows, columns, any, narrow(a_.ld),
                                          any_real, any, narrow(first_.ld), any, narrow(second_.ld),
                                          &elements, solver_.jacobi_svd, narrow(a_.count));
    } else {
      done = routine::gesvdj_size(solver_, mode, full() ? 0 : 1, rows, columns, any, narrow(a_.ld),
                                  any_real, any, narrow(first_.ld), any, narrow(second_.ld),
                                  &elements, solver_.jacobi_svd);
    }
    said.device = static_cast<std::size_t>(elements) * sizeof(T);
    return done;
  });
  if (!asked) return std::move(asked).error();
  return said;
}

result<void> decomposition::run_one(const workroom& room, std::int64_t b,
                                    std::int32_t* info) const {
  const routine_bytes& bytes = room.routine();
  const cudaDataType type = as_cuda(a_.type);
  const dtype real_type = real_of(a_.type);
  const cudaDataType real = as_cuda(real_type);
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  std::byte* const s = s_ + b * values_ * size_of(real_type);
  if (method_ == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    return check(cusolverDnXgesvd(solver_.handle, solver_.parameters, job, job, a_.rows, a_.columns,
                                  type, a_.at(b), a_.ld, real, s, type, first_.at(b), first_.ld,
                                  type, turned_.at(b), turned_.ld, type, room.device(),
                                  bytes.device, room.host(), bytes.host, info + b),
                 "cusolverDnXgesvd", solver_.stream);
  }
  return for_classic_type(a_.type, [&]<class T>(T) {
    return solver_routines<T>::gesvdj(
        solver_, mode, full() ? 0 : 1, narrow(a_.rows), narrow(a_.columns), a_.at<T>(b),
        narrow(a_.ld), reinterpret_cast<real_t<T>*>(s), first_.at<T>(b), narrow(first_.ld),
        second_.at<T>(b), narrow(second_.ld), static_cast<T*>(room.device()), room.elements<T>(),
        info + b, solver_.jacobi_svd);
  });
}

result<void> decomposition::run_all(const workroom& room, std::int32_t* info) const {
  const cusolverEigMode_t mode = mode_of(writes_vectors());
  return for_classic_type(a_.type, [&]<class T>(T) {
    using routine = solver_routines<T>;
    auto* const s = reinterpret_cast<real_t<T>*>(s_);
    auto* const work = static_cast<T*>(room.device());
    const int work_elements = room.elements<T>();
    return routine::gesvdj_batched(solver_, mode, narrow(a_.rows), narrow(a_.columns), a_.at<T>(0),
                                   narrow(a_.ld), s, first_.at<T>(0), narrow(first_.ld),
                                   second_.at<T>(0), narrow(second_.ld), work, work_elements, info,
                                   solver_.jacobi_svd, narrow(a_.count));
  });
}

result<void> decomposition::run(const workroom& room, std::int32_t* info, lane& where) const {
  if (method_ == method::jacobi_at_once) return run_all(room, info);
  auto done = for_each_matrix(a_.count, [&](std::int64_t b) { return run_one(room, b, info); });
  if (!done || method_ != method::qr) return done;
  if (auto scaled = divide_by_scales(a_, s_, values_, scales_, where); !scaled) return scaled;
  if (!has_vectors()) return {};
  if (auto conjugated = conjugate(turned_, where); !conjugated) return conjugated;
  const any_tensor like =
      any_tensor::unowned(nullptr, a_.type, {a_.count, turned_.rows, turned_.columns});
  return copy(as_tensor(turned_, like).transpose(), as_tensor(second_, like), where);
}

}  // namespace troupe::cuda
