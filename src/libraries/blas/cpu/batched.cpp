#include "libraries/blas/cpu/matrix_vector.hpp"
#include "libraries/blas/cpu/product.hpp"
#include "libraries/blas/cpu/triangular.hpp"

#include <troupe/blas/batched.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

std::byte* member_at(const any_tensor& batch, std::int64_t i) {
  return batch.address() + i * batch.stride(0) * size_of(batch.type());
}

result<void> run_gemm_strided_batched(const blas::gemm_strided_batched& r, lane_context& lane) {
  const product p{r.a, r.b, r.c, r.alpha, r.beta, r.op_a, r.op_b};
  for (std::int64_t i = 0; i < r.c.extent(0); ++i) {
    auto done = multiply(p, member_at(r.a, i), member_at(r.b, i), member_at(r.c, i), lane);
    if (!done) return done;
  }
  return {};
}

result<void> run_gemm_batched(const blas::gemm_batched& r, lane_context& lane) {
  for (std::size_t i = 0; i < r.c.size(); ++i) {
    auto done = multiply({r.a[i], r.b[i], r.c[i], r.alpha, r.beta, r.op_a, r.op_b},
                         r.a[i].address(), r.b[i].address(), r.c[i].address(), lane);
    if (!done) return done;
  }
  return {};
}

result<void> run_gemm_grouped(const blas::gemm_grouped& r, lane_context& lane) {
  const scalar one = 1;
  const scalar zero = 0;
  const auto factor_of = [](const std::vector<scalar>& list, std::size_t i,
                            const scalar& otherwise) -> const scalar& {
    return list.empty() ? otherwise : list.size() == 1 ? list[0] : list[i];
  };
  for (std::size_t i = 0; i < r.c.size(); ++i) {
    auto done = multiply({r.a[i], r.b[i], r.c[i], factor_of(r.alpha, i, one),
                          factor_of(r.beta, i, zero), r.op_a, r.op_b},
                         r.a[i].address(), r.b[i].address(), r.c[i].address(), lane);
    if (!done) return done;
  }
  return {};
}

/// The `i`-th member_at of a batch as a view of its own.
any_tensor view_of(const any_tensor& batch, std::int64_t i) {
  return any_tensor::unowned(member_at(batch, i), batch.type(), shape(batch.extents().subspan(1)),
                             batch.strides().subspan(1));
}

result<void> run_gemv_batched(const blas::gemv_batched& r, lane_context&) {
  for (std::int64_t i = 0; i < r.y.extent(0); ++i) {
    const any_tensor a = view_of(r.a, i);
    const any_tensor x = view_of(r.x, i);
    const any_tensor y = view_of(r.y, i);
    multiply({a, x, y, r.alpha, r.beta, r.op_a});
  }
  return {};
}

result<void> run_trsm_batched(const blas::trsm_batched& r, lane_context&) {
  if (!r.b.empty()) with_triangle(r, []<class T>(T) { return routines<T>::trsm; });
  return {};
}

const plugin_operations batched_operations([](operation_table& table) {
  table.add<blas::gemm_strided_batched>(run_gemm_strided_batched, effort::by_size);
  table.add<blas::gemm_batched>(run_gemm_batched, effort::by_size);
  table.add<blas::gemm_grouped>(run_gemm_grouped, effort::by_size);
  table.add<blas::gemv_batched>(run_gemv_batched, effort::by_size);
  table.add<blas::trsm_batched>(run_trsm_batched, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
