#include "libraries/sparse/cuda/sampled_blocks.hpp"

#include "backend/cuda/context/failure.hpp"
#include "libraries/sparse/cuda/checked_pattern.hpp"
#include "libraries/sparse/cuda/cusparse_operands.hpp"

namespace troupe::cuda {
namespace {

constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

bool has_order(const any_tensor& t) noexcept {
  return is_aligned(t) && (t.stride(0) == 1 || t.stride(1) == 1) &&
         leading(t, is_row_major(t)) >= t.extent(is_row_major(t) ? 1 : 0);
}
cusparseOrder_t order_of(const any_tensor& t) noexcept {
  return is_row_major(t) ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
}

}  // namespace

bool offers_sampled_blocks(const sparse::sddmm& r) noexcept {
  return has_square_blocks(r.c) && r.c.stored() > 0 && r.a.extent(1) > 0 && r.c.columns > 0 &&
         !r.alpha.is_zero() && (r.c.stored() - 1) / r.c.columns < r.c.rows && has_order(r.a) &&
         has_order(r.b) && is_aligned(r.c.values);
}

result<void> enqueue_sampled_blocks(const sparse::sddmm& r, lane& where, late_failure failure) {
  const cudaStream_t stream = where.stream();
  const auto handle = TRY(cusparse_of(where));
  const dtype type = r.a.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);
  matrix_descriptor a;
  matrix_descriptor b;
  TRY(describe(r.a, false, order_of(r.a), a, stream));
  TRY(describe(r.b, false, order_of(r.b), b, stream));
  const auto call = [&](auto function, std::string_view name, const sparse_matrix& of,
                        auto* last) -> result<void> {
    sparse_descriptor c;
    TRY(describe(of, c, stream));
    return check(
        function(handle, plain, plain, alpha.address(), a.get(), b.get(), beta.address(),
                 c.updated(), cusparse_compute_type(type), CUSPARSE_SDDMM_ALG_DEFAULT, last),
        name, stream);
  };
  call_frame frame(where);
  checked_pattern c(frame, r.c, failure);
  std::size_t bytes = 0;
  TRY(call(cusparseSDDMM_bufferSize, "cusparseSDDMM_bufferSize", r.c, &bytes));
  frame.share(bytes);
  TRY(frame.begin());
  if (r.beta.is_zero()) {  // 0 · NaN must not be computed
    TRY(check(cudaMemsetAsync(r.c.values.address(), 0,
                              static_cast<std::size_t>(r.c.stored() * size_of(type)), stream),
              "cudaMemsetAsync"));
  }
  TRY(call(cusparseSDDMM, "cusparseSDDMM", *c, frame.shared()));
  return frame.end();
}

}  // namespace troupe::cuda
