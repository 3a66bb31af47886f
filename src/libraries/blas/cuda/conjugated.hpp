#pragma once

#include "backend/cuda/context/call_frame.hpp"
#include "libraries/blas/cuda/call.hpp"
#include "libraries/blas/cuda/kernels/vectors.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/tensor/scalar.hpp>

#include <cstdint>

/// Level 2 with a conjugated matrix that is not transposed, which cuBLAS lacks: the vectors are
/// conjugated instead.
namespace troupe::cuda {

/// A storage_op as cuBLAS takes it, if the vectors take its `conjugate`.
[[nodiscard]] constexpr cublasOperation_t as_cublas(blas::storage_op o) noexcept {
  switch (o) {
    case blas::storage_op::none:
    case blas::storage_op::conjugate:
      return CUBLAS_OP_N;
    case blas::storage_op::transpose:
      return CUBLAS_OP_T;
    case blas::storage_op::conjugate_transpose:
      return CUBLAS_OP_C;
  }
  return CUBLAS_OP_N;
}

/// The operation that makes a matrix in order `stored` the matrix of the request, as far as cuBLAS
/// has it. A row-major matrix is transposed, or conjugated and transposed. The conjugate of a
/// column-major one is taken by the vectors.
[[nodiscard]] constexpr cublasOperation_t as_cublas(blas::order stored, blas::op o) noexcept {
  if (stored == blas::order::column_major) return CUBLAS_OP_N;
  return o == blas::op::conjugate ? CUBLAS_OP_C : CUBLAS_OP_T;
}
[[nodiscard]] constexpr bool vectors_take_conjugate(blas::order stored, blas::op o) noexcept {
  return stored == blas::order::column_major && o == blas::op::conjugate;
}

/// y = beta · y, for products without terms. With an alpha of zero, cuBLAS reads the factors, and
/// their NaNs would reach y.
template <class T>
[[nodiscard]] result<void> scale_vector(const lane& where, const any_tensor& y,
                                        const scalar& beta) {
  const auto elements = elements_of<T>(y);
  if (blas::vanishes(beta, y.type())) return clear(where, elements);
  return multiply_by(where, elements, beta.as<T>());
}

/// y = alpha · m · x + beta · y for the matrix m of `product`, or for conj(m): then what runs is
/// conj(y) = conj(alpha) · m · conj(x) + conj(beta) · conj(y). `product` is called once with
/// (const T* alpha, const T* x, increment of x, const T* beta) and adds to r.y.
template <class T, class Request, class Product>
[[nodiscard]] result<void> multiply_vector(lane& where, const Request& r, bool conjugated,
                                           Product product) {
  T alpha = r.alpha.template as<T>();
  T beta = r.beta.template as<T>();
  if (alpha == T{}) return scale_vector<T>(where, r.y, r.beta);
  if constexpr (complex_v<T>) {
    if (conjugated) {
      const auto y = elements_of<T>(r.y);
      call_frame c(where);
      const auto x = c.array<T>(r.x.extent(0));
      TRY(c.begin());
      TRY(copy_conjugate(where, elements_of<T>(r.x), x.get()));
      if (beta != T{}) TRY(conjugate_in_place(where, y));
      alpha = conjugate(alpha);
      beta = conjugate(beta);
      TRY(product(&alpha, x, std::int64_t{1}, &beta));
      return conjugate_in_place(where, y);
    }
  }
  return product(&alpha, r.x.template data<T>(), blas::increment(r.x), &beta);
}

/// x = f(m) · x for the matrix m and the function f (itself, its inverse) of `update`, or for
/// conj(m): then what runs is conj(x) = f(m) · conj(x).
template <class T, class Update>
[[nodiscard]] result<void> update_vector(const lane& where, const any_tensor& x, bool conjugated,
                                         Update update) {
  if constexpr (complex_v<T>) {
    if (conjugated) {
      const auto elements = elements_of<T>(x);
      TRY(conjugate_in_place(where, elements));
      TRY(update());
      return conjugate_in_place(where, elements);
    }
  }
  return update();
}

}  // namespace troupe::cuda
