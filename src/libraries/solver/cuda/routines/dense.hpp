#pragma once

#include "base/try.hpp"
#include "libraries/solver/cuda/cusolver.hpp"
#include "libraries/solver/cuda/matrices.hpp"

#include <troupe/base/result.hpp>

#include <cstdint>

/// Routines of cuSOLVER on one matrix of a batch, with 64-bit sizes if available. Each `_bytes`
/// function returns the workspace of a routine; its `like` is any address of device memory.
namespace troupe::cuda {

struct on_matrix {
  const cusolver_lane& solver;
  const call_frame& frame;
  const matrices& a;
  std::int64_t matrix = 0;  ///< its number in the batch
  std::int32_t* info = nullptr;
};

[[nodiscard]] result<routine_bytes> getrf_bytes(const cusolver_lane& s, const matrices& a,
                                                const void* like);
/// `pivots` are those of this matrix.
[[nodiscard]] result<void> getrf(const on_matrix& on, std::int64_t* pivots);
/// Overwrites the matrix of `b`.
[[nodiscard]] result<void> getrs(const on_matrix& on, cublasOperation_t op,
                                 const std::int64_t* pivots, const matrices& b);

[[nodiscard]] result<routine_bytes> potrf_bytes(const cusolver_lane& s, const matrices& a,
                                                bool upper, const void* like);
[[nodiscard]] result<void> potrf(const on_matrix& on, bool upper);
[[nodiscard]] result<void> potrs(const on_matrix& on, bool upper, const matrices& b);
[[nodiscard]] result<routine_bytes> potri_bytes(const cusolver_lane& s, const matrices& a,
                                                bool upper, const void* like);
[[nodiscard]] result<void> potri(const on_matrix& on, bool upper);

/// Symmetric matrices that need not be definite. `pivots` are those of this matrix.
[[nodiscard]] result<routine_bytes> sytrf_bytes(const cusolver_lane& s, const matrices& a);
[[nodiscard]] result<void> sytrf(const on_matrix& on, bool upper, std::int32_t* pivots);

[[nodiscard]] result<routine_bytes> trtri_bytes(const cusolver_lane& s, const matrices& a,
                                                bool upper, bool unit, const void* like);
[[nodiscard]] result<void> trtri(const on_matrix& on, bool upper, bool unit);

[[nodiscard]] result<routine_bytes> geqrf_bytes(const cusolver_lane& s, const matrices& a,
                                                const void* like);
/// `tau` is that of this matrix.
[[nodiscard]] result<void> geqrf(const on_matrix& on, void* tau);
/// Stores Q of the first `reflectors` columns in the columns of `a`.
[[nodiscard]] result<routine_bytes> orgqr_bytes(const cusolver_lane& s, const matrices& a,
                                                std::int64_t reflectors, const void* like);
[[nodiscard]] result<void> orgqr(const on_matrix& on, std::int64_t reflectors, const void* tau);

/// Multiplies the matrix of `c` by Q, whose reflectors are in `a`.
struct by_q {
  cublasSideMode_t side = CUBLAS_SIDE_LEFT;
  cublasOperation_t op = CUBLAS_OP_N;
  std::int64_t reflectors = 0;
};
[[nodiscard]] result<routine_bytes> ormqr_bytes(const cusolver_lane& s, const matrices& a,
                                                const by_q& how, const matrices& c,
                                                const void* like);
[[nodiscard]] result<void> ormqr(const on_matrix& on, const by_q& how, const void* tau,
                                 const matrices& c);

/// Calls `call(b)` for each matrix of a batch.
template <class Call>
[[nodiscard]] result<void> for_each_matrix(std::int64_t count, Call call) {
  for (std::int64_t b = 0; b < count; ++b) {
    TRY(call(b));
  }
  return {};
}

}  // namespace troupe::cuda
