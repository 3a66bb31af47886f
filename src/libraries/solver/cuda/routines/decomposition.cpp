#include "libraries/solver/cuda/routines/decomposition.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace troupe::cuda {
namespace {

// Of cuSOLVER's routine for many matrices at once. Source: cuSOLVER documentation, gesvdjBatched.
constexpr std::int64_t largest_at_once = 32;
// From here on a polar decomposition is faster than Jacobi.
constexpr std::int64_t least_polar = 64;

constexpr cusolverEigMode_t mode_of(bool vectors) noexcept {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}

}  // namespace

decomposition::method decomposition::choose(const wanted& what) const noexcept {
  using solver::svd_driver;
  switch (what.driver) {
    case svd_driver::qr:
      return method::qr;
    case svd_driver::polar:
      return method::polar;
    case svd_driver::approximate:
      return method::approximate;
    case svd_driver::jacobi:
    case svd_driver::automatic:
    case svd_driver::randomised:
      break;
  }
  if (a_.count > 1 && a_.rows <= largest_at_once) return method::jacobi_at_once;
  const bool polar = what.driver == svd_driver::automatic && a_.columns >= least_polar;
  return polar ? method::polar : method::jacobi;
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
  made.values_ = made.method_ == method::approximate ? what.values : columns;
  made.a_at_ = room.add(bytes_of(made.a_));
  made.s_at_ = room.add(made.values_ * count * size_of(real_of(type)));
  std::int64_t first = made.method_ == method::approximate ? made.values_ : columns;
  const std::int64_t second = first;
  // This one writes all of them.
  if (made.full() || made.method_ == method::jacobi_at_once) first = rows;
  made.first_ = packed(nullptr, type, rows, first, count);
  made.second_ = packed(nullptr, type, columns, second, count);
  made.turned_ = made.second_;
  // Where there are no vectors routines still look at where they would be.
  const std::int64_t kept = made.has_vectors() ? 1 : 0;
  made.first_at_ = room.add(kept * bytes_of(made.first_));
  made.second_at_ = room.add(kept * bytes_of(made.second_));
  if (made.method_ == method::qr) made.turned_at_ = room.add(kept * bytes_of(made.turned_));
  made.must_be_exact_ =
      made.method_ == method::polar && what.driver == solver::svd_driver::automatic;
  for (const method by : {made.method_, made.must_be_exact_ ? method::jacobi : made.method_}) {
    auto bytes = made.bytes(by, like);
    if (!bytes) return std::move(bytes).error();
    room.add_routine(*bytes);
  }
  return made;
}

void decomposition::place_in(std::byte* base) noexcept {
  a_.first = base + a_at_;
  s_ = base + s_at_;
  first_.first = base + first_at_;
  second_.first = base + second_at_;
  turned_.first = base + turned_at_;
}

result<void> decomposition::load(const any_tensor& a, std::uint32_t* flags, lane& where) {
  source_ = a;
  flags_ = flags;
  return load_again(where);
}

result<void> decomposition::load_again(lane& where) const {
  const any_tensor from = wide_ ? source_.transpose() : source_;
  if (auto done = copy(from, as_tensor(a_, source_), where); !done) return done;
  if (wide_) {
    if (auto done = conjugate(a_, where); !done) return done;
  }
  return set_aside_not_finite(a_, part::all, flags_, where);
}

result<routine_bytes> decomposition::bytes(method by, const void* like) const {
  routine_bytes said;
  const cudaDataType type = as_cuda(a_.type);
  const cudaDataType real = as_cuda(real_of(a_.type));
  const cusolverEigMode_t mode = mode_of(has_vectors());
  if (by == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    auto asked = check(cusolverDnXgesvd_bufferSize(solver_.handle, solver_.parameters, job, job,
                                                   a_.rows, a_.columns, type, like, a_.ld, real,
                                                   like, type, like, first_.ld, type, like,
                                                   second_.ld, type, &said.device, &said.host),
                       "cusolverDnXgesvd_bufferSize", solver_.stream);
    if (!asked) return std::move(asked).error();
    return said;
  }
  if (by == method::polar) {
    auto asked = check(cusolverDnXgesvdp_bufferSize(
                           solver_.handle, solver_.parameters, mode, full() ? 0 : 1, a_.rows,
                           a_.columns, type, like, a_.ld, real, like, type, like, first_.ld, type,
                           like, second_.ld, type, &said.device, &said.host),
                       "cusolverDnXgesvdp_bufferSize", solver_.stream);
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
    if (by == method::approximate) {
      done = routine::gesvda_size(
          solver_, mode, narrow(values_), rows, columns, any, narrow(a_.ld),
          static_cast<long long>(a_.step), any_real, static_cast<long long>(values_), any,
          narrow(first_.ld), static_cast<long long>(first_.step), any, narrow(second_.ld),
          static_cast<long long>(second_.step), &elements, narrow(a_.count));
    } else if (by == method::jacobi_at_once) {
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

result<void> decomposition::run_one(method by, const workroom& room, std::int64_t b,
                                    std::int32_t* info, double* perturbation) const {
  const routine_bytes& bytes = room.routine();
  const cudaDataType type = as_cuda(a_.type);
  const dtype real_type = real_of(a_.type);
  const cudaDataType real = as_cuda(real_type);
  const cusolverEigMode_t mode = mode_of(has_vectors());
  std::byte* const s = s_ + b * values_ * size_of(real_type);
  if (by == method::qr) {
    const signed char job = has_vectors() ? (full() ? 'A' : 'S') : 'N';
    return check(cusolverDnXgesvd(solver_.handle, solver_.parameters, job, job, a_.rows, a_.columns,
                                  type, a_.at(b), a_.ld, real, s, type, first_.at(b), first_.ld,
                                  type, turned_.at(b), turned_.ld, type, room.device(),
                                  bytes.device, room.host(), bytes.host, info + b),
                 "cusolverDnXgesvd", solver_.stream);
  }
  if (by == method::polar) {
    return check(
        cusolverDnXgesvdp(solver_.handle, solver_.parameters, mode, full() ? 0 : 1, a_.rows,
                          a_.columns, type, a_.at(b), a_.ld, real, s, type, first_.at(b), first_.ld,
                          type, second_.at(b), second_.ld, type, room.device(), bytes.device,
                          room.host(), bytes.host, info + b, perturbation),
        "cusolverDnXgesvdp", solver_.stream);
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
  const cusolverEigMode_t mode = mode_of(has_vectors());
  return for_classic_type(a_.type, [&]<class T>(T) {
    using routine = solver_routines<T>;
    auto* const s = reinterpret_cast<real_t<T>*>(s_);
    auto* const work = static_cast<T*>(room.device());
    const int work_elements = room.elements<T>();
    if (method_ == method::approximate) {
      // Without the norms of what is left, which would make it wait.
      return routine::gesvda(solver_, mode, narrow(values_), narrow(a_.rows), narrow(a_.columns),
                             static_cast<const T*>(a_.at<T>(0)), narrow(a_.ld),
                             static_cast<long long>(a_.step), s, static_cast<long long>(values_),
                             first_.at<T>(0), narrow(first_.ld),
                             static_cast<long long>(first_.step), second_.at<T>(0),
                             narrow(second_.ld), static_cast<long long>(second_.step), work,
                             work_elements, info, static_cast<double*>(nullptr), narrow(a_.count));
    }
    return routine::gesvdj_batched(solver_, mode, narrow(a_.rows), narrow(a_.columns), a_.at<T>(0),
                                   narrow(a_.ld), s, first_.at<T>(0), narrow(first_.ld),
                                   second_.at<T>(0), narrow(second_.ld), work, work_elements, info,
                                   solver_.jacobi_svd, narrow(a_.count));
  });
}

// A polar decomposition moves a matrix with a singular value near zero away from that, and says by
// how much. Source: cuSOLVER documentation, cusolverDnXgesvdp, h_err_sigma.
result<bool> decomposition::is_exact(std::int64_t b, double perturbation, lane& where) const {
  if (perturbation == 0) return true;
  const bool is_single = real_of(a_.type) == dtype::f32;
  float single = 0;
  double largest = 0;
  const std::int64_t bytes = size_of(real_of(a_.type));
  void* const to = is_single ? static_cast<void*>(&single) : &largest;
  auto done = check(cudaMemcpyAsync(to, s_ + b * values_ * bytes, static_cast<std::size_t>(bytes),
                                    cudaMemcpyDeviceToHost, where.stream()),
                    "cudaMemcpyAsync");
  if (done) done = check(cudaStreamSynchronize(where.stream()), "cudaStreamSynchronize");
  if (!done) return std::move(done).error();
  if (is_single) largest = static_cast<double>(single);
  const double epsilon = is_single ? static_cast<double>(std::numeric_limits<float>::epsilon())
                                   : std::numeric_limits<double>::epsilon();
  return perturbation <= epsilon * largest;
}

result<void> decomposition::run_exactly(const workroom& room, std::int32_t* info,
                                        lane& where) const {
  std::vector<std::int64_t> inexact;
  auto done = for_each_matrix(a_.count, [&](std::int64_t b) -> result<void> {
    double perturbation = 0;
    if (auto one = run_one(method::polar, room, b, info, &perturbation); !one) return one;
    auto exact = is_exact(b, perturbation, where);
    if (!exact) return std::move(exact).error();
    if (!*exact) inexact.push_back(b);
    return {};
  });
  if (!done || inexact.empty()) return done;
  if (auto loaded = load_again(where); !loaded) return loaded;
  for (const std::int64_t b : inexact) {
    if (auto one = run_one(method::jacobi, room, b, info, nullptr); !one) return one;
  }
  return {};
}

result<void> decomposition::run(const workroom& room, std::int32_t* info, lane& where) const {
  if (method_ == method::jacobi_at_once || method_ == method::approximate) {
    return run_all(room, info);
  }
  if (must_be_exact_) return run_exactly(room, info, where);
  double perturbation = 0;
  auto done = for_each_matrix(
      a_.count, [&](std::int64_t b) { return run_one(method_, room, b, info, &perturbation); });
  if (!done || method_ != method::qr || !has_vectors()) return done;
  if (auto conjugated = conjugate(turned_, where); !conjugated) return conjugated;
  const any_tensor like =
      any_tensor::unowned(nullptr, a_.type, {a_.count, turned_.rows, turned_.columns});
  return copy(as_tensor(turned_, like).transpose(), as_tensor(second_, like), where);
}

}  // namespace troupe::cuda
