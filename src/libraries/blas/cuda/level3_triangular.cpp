#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/part_lane.hpp"
#include "base/try.hpp"
#include "libraries/blas/cuda/triangular.hpp"
#include "libraries/blas/requests/factors.hpp"
#include "libraries/blas/requests/triangle_blocks.hpp"

#include <troupe/blas/level3_triangular.hpp>

namespace troupe::cuda {
namespace {

/// Runs `call(type, handle, problem, alpha, a, b)`.
template <class Request, class Call>
result<void> with_triangle(const Request& r, lane& where, Call call) {
  if (r.b.empty()) return {};
  if (blas::vanishes(r.alpha, r.b.type())) return scale(where, r.b, 0);  // b and a are not read
  triangular_problem p = column_major(r);
  call_frame c(where);
  conjugated_factor a(c, p.a, p.extents_a(), r.a.type());
  TRY(c.begin());
  const cublasHandle_t handle = TRY(cublas_of(where));
  return with_math(handle, r.math, [&] {
    return for_classic_type(r.b.type(), [&]<class T>(T type) {
      const T alpha = r.alpha.template as<T>();
      return call(type, handle, p, &alpha, reinterpret_cast<const T*>(p.a.first),
                  reinterpret_cast<T*>(p.b));
    });
  });
}

result<void> run_trmm(const blas::trmm& r, lane& where) {
  return with_triangle(r, where,
                       []<class T>(T, cublasHandle_t handle, const triangular_problem& p,
                                   const T* alpha, const T* a, T* b) {
                         // The product goes where b is, which cuBLAS allows.
                         return matrix_routines<T>::trmm(handle, p.side, p.uplo, p.a.transposition,
                                                         p.diag, p.m, p.n, alpha, a, p.a.ld,
                                                         static_cast<const T*>(b), p.ldb, b, p.ldb);
                       });
}

result<void> run_trsm(const blas::trsm& r, lane& where) {
  return with_triangle(r, where,
                       []<class T>(T, cublasHandle_t handle, const triangular_problem& p,
                                   const T* alpha, const T* a, T* b) {
                         return matrix_routines<T>::trsm(handle, p.side, p.uplo, p.a.transposition,
                                                         p.diag, p.m, p.n, alpha, a, p.a.ld, b,
                                                         p.ldb);
                       });
}

result<void> run_gemmt(const blas::gemmt& r, lane& where) {
  constexpr std::int64_t side = 256;
  if (r.c.empty()) return {};
  const bool upper = r.uplo == blas::uplo::upper;
  if (r.a.empty() || blas::vanishes(r.alpha, r.c.type())) {
    return scale_triangle(where, r.c, upper, r.beta, false);
  }
  call_frame c(where);
  const auto square_bytes = c.bytes(side * side * size_of(r.c.type()));
  const scalar nothing = 0;
  const auto into = [&](const any_tensor& to, const blas::product_block& p, const scalar& beta) {
    return product{p.a, p.b, to, r.alpha, beta, r.op_a, r.op_b, r.math};
  };
  const auto square_for = [&](const blas::product_block& p) {
    return any_tensor::unowned(square_bytes, r.c.type(), shape(p.c.extents()));
  };
  const auto share = [&](const product& p) {
    c.share(workspace_bytes(p));
    return result<void>();
  };
  TRY(blas::for_each_triangle_block(
      r, side, [&](const blas::product_block& p) { return share(into(p.c, p, r.beta)); },
      [&](const blas::product_block& p) { return share(into(square_for(p), p, nothing)); }));
  TRY(c.begin());
  part_lane products(where, {c.shared(), c.shared_bytes().device});
  return blas::for_each_triangle_block(
      r, side,
      [&](const blas::product_block& p) { return multiply(into(p.c, p, r.beta), products); },
      [&](const blas::product_block& p) -> result<void> {
        const any_tensor square = square_for(p);
        TRY(multiply(into(square, p, nothing), products));
        return add_triangle(where, p.c, upper, r.beta, square);
      });
}

const plugin_operations level3_triangular_operations([](operation_table& table) {
  add<blas::trmm>(table, run_trmm);
  add<blas::trsm>(table, run_trsm);
  add<blas::gemmt>(table, run_gemmt);
});

}  // namespace

}  // namespace troupe::cuda
