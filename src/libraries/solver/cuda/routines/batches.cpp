#include "libraries/solver/cuda/routines/batches.hpp"

#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"
#include "libraries/solver/cuda/call.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace troupe::cuda {
namespace {

/// Calls `call(first, count)` for parts of a batch whose size fits in 32 bits.
template <class Call>
result<void> in_parts(std::int64_t all, Call call) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t first = 0; first < all; first += most) {
    TRY(call(first, narrow(std::min(most, all - first))));
  }
  return {};
}

/// Converts the status that a routine returns about its arguments, in host memory.
result<void> accepted(int info, std::string_view call) {
  if (info == 0) return {};
  return error{.code = errc::library_error,
               .message = "argument " + std::to_string(-info) + " has an illegal value",
               .library = "cublas",
               .call = std::string(call)};
}

}  // namespace

result<void> write_list(const listed& l, lane& where) {
  return write_series(where, l.list, {{l.all.first, l.all.step * size_of(l.all.type)}},
                      l.all.count);
}

result<void> getrf_batched(const listed& a, std::int32_t* pivots, std::int32_t* info, lane& where) {
  const auto handle = TRY(cublas_of(where));
  const std::int64_t n = a.all.rows;
  return for_classic_type(a.all.type, [&]<class T>(T) {
    return in_parts(a.all.count, [&](std::int64_t first, int count) {
      return matrix_routines<T>::getrf(handle, narrow(n), a.from<T>(first), narrow(a.all.ld),
                                       pivots + first * n, info + first, count);
    });
  });
}

result<void> getrs_batched(const listed& a, cublasOperation_t op, const std::int32_t* pivots,
                           const listed& b, lane& where) {
  const auto handle = TRY(cublas_of(where));
  const std::int64_t n = a.all.rows;
  return for_classic_type(a.all.type, [&]<class T>(T) {
    return in_parts(a.all.count, [&](std::int64_t first, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::getrs(handle, op, narrow(n), narrow(b.all.columns),
                                    a.from<const T>(first), narrow(a.all.ld), pivots + first * n,
                                    b.from<T>(first), narrow(b.all.ld), &info, count));
      return accepted(info, matrix_routines<T>::getrs.name);
    });
  });
}

result<void> potrf_batched(const listed& a, bool upper, std::int32_t* info, lane& where) {
  const auto solver = TRY(cusolver_of(where));
  return for_classic_type(a.all.type, [&]<class T>(T) {
    return in_parts(a.all.count, [&](std::int64_t first, int count) {
      // The routine does not write to the list, although its signature is not const.
      return solver_routines<T>::potrf_batched(*solver, fill_mode(upper), narrow(a.all.rows),
                                               const_cast<T**>(a.from<T>(first)), narrow(a.all.ld),
                                               info + first, count);
    });
  });
}

result<void> potrs_batched(const listed& a, bool upper, const listed& b, lane& where) {
  const auto handle = TRY(cublas_of(where));
  const cublasOperation_t ops[] = {upper ? CUBLAS_OP_C : CUBLAS_OP_N,
                                   upper ? CUBLAS_OP_N : CUBLAS_OP_C};
  return for_classic_type(a.all.type, [&]<class T>(T) {
    const T one = 1;
    return in_parts(a.all.count, [&](std::int64_t first, int count) -> result<void> {
      for (const cublasOperation_t op : ops) {
        TRY(matrix_routines<T>::trsm_batched(handle, CUBLAS_SIDE_LEFT, fill_mode(upper), op,
                                             CUBLAS_DIAG_NON_UNIT, a.all.rows, b.all.columns, &one,
                                             a.from<const T>(first), a.all.ld, b.from<T>(first),
                                             b.all.ld, static_cast<std::int64_t>(count)));
      }
      return {};
    });
  });
}

result<void> geqrf_batched(const listed& a, void** tau, lane& where) {
  const auto handle = TRY(cublas_of(where));
  return for_classic_type(a.all.type, [&]<class T>(T) {
    return in_parts(a.all.count, [&](std::int64_t first, int count) -> result<void> {
      int info = 0;
      TRY(matrix_routines<T>::geqrf(handle, narrow(a.all.rows), narrow(a.all.columns),
                                    a.from<T>(first), narrow(a.all.ld),
                                    reinterpret_cast<T* const*>(tau + first), &info, count));
      return accepted(info, matrix_routines<T>::geqrf.name);
    });
  });
}

}  // namespace troupe::cuda
