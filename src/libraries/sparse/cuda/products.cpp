#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/sparse/cuda/checked_pattern.hpp"
#include "libraries/sparse/cuda/cusparse_operands.hpp"
#include "libraries/sparse/cuda/own_products.hpp"

#include <troupe/sparse/products.hpp>

#include <cstdint>
#include <optional>

namespace troupe::cuda {
namespace {

/// The operation that cuSPARSE applies to the described matrix; nothing if it does not offer it. A
/// csc matrix is described as its transpose.
std::optional<cusparseOperation_t> cusparse_operation(const sparse_matrix& a, blas::storage_op op) {
  const bool by_columns = a.format == sparse_format::csc;
  const bool transposed = (op == blas::storage_op::transpose ||
                           op == blas::storage_op::conjugate_transpose) != by_columns;
  const bool conjugated =
      is_complex(a.values.type()) &&
      (op == blas::storage_op::conjugate || op == blas::storage_op::conjugate_transpose);
  if (!transposed && conjugated) return std::nullopt;
  if (transposed && a.format > sparse_format::coo) return std::nullopt;
  if (!transposed) return CUSPARSE_OPERATION_NON_TRANSPOSE;
  return conjugated ? CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE : CUSPARSE_OPERATION_TRANSPOSE;
}

/// Describes a packed vector.
result<void> describe(const any_tensor& t, vector_descriptor& to, cudaStream_t stream) {
  return check(cusparseCreateDnVec(to.place(), t.extent(0), t.address(), cusparse_type(t.type())),
               "cusparseCreateDnVec", stream);
}

result<void> multiply(const sparse::spmv& r, cusparseOperation_t op, lane& where,
                      late_failure failure) {
  const cudaStream_t stream = where.stream();
  const auto handle = TRY(cusparse_of(where));
  const dtype type = r.y.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);
  // The query of the buffer size has the same arguments, except the last.
  const auto call = [&](auto function, std::string_view name, const sparse_matrix& of,
                        const any_tensor& in, const any_tensor& out, auto* last) -> result<void> {
    sparse_descriptor a;
    vector_descriptor x;
    vector_descriptor y;
    TRY(describe(of, a, stream));
    TRY(describe(in, x, stream));
    TRY(describe(out, y, stream));
    return check(function(handle, op, alpha.address(), a.get(), x.get(), beta.address(), y.get(),
                          cusparse_compute_type(type), CUSPARSE_SPMV_ALG_DEFAULT, last),
                 name, stream);
  };
  const auto stays = [](const any_tensor& t) { return t.stride(0) == 1 || t.extent(0) <= 1; };

  call_frame c(where);
  packed_operand x(c, r.x, use::reads, stays(r.x), enqueue_vector_copy);
  packed_operand y(c, r.y, r.beta.is_zero() ? use::writes : use::updates, stays(r.y),
                   enqueue_vector_copy);
  checked_pattern a(c, r.a, failure);
  std::size_t bytes = 0;
  TRY(call(cusparseSpMV_bufferSize, "cusparseSpMV_bufferSize", r.a, r.x, r.y, &bytes));
  c.share(bytes);
  TRY(c.begin());
  TRY(call(cusparseSpMV, "cusparseSpMV", *a, *x, *y, c.shared()));
  return c.end();
}

result<void> multiply(const sparse::spmm& r, cusparseOperation_t op, lane& where,
                      late_failure failure) {
  const cudaStream_t stream = where.stream();
  const auto handle = TRY(cusparse_of(where));
  const dtype type = r.c.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);

  // Both dense matrices are described in the order of c. If b has the other order, it is
  // transposed.
  const bool rows_of_c = is_row_major(r.c);
  const bool turned = is_row_major(r.b) != rows_of_c;
  const cusparseOrder_t order = rows_of_c ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  matrix_descriptor b;
  matrix_descriptor c;
  TRY(describe(r.b, turned, order, b, stream));
  TRY(describe(r.c, false, order, c, stream));
  const auto call = [&](auto function, std::string_view name, const sparse_matrix& of,
                        auto* last) -> result<void> {
    sparse_descriptor a;
    TRY(describe(of, a, stream));
    return check(function(handle, op,
                          turned ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE,
                          alpha.address(), a.get(), b.get(), beta.address(), c.get(),
                          cusparse_compute_type(type), CUSPARSE_SPMM_ALG_DEFAULT, last),
                 name, stream);
  };

  call_frame frame(where);
  checked_pattern a(frame, r.a, failure);
  std::size_t bytes = 0;
  TRY(call(cusparseSpMM_bufferSize, "cusparseSpMM_bufferSize", r.a, &bytes));
  frame.share(bytes);
  TRY(frame.begin());
  TRY(call(cusparseSpMM, "cusparseSpMM", *a, frame.shared()));
  return frame.end();
}

/// True if the rows of the product are stored contiguously.
bool has_stored_rows(const sparse_matrix& a, blas::storage_op op) noexcept {
  return a.format == (transposes(op) ? sparse_format::csc : sparse_format::csr);
}
/// True if the columns of a row are contiguous, so that a warp's accesses are coalesced.
bool has_packed_rows(const any_tensor& t) noexcept {
  return t.rank() == 1 || t.extent(1) == 1 || t.stride(1) == 1;
}

template <class R>
result<void> run_product(const R& r, const any_tensor& in, const any_tensor& out, lane& where,
                         late_failure failure) {
  if (out.empty()) return {};
  if (r.alpha.is_zero() || r.a.stored() == 0) return enqueue_scaling(out, r.beta, where);
  const sparse_product product{
      .a = r.a, .in = in, .out = out, .alpha = r.alpha, .beta = r.beta, .op = r.op_a};
  const bool balances = has_stored_rows(r.a, r.op_a) && in.extent(0) > 0;
  if (balances && has_packed_rows(in) && has_packed_rows(out))
    return enqueue_balanced_product(product, where, failure);
  if (const auto op = cusparse_operation(r.a, r.op_a);
      op && limits::cusparse::accepts_product(r.a, in, out)) {
    auto done = multiply(r, *op, where, failure);
    // The supported combinations of types, formats and operations differ between versions of
    // cuSPARSE.
    if (done || done.error().code != errc::unsupported) return done;
  }
  return balances ? enqueue_balanced_product(product, where, failure)
                  : enqueue_own_product(product, where, failure);
}

result<void> run_spmv(const sparse::spmv& r, lane& where, late_failure failure) {
  return run_product(r, r.x, r.y, where, failure);
}
result<void> run_spmm(const sparse::spmm& r, lane& where, late_failure failure) {
  return run_product(r, r.b, r.c, where, failure);
}

const plugin_operations products_operations([](operation_table& table) {
  add<sparse::spmv>(table, run_spmv);
  add<sparse::spmm>(table, run_spmm);
});

}  // namespace
}  // namespace troupe::cuda
