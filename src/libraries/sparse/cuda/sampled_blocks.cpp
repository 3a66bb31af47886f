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
  auto handle = cusparse_of(where);
  if (!handle) return std::move(handle).error();
  const dtype type = r.a.type();
  const host_factor alpha(r.alpha, type);
  const host_factor beta(r.beta, type);
  const cudaDataType compute = cusparse_compute_type(type);
  constexpr auto algorithm = CUSPARSE_SDDMM_ALG_DEFAULT;
  matrix_descriptor a;
  matrix_descriptor b;
  if (auto done = describe(r.a, false, order_of(r.a), a, stream); !done) return done;
  if (auto done = describe(r.b, false, order_of(r.b), b, stream); !done) return done;
  std::size_t bytes = 0;
  {
    sparse_descriptor c;
    if (auto done = describe(r.c, c, stream); !done) return done;
    auto sized =
        check(cusparseSDDMM_bufferSize(*handle, plain, plain, alpha.address(), a.get(), b.get(),
                                       beta.address(), c.updated(), compute, algorithm, &bytes),
              "cusparseSDDMM_bufferSize", stream);
    if (!sized) return sized;
  }
  pieces parts;
  const checked_pattern pattern(r.c, parts);
  const std::size_t buffer_at = parts.add(static_cast<std::int64_t>(bytes));
  auto room = where.workspace(parts.bytes());
  if (!room) return std::move(room).error();
  if (auto done = pattern.enqueue(room->data(), stream); !done) return done;
  if (r.beta.is_zero()) {  // 0 · NaN is none
    auto cleared =
        check(cudaMemsetAsync(
                  r.c.values.address(), 0,
                  static_cast<std::size_t>(r.c.stored() * static_cast<std::int64_t>(size_of(type))),
                  stream),
              "cudaMemsetAsync");
    if (!cleared) return cleared;
  }
  sparse_descriptor c;
  if (auto done = describe(pattern.in(room->data()), c, stream); !done) return done;
  auto done =
      check(cusparseSDDMM(*handle, plain, plain, alpha.address(), a.get(), b.get(), beta.address(),
                          c.updated(), compute, algorithm, room->data() + buffer_at),
            "cusparseSDDMM", stream);
  return done ? pattern.report(room->data(), failure, stream) : std::move(done);
}

}  // namespace troupe::cuda
