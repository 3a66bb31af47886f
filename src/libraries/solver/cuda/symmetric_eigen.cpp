#include "backend/cuda/context/executor.hpp"
#include "libraries/solver/cuda/call.hpp"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/cuda/kernels/shaping.hpp"
#include "libraries/solver/cuda/kernels/spectra.hpp"
#include "libraries/solver/cuda/routines/dense.hpp"

#include <troupe/solver/symmetric_eigen.hpp>

namespace troupe::cuda {
namespace {

using place = staged::place;

constexpr std::int64_t i32_bytes = size_of(dtype::i32);
constexpr std::int64_t i64_bytes = size_of(dtype::i64);

constexpr cusolverEigMode_t mode_of(bool vectors) noexcept {
  return vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
}
constexpr part part_of(bool upper) noexcept { return upper ? part::upper : part::lower; }

result<void> clear_all(const any_tensor& t, lane& where) {
  return t.null() ? result<void>() : clear(t.address(), t.count() * size_of(t.type()), where);
}

/// All eigenvalues of the matrices of `m`, which their vectors replace.
class all_eigenvalues {
 public:
  all_eigenvalues(const cusolver_lane& solver, const matrices& m, bool vectors, bool upper,
                  solver::eigen_driver driver) noexcept
      : solver_(solver), m_(m), mode_(mode_of(vectors)), fill_(fill_mode(upper)), driver_(driver) {}

  [[nodiscard]] result<routine_bytes> bytes(const void* like) const {
    routine_bytes said;
    if (driver_ == solver::eigen_driver::jacobi) {
      auto done = for_classic_type(m_.type, [&]<class T>(T) -> result<void> {
        int count = 0;
        const auto* const any = static_cast<const T*>(like);
        auto asked = solver_routines<T>::syevj_size(
            solver_, mode_, fill_, narrow(m_.rows), any, narrow(m_.ld),
            static_cast<const real_t<T>*>(like), &count, solver_.jacobi_eigen);
        said.device = static_cast<std::size_t>(count) * sizeof(T);
        return asked;
      });
      if (!done) return std::move(done).error();
      return said;
    }
    const cudaDataType type = as_cuda(m_.type);
    const cudaDataType real = as_cuda(real_of(m_.type));
    auto done = at_once()
                    ? check(cusolverDnXsyevBatched_bufferSize(
                                solver_.handle, solver_.parameters, mode_, fill_, m_.rows, type,
                                like, m_.ld, real, like, type, &said.device, &said.host, m_.count),
                            "cusolverDnXsyevBatched_bufferSize", solver_.stream)
                    : check(cusolverDnXsyevd_bufferSize(solver_.handle, solver_.parameters, mode_,
                                                        fill_, m_.rows, type, like, m_.ld, real,
                                                        like, type, &said.device, &said.host),
                            "cusolverDnXsyevd_bufferSize", solver_.stream);
    if (!done) return std::move(done).error();
    return said;
  }

  /// Writes to `w` [count, n].
  [[nodiscard]] result<void> run(const workroom& room, std::byte* w, std::int32_t* info) const {
    const routine_bytes& bytes = room.routine();
    const cudaDataType type = as_cuda(m_.type);
    const cudaDataType real = as_cuda(real_of(m_.type));
    if (at_once()) {
      return check(cusolverDnXsyevBatched(solver_.handle, solver_.parameters, mode_, fill_, m_.rows,
                                          type, m_.at(0), m_.ld, real, w, type, room.device(),
                                          bytes.device, room.host(), bytes.host, info, m_.count),
                   "cusolverDnXsyevBatched", solver_.stream);
    }
    const std::int64_t step = m_.rows * size_of(real_of(m_.type));
    return for_each_matrix(m_.count, [&](std::int64_t b) -> result<void> {
      if (driver_ == solver::eigen_driver::jacobi) {
        return for_classic_type(m_.type, [&]<class T>(T) {
          return solver_routines<T>::syevj(
              solver_, mode_, fill_, narrow(m_.rows), m_.at<T>(b), narrow(m_.ld),
              reinterpret_cast<real_t<T>*>(w + b * step), static_cast<T*>(room.device()),
              room.elements<T>(), info + b, solver_.jacobi_eigen);
        });
      }
      return check(cusolverDnXsyevd(solver_.handle, solver_.parameters, mode_, fill_, m_.rows, type,
                                    m_.at(b), m_.ld, real, w + b * step, type, room.device(),
                                    bytes.device, room.host(), bytes.host, info + b),
                   "cusolverDnXsyevd", solver_.stream);
    });
  }

 private:
  /// Its matrices lie without gaps between columns and between each other.
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

/// Sets aside what has infinities or NaNs; the diagonal is made real.
result<void> prepare(const matrices& m, bool upper, std::uint32_t* flags, lane& where) {
  if (is_complex(m.type)) {
    auto done = shape_triangle(m, {.upper = upper, .real_diagonal = true}, where);
    if (!done) return done;
  }
  return set_aside_not_finite(m, part_of(upper), flags, where);
}

result<void> run_eigh(const solver::eigh& r, lane& where, late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) {
    if (auto done = clear_all(r.count, where); !done) return done;
    return clear_all(r.info, where);
  }
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  const bool upper = r.uplo == blas::uplo::upper;
  const bool all = r.range == solver::eigen_range::all;
  workroom room;
  // Vectors that are all wanted come where they are to be.
  staged work(all && r.vectors ? r.v : r.a, all && r.vectors ? place::columns : place::copy,
              room.parts());
  const std::int64_t values = r.w.extent(r.w.rank() - 1);
  const std::size_t some_at = room.add(all ? 0 : n * values * count * size_of(work->type));
  const std::size_t w_at = room.add(n * count * size_of(real_of(work->type)));
  const std::size_t scales_at = room.add(count * size_of(real_of(work->type)));
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  const std::size_t chosen_at = room.add((2 * count + 1) * i64_bytes);
  const all_eigenvalues routine(**solver, *work, r.vectors, upper, r.driver);
  auto bytes = routine.bytes(r.a.address());
  if (!bytes) return std::move(bytes).error();
  room.add_routine(*bytes);
  if (auto taken = room.take(where); !taken) return taken;
  work.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  auto* const w = room.at<std::byte>(w_at);
  auto* const places = room.at<std::int64_t>(chosen_at);
  const chosen which{.first = places,
                     .found = places + count,
                     .most = reinterpret_cast<unsigned long long*>(places + 2 * count)};
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = clear(which.most, i64_bytes, where); !done) return done;
  if (auto done = work.load(r.a, where); !done) return done;
  if (auto done = prepare(*work, upper, flags, where); !done) return done;
  // Of small and large numbers cuSOLVER's vectors lose digits.
  auto* const scales = room.at<std::byte>(scales_at);
  if (auto done = scale_into_range(*work, part_of(upper), scales, where); !done) return done;
  if (auto done = routine.run(room, w, info); !done) return done;
  if (auto done = divide_by_scales(*work, w, n, scales, where); !done) return done;
  if (auto done = choose_eigenvalues(r, w, flags, which, where); !done) return done;
  if (r.vectors && all) {
    if (auto done = work.store(where); !done) return done;
  } else if (r.vectors) {
    const matrices some = packed(room.at<std::byte>(some_at), work->type, n, values, count);
    if (auto done = choose_columns(*work, which, some, where); !done) return done;
    if (auto done = copy(as_tensor(some, r.v), r.v, where); !done) return done;
  }
  if (r.range == solver::eigen_range::values) {
    if (auto done = report_capacity(which, values, failure, where); !done) return done;
  }
  return report({.info = info, .flags = flags, .count = count, .words = solver::off_diagonals},
                r.info, r.a, failure, where);
}

result<void> run_eigh_generalised(const solver::eigh_generalised& r, lane& where,
                                  late_failure failure) {
  const std::int64_t count = cuda::batch_of(r.a);
  const std::int64_t n = columns_of(r.a);
  if (count == 0) return {};
  if (n == 0) return clear_all(r.info, where);
  auto solver = cusolver_of(where);
  if (!solver) return std::move(solver).error();
  constexpr cusolverEigType_t types[] = {CUSOLVER_EIG_TYPE_1, CUSOLVER_EIG_TYPE_2,
                                         CUSOLVER_EIG_TYPE_3};
  const cusolverEigType_t type = types[static_cast<int>(r.problem)];
  const cusolverEigMode_t mode = mode_of(r.vectors);
  const bool upper = r.uplo == blas::uplo::upper;
  workroom room;
  staged a(r.vectors ? r.v : r.a, r.vectors ? place::columns : place::copy, room.parts());
  staged b(r.b, place::copy, room.parts());
  const dtype real = real_of(a->type);
  const std::size_t w_at = room.add(n * count * size_of(real));
  const std::size_t info_at = room.add(count * i32_bytes);
  const std::size_t flags_at = room.add(count * i32_bytes);
  auto sized = for_classic_type(a->type, [&]<class T>(T) -> result<void> {
    int elements = 0;
    const auto* const any = r.a.data<T>();
    auto asked = solver_routines<T>::sygvd_size(**solver, type, mode, fill_mode(upper), narrow(n),
                                                static_cast<const T*>(any), narrow(a->ld),
                                                static_cast<const T*>(any), narrow(b->ld),
                                                reinterpret_cast<const real_t<T>*>(any), &elements);
    room.add_routine({.device = static_cast<std::size_t>(elements) * sizeof(T)});
    return asked;
  });
  if (!sized) return sized;
  if (auto taken = room.take(where); !taken) return taken;
  a.place_in(room.base());
  b.place_in(room.base());
  auto* const info = room.at<std::int32_t>(info_at);
  auto* const flags = room.at<std::uint32_t>(flags_at);
  if (auto done = clear(flags, count * i32_bytes, where); !done) return done;
  if (auto done = a.load(r.a, where); !done) return done;
  if (auto done = b.load(r.b, where); !done) return done;
  if (auto done = prepare(*a, upper, flags, where); !done) return done;
  if (auto done = prepare(*b, upper, flags, where); !done) return done;
  auto found = for_classic_type(a->type, [&]<class T>(T) {
    auto* const w = room.at<real_t<T>>(w_at);
    return for_each_matrix(count, [&](std::int64_t matrix) {
      return solver_routines<T>::sygvd(
          **solver, type, mode, fill_mode(upper), narrow(n), a->template at<T>(matrix),
          narrow(a->ld), b->template at<T>(matrix), narrow(b->ld), w + matrix * n,
          static_cast<T*>(room.device()), room.elements<T>(), info + matrix);
    });
  });
  if (!found) return found;
  if (auto done = copy_first(room.at<std::byte>(w_at), n, r.w, where); !done) return done;
  if (r.vectors) {
    if (auto done = a.store(where); !done) return done;
  }
  return report({.info = info,
                 .flags = flags,
                 .count = count,
                 .words = solver::off_diagonals,
                 .other_from = n,
                 .other = solver::bad_minor_of_b},
                r.info, r.a, failure, where);
}

const plugin_operations operations([](operation_table& table) {
  add<solver::eigh>(table, run_eigh, effort::blocks_host);
  add<solver::eigh_generalised>(table, run_eigh_generalised, effort::blocks_host);
});

}  // namespace
}  // namespace troupe::cuda
