#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/combine.hpp"
#include "libraries/blas/cuda/matrix_routines.hpp"
#include "libraries/blas/requests/factors.hpp"

#include <troupe/blas/level3_symmetric.hpp>

#include <initializer_list>

namespace troupe::cuda {
namespace {

/// Runs `call` with the lane's handle in the request's math mode.
template <class Request, class Call>
result<void> in_math_mode(const Request& r, lane& where, Call call) {
  const cublasHandle_t handle = TRY(cublas_of(where));
  return with_math(handle, r.math, [&] { return call(handle); });
}

// A row-major product is taken as the transposed one: the other side, extents exchanged. --------

result<void> run_symm(const blas::symm& r, lane& where) {
  if (r.c.empty()) return {};
  if (blas::vanishes(r.alpha, r.c.type())) return scale(where, r.c, r.beta);
  const auto order = *blas::common_order({&r.b, &r.c});  // checked
  const bool columns = order == blas::order::column_major;
  const auto a = blas::layout_of(r.a, order);  // symmetric, so its order decides on uplo only
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_classic_type(r.c.type(), [&]<class T>(T) {
      const T alpha = r.alpha.as<T>();
      const T beta = r.beta.as<T>();
      const T* const first_a = r.a.data<T>();
      const T* const first_b = r.b.data<T>();
      return matrix_routines<T>::symm(handle, as_cublas(columns ? r.side : other(r.side)),
                                      triangle(a.order, r.uplo), r.c.extent(columns ? 0 : 1),
                                      r.c.extent(columns ? 1 : 0), &alpha, first_a, a.ld, first_b,
                                      blas::leading_dimension(r.b, order), &beta, r.c.data<T>(),
                                      blas::leading_dimension(r.c, order));
    });
  });
}

result<void> run_hemm(const blas::hemm& r, lane& where) {
  if (r.c.empty()) return {};
  if (blas::vanishes(r.alpha, r.c.type())) return scale(where, r.c, r.beta);
  const auto order = *blas::common_order({&r.a, &r.b, &r.c});
  const bool columns = order == blas::order::column_major;
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_complex_type(r.c.type(), [&]<class T>(T) {
      const T alpha = r.alpha.as<T>();
      const T beta = r.beta.as<T>();
      const T* const first_a = r.a.data<T>();
      const T* const first_b = r.b.data<T>();
      return matrix_routines<T>::hemm(
          handle, as_cublas(columns ? r.side : other(r.side)), triangle(order, r.uplo),
          r.c.extent(columns ? 0 : 1), r.c.extent(columns ? 1 : 0), &alpha, first_a,
          blas::leading_dimension(r.a, order), first_b, blas::leading_dimension(r.b, order), &beta,
          r.c.data<T>(), blas::leading_dimension(r.c, order));
    });
  });
}

// A product of a with itself is symmetric or Hermitian, so that its transpose is itself or its
// conjugate. How cuBLAS takes it depends on the order of a alone. ---------------------------------

/// c = beta · c for products without terms, which cuBLAS may leave as they are.
template <class Request>
result<void> scale_only(const Request& r, lane& where, bool hermitian) {
  return scale_triangle(where, r.c, r.uplo == blas::uplo::upper, r.beta, hermitian);
}

result<void> run_syrk(const blas::syrk& r, lane& where) {
  if (r.c.empty()) return {};
  if (r.a.empty() || blas::vanishes(r.alpha, r.c.type())) return scale_only(r, where, false);
  const auto c = blas::layout_of(r.c);
  const auto a = blas::layout_of(r.a, c.order);
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_classic_type(r.c.type(), [&]<class T>(T) {
      const T alpha = r.alpha.as<T>();
      const T beta = r.beta.as<T>();
      const T* const first = r.a.data<T>();
      return matrix_routines<T>::syrk(
          handle, triangle(c.order, r.uplo),
          a.order == blas::order::column_major ? CUBLAS_OP_N : CUBLAS_OP_T, r.c.extent(0),
          r.a.extent(1), &alpha, first, a.ld, &beta, r.c.data<T>(), c.ld);
    });
  });
}

result<void> run_syr2k(const blas::syr2k& r, lane& where) {
  if (r.c.empty()) return {};
  if (r.a.empty() || blas::vanishes(r.alpha, r.c.type())) return scale_only(r, where, false);
  const auto c = blas::layout_of(r.c);
  const auto order = *blas::common_order({&r.a, &r.b});
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_classic_type(r.c.type(), [&]<class T>(T) {
      const T alpha = r.alpha.as<T>();
      const T beta = r.beta.as<T>();
      const T* const first_a = r.a.data<T>();
      const T* const first_b = r.b.data<T>();
      return matrix_routines<T>::syr2k(
          handle, triangle(c.order, r.uplo),
          order == blas::order::column_major ? CUBLAS_OP_N : CUBLAS_OP_T, r.c.extent(0),
          r.a.extent(1), &alpha, first_a, blas::leading_dimension(r.a, order), first_b,
          blas::leading_dimension(r.b, order), &beta, r.c.data<T>(), c.ld);
    });
  });
}

/// The order in which c is taken so that a (and b) are in the order that `applied` needs.
blas::order order_for(const any_tensor& c, std::initializer_list<const any_tensor*> inputs,
                      blas::op applied) {
  for (const auto o : {blas::order::column_major, blas::order::row_major}) {
    const auto wanted = applied == blas::op::none ? o : blas::other(o);
    bool fits = blas::leading_dimension(c, o) != 0;
    for (const any_tensor* input : inputs)
      fits = fits && blas::leading_dimension(*input, wanted) != 0;
    if (fits) return o;
  }
  return blas::order::column_major;  // not reached: a rule asks the same
}

/// cuBLAS documents that imaginary parts on c's diagonal are taken as zero, but multiplies them by
/// beta: NaNs among them stay. So they are cleared first; where beta is zero, c is not read.
template <class Request>
result<void> admit_diagonal(const Request& r, lane& where) {
  if (blas::vanishes(r.beta, r.c.type())) return {};
  return make_diagonal_real(where, r.c);
}

result<void> run_herk(const blas::herk& r, lane& where) {
  if (r.c.empty()) return {};
  if (r.a.empty() || blas::vanishes(r.alpha, r.c.type())) return scale_only(r, where, true);
  TRY(admit_diagonal(r, where));
  const auto order = order_for(r.c, {&r.a}, r.op_a);
  const auto of_a = r.op_a == blas::op::none ? order : blas::other(order);
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_complex_type(r.c.type(), [&]<class T>(T) {
      const auto alpha = r.alpha.as<real_t<T>>();
      const auto beta = r.beta.as<real_t<T>>();
      const T* const first = r.a.data<T>();
      return matrix_routines<T>::herk(handle, triangle(order, r.uplo),
                                      of_a == blas::order::column_major ? CUBLAS_OP_N : CUBLAS_OP_C,
                                      r.c.extent(0), r.a.extent(1), &alpha, first,
                                      blas::leading_dimension(r.a, of_a), &beta, r.c.data<T>(),
                                      blas::leading_dimension(r.c, order));
    });
  });
}

result<void> run_her2k(const blas::her2k& r, lane& where) {
  if (r.c.empty()) return {};
  if (r.a.empty() || blas::vanishes(r.alpha, r.c.type())) return scale_only(r, where, true);
  TRY(admit_diagonal(r, where));
  const auto order = order_for(r.c, {&r.a, &r.b}, r.op_ab);
  const auto of_ab = r.op_ab == blas::op::none ? order : blas::other(order);
  return in_math_mode(r, where, [&](cublasHandle_t handle) {
    return for_complex_type(r.c.type(), [&]<class T>(T) {
      // A row-major c is taken as its transpose, which is its conjugate.
      const T given = r.alpha.as<T>();
      const T alpha = order == blas::order::column_major ? given : conjugate(given);
      const auto beta = r.beta.as<real_t<T>>();
      const T* const first_a = r.a.data<T>();
      const T* const first_b = r.b.data<T>();
      return matrix_routines<T>::her2k(
          handle, triangle(order, r.uplo),
          of_ab == blas::order::column_major ? CUBLAS_OP_N : CUBLAS_OP_C, r.c.extent(0),
          r.a.extent(1), &alpha, first_a, blas::leading_dimension(r.a, of_ab), first_b,
          blas::leading_dimension(r.b, of_ab), &beta, r.c.data<T>(),
          blas::leading_dimension(r.c, order));
    });
  });
}

const plugin_operations level3_symmetric_operations([](operation_table& table) {
  add<blas::symm>(table, run_symm);
  add<blas::hemm>(table, run_hemm);
  add<blas::syrk>(table, run_syrk);
  add<blas::syr2k>(table, run_syr2k);
  add<blas::herk>(table, run_herk);
  add<blas::her2k>(table, run_her2k);
});

}  // namespace

}  // namespace troupe::cuda
