#include "libraries/solver/cuda/routines/products.hpp"

#include "base/try.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"
#include "libraries/solver/cuda/call.hpp"

namespace troupe::cuda {

result<void> multiply(cublasOperation_t op_a, const matrices& a, const matrices& b,
                      const matrices& c, std::int64_t matrix, lane& where) {
  const auto handle = TRY(cublas_of(where));
  const cudaDataType type = as_cuda(a.type);
  const bool is_single = real_of(a.type) == dtype::f32;
  return for_classic_type(a.type, [&]<class T>(T) {
    const T one = 1;
    const T zero = 0;
    return check(
        cublasGemmEx_64(handle, op_a, CUBLAS_OP_N, c.rows, c.columns, b.rows, &one, a.at(matrix),
                        type, a.ld, b.at(matrix), type, b.ld, &zero, c.at(matrix), type, c.ld,
                        is_single ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx_64", handle);
  });
}

result<void> solve_upper(cublasOperation_t op, const matrices& r, std::int64_t n, const matrices& b,
                         std::int64_t matrix, lane& where) {
  const auto handle = TRY(cublas_of(where));
  return for_classic_type(r.type, [&]<class T>(T) {
    const T one = 1;
    return matrix_routines<T>::trsm(
        handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_UPPER, op, CUBLAS_DIAG_NON_UNIT, n, b.columns,
        &one, static_cast<const T*>(r.at<T>(matrix)), r.ld, b.at<T>(matrix), b.ld);
  });
}

}  // namespace troupe::cuda
