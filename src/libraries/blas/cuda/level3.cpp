#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"
#include "libraries/blas/cuda/product/product.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level3.hpp>

namespace troupe::cuda {
namespace {

result<void> run_gemm(const blas::gemm& r, lane& where) {
  return multiply({r.a, r.b, r.c, r.alpha, r.beta, r.op_a, r.op_b, r.math}, where);
}

/// Conjugation without transposition, which cuBLAS lacks.
bool conjugates_in_place(const any_tensor& t, blas::order stored, blas::order wanted,
                         blas::op op) noexcept {
  return op == blas::op::conjugate && is_complex(t.type()) && stored == wanted;
}

cublasOperation_t transposition(blas::order stored, blas::order wanted, blas::op op) noexcept {
  if (stored == wanted) return CUBLAS_OP_N;
  return op == blas::op::conjugate ? CUBLAS_OP_C : CUBLAS_OP_T;
}

result<void> run_geam(const blas::geam& r, lane& where) {
  if (r.c.empty()) return {};
  const auto c = blas::layout_of(r.c);
  const auto a = blas::layout_of(r.a, c.order);
  const auto b = blas::layout_of(r.b, c.order);
  // cuBLAS does not say that an operand without weight is not read.
  if (blas::vanishes(r.alpha, r.c.type()) || blas::vanishes(r.beta, r.c.type()) ||
      conjugates_in_place(r.a, a.order, c.order, r.op_a) ||
      conjugates_in_place(r.b, b.order, c.order, r.op_b)) {
    const auto term = [](const any_tensor& t, const scalar& factor, blas::op op) {
      return batch_term{
          .place = place_of(t), .factor = factor, .conjugated = op == blas::op::conjugate};
    };
    return combine(where, r.c.type(), extents_of(r.c), place_of(r.c), term(r.a, r.alpha, r.op_a),
                   term(r.b, r.beta, r.op_b));
  }
  const cublasHandle_t handle = TRY(cublas_of(where));
  const bool columns = c.order == blas::order::column_major;
  return for_classic_type(r.c.type(), [&]<class T>(T) {
    const T alpha = r.alpha.as<T>();
    const T beta = r.beta.as<T>();
    const T* const first_a = r.a.data<T>();
    const T* const first_b = r.b.data<T>();
    return matrix_routines<T>::geam(
        handle, transposition(a.order, c.order, r.op_a), transposition(b.order, c.order, r.op_b),
        r.c.extent(columns ? 0 : 1), r.c.extent(columns ? 1 : 0), &alpha, first_a, a.ld, &beta,
        first_b, b.ld, r.c.data<T>(), c.ld);
  });
}

result<void> run_dgmm(const blas::dgmm& r, lane& where) {
  if (r.c.empty()) return {};
  const cublasHandle_t handle = TRY(cublas_of(where));
  const auto order = *blas::common_order({&r.a, &r.c});  // checked
  const bool columns = order == blas::order::column_major;
  return for_classic_type(r.c.type(), [&]<class T>(T) {
    const T* const first_a = r.a.data<T>();
    const T* const first_x = r.x.data<T>();
    return matrix_routines<T>::dgmm(
        handle, as_cublas(columns ? r.side : other(r.side)), r.c.extent(columns ? 0 : 1),
        r.c.extent(columns ? 1 : 0), first_a, blas::leading_dimension(r.a, order), first_x,
        blas::increment(r.x), r.c.data<T>(), blas::leading_dimension(r.c, order));
  });
}

const plugin_operations level3_operations([](operation_table& table) {
  add<blas::gemm>(table, run_gemm);
  add<blas::geam>(table, run_geam);
  add<blas::dgmm>(table, run_dgmm);
});

}  // namespace

}  // namespace troupe::cuda
