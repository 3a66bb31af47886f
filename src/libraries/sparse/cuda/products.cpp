#include "backend/cuda/context/executor.hpp"
#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/sparse/cuda/checked_pattern.hpp"
#include "libraries/sparse/cuda/cusparse_operands.hpp"
#include "libraries/sparse/cuda/own_products.hpp"

#include <troupe/sparse/products.hpp>

#include <cstdint>
#include <optional>

namespace troupe::cuda {
namespace {

/// What cuSPARSE applies to the matrix that is described for `a`; nothing where it does not offer
/// that. A csc matrix is described as its transposed one.
std::optional<cusparseOperation_t> operation_of(const sparse_matrix& a, blas::storage_op op) {
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

/// The packed vector that stands for `t` in a call: its own memory, or a part of the workspace.
struct packed_vector {
  const any_tensor& t;
  std::size_t at = 0;
  bool moved = false;

  packed_vector(const any_tensor& of, pieces& parts)
      : t(of), moved(of.stride(0) != 1 && of.extent(0) > 1) {
    if (moved) at = parts.add(of.count() * size_of(of.type()));
  }
  [[nodiscard]] any_tensor in(std::byte* room) const {
    if (!moved) return t;
    return any_tensor::unowned(room + at, t.type(), {t.extent(0)});
  }
};

result<void> multiply(const sparse::spmv& r, cusparseOperation_t op, lane& where,
                      late_failure failure) {
  const cudaStream_t stream = where.stream();
  auto handle = cusparse_of(where);
  if (!handle) return std::move(handle).error();
  const dtype type = r.y.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);
  const cudaDataType compute = cusparse_compute_type(type);
  constexpr auto algorithm = CUSPARSE_SPMV_ALG_DEFAULT;

  const auto described = [&](const any_tensor& t, vector_descriptor& to) {
    return check(cusparseCreateDnVec(to.place(), t.extent(0), t.address(), cusparse_type(type)),
                 "cusparseCreateDnVec", stream);
  };
  pieces parts;
  const packed_vector packed_x(r.x, parts);
  const packed_vector packed_y(r.y, parts);
  const checked_pattern pattern(r.a, parts);
  std::size_t bytes = 0;
  {
    sparse_descriptor a;
    if (auto done = describe(r.a, a, stream); !done) return done;
    vector_descriptor x;
    vector_descriptor y;
    if (auto done = described(r.x, x); !done) return done;
    if (auto done = described(r.y, y); !done) return done;
    auto sized = check(cusparseSpMV_bufferSize(*handle, op, alpha.address(), a.get(), x.get(),
                                               beta.address(), y.get(), compute, algorithm, &bytes),
                       "cusparseSpMV_bufferSize", stream);
    if (!sized) return sized;
  }
  const std::size_t buffer_at = parts.add(static_cast<std::int64_t>(bytes));
  auto room = where.workspace(parts.bytes());
  if (!room) return std::move(room).error();
  if (auto done = pattern.enqueue(room->data(), stream); !done) return done;
  sparse_descriptor a;
  if (auto done = describe(pattern.in(room->data()), a, stream); !done) return done;
  const any_tensor from = packed_x.in(room->data());
  const any_tensor to = packed_y.in(room->data());
  if (packed_x.moved) {
    if (auto done = enqueue_vector_copy(r.x, from, where); !done) return done;
  }
  if (packed_y.moved && !r.beta.is_zero()) {
    if (auto done = enqueue_vector_copy(r.y, to, where); !done) return done;
  }
  vector_descriptor x;
  vector_descriptor y;
  if (auto done = described(from, x); !done) return done;
  if (auto done = described(to, y); !done) return done;
  auto done = check(cusparseSpMV(*handle, op, alpha.address(), a.get(), x.get(), beta.address(),
                                 y.get(), compute, algorithm, room->data() + buffer_at),
                    "cusparseSpMV", stream);
  if (done && packed_y.moved) done = enqueue_vector_copy(to, r.y, where);
  return done ? pattern.report(room->data(), failure, stream) : std::move(done);
}

result<void> multiply(const sparse::spmm& r, cusparseOperation_t op, lane& where,
                      late_failure failure) {
  const cudaStream_t stream = where.stream();
  auto handle = cusparse_of(where);
  if (!handle) return std::move(handle).error();
  const dtype type = r.c.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);
  const cudaDataType compute = cusparse_compute_type(type);
  constexpr auto algorithm = CUSPARSE_SPMM_ALG_DEFAULT;
  constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

  // Both dense matrices are described in the order of c; b, if it has the other one, transposed.
  const bool rows_of_c = is_row_major(r.c);
  const bool turned = is_row_major(r.b) != rows_of_c;
  const cusparseOrder_t order = rows_of_c ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  matrix_descriptor b;
  matrix_descriptor c;
  if (auto done = describe(r.b, turned, order, b, stream); !done) return done;
  if (auto done = describe(r.c, false, order, c, stream); !done) return done;
  const cusparseOperation_t op_b = turned ? CUSPARSE_OPERATION_TRANSPOSE : plain;
  std::size_t bytes = 0;
  {
    sparse_descriptor a;
    if (auto done = describe(r.a, a, stream); !done) return done;
    auto sized = check(cusparseSpMM_bufferSize(*handle, op, op_b, alpha.address(), a.get(), b.get(),
                                               beta.address(), c.get(), compute, algorithm, &bytes),
                       "cusparseSpMM_bufferSize", stream);
    if (!sized) return sized;
  }
  pieces parts;
  const checked_pattern pattern(r.a, parts);
  const std::size_t buffer_at = parts.add(static_cast<std::int64_t>(bytes));
  auto room = where.workspace(parts.bytes());
  if (!room) return std::move(room).error();
  if (auto done = pattern.enqueue(room->data(), stream); !done) return done;
  sparse_descriptor a;
  if (auto done = describe(pattern.in(room->data()), a, stream); !done) return done;
  auto done =
      check(cusparseSpMM(*handle, op, op_b, alpha.address(), a.get(), b.get(), beta.address(),
                         c.get(), compute, algorithm, room->data() + buffer_at),
            "cusparseSpMM", stream);
  return done ? pattern.report(room->data(), failure, stream) : std::move(done);
}

/// Whether rows of the product are rows that are stored, one after another.
bool has_stored_rows(const sparse_matrix& a, blas::storage_op op) noexcept {
  return a.format == (transposes(op) ? sparse_format::csc : sparse_format::csr);
}
/// Whether a warp reads and writes neighbouring columns side by side.
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
  if (const auto op = operation_of(r.a, r.op_a);
      op && limits::cusparse::accepts_product(r.a, in, out)) {
    auto done = multiply(r, *op, where, failure);
    // Which types go with which formats and operations differs between versions of cuSPARSE.
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

const plugin_operations operations([](operation_table& table) {
  add<sparse::spmv>(table, run_spmv);
  add<sparse::spmm>(table, run_spmm);
});

}  // namespace
}  // namespace troupe::cuda
