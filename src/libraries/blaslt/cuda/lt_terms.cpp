#include "libraries/blaslt/cuda/lt_terms.hpp"

#include "libraries/blas/cuda/planner/compute_type.hpp"

namespace troupe::cuda {

using blaslt::arithmetic;
using blaslt::epilogue;
using blaslt::scaling;

cublasComputeType_t compute_type(const blaslt::matmul& r,
                                 const blaslt::combination& types) noexcept {
  switch (types.computed) {
    case arithmetic::f64:
      return CUBLAS_COMPUTE_64F;
    case arithmetic::i32:
    case arithmetic::i32_scaled:
      return CUBLAS_COMPUTE_32I;
    case arithmetic::complex:
      if (r.a.type() == dtype::c128) return CUBLAS_COMPUTE_64F;
      break;
    case arithmetic::f32:
    case arithmetic::i8_f32:
    case arithmetic::fp8:
      break;
  }
  return compute_for(r.math);
}

dtype factor_type(const blaslt::combination& types) noexcept {
  switch (types.computed) {
    case arithmetic::f64:
    case arithmetic::complex:
      return types.d;
    case arithmetic::i32:
      return dtype::i32;
    case arithmetic::f32:
    case arithmetic::i32_scaled:
    case arithmetic::i8_f32:
    case arithmetic::fp8:
      break;
  }
  return dtype::f32;
}

cublasLtEpilogue_t as_lt(epilogue e, bool swapped) noexcept {
  switch (e) {
    case epilogue::none:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case epilogue::relu:
      return CUBLASLT_EPILOGUE_RELU;
    case epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU;
    case epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case epilogue::relu_bias:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case epilogue::gelu_bias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case epilogue::relu_aux:
      return CUBLASLT_EPILOGUE_RELU_AUX;
    case epilogue::gelu_aux:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case epilogue::relu_aux_bias:
      return CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    case epilogue::gelu_aux_bias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case epilogue::drelu:
      return CUBLASLT_EPILOGUE_DRELU;
    case epilogue::dgelu:
      return CUBLASLT_EPILOGUE_DGELU;
    case epilogue::drelu_bgrad:
      return CUBLASLT_EPILOGUE_DRELU_BGRAD;
    case epilogue::dgelu_bgrad:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case epilogue::bgrad_a:
      return swapped ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
    case epilogue::bgrad_b:
      return swapped ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

std::int32_t as_lt(scaling s) noexcept {
  switch (s) {
    case scaling::tensor:
      return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    case scaling::outer_vector:
      return CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    case scaling::block_128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
    case scaling::block_128x128:
      return CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
  }
  return CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
}

cublasOperation_t as_lt(const blaslt::stored_matrix& as, blas::op op, dtype type) noexcept {
  if (!as.transposed) return CUBLAS_OP_N;
  return op == blas::op::conjugate && is_complex(type) ? CUBLAS_OP_C : CUBLAS_OP_T;
}

}  // namespace troupe::cuda
