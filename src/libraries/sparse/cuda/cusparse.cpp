#include "libraries/sparse/cuda/cusparse.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/sparse/cuda/status.hpp"

#include <memory>

namespace troupe::cuda {
namespace {

constexpr char attachment_key = 0;

struct attached {
  cusparseHandle_t handle = nullptr;

  attached() = default;
  attached(const attached&) = delete;
  attached& operator=(const attached&) = delete;
  ~attached() {
    if (handle != nullptr) (void)cusparseDestroy(handle);
  }
};

cusparseIndexType_t cusparse_index(dtype type) noexcept {
  return type == dtype::i64 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
}

}  // namespace

result<cusparseHandle_t> cusparse_of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&attachment_key);
  if (!place) {
    auto made = std::make_shared<attached>();
    const cudaStream_t stream = where.stream();
    TRY(check(cusparseCreate(&made->handle), "cusparseCreate", stream));
    TRY(check(cusparseSetStream(made->handle, stream), "cusparseSetStream", stream));
    place = std::move(made);
  }
  return static_cast<const attached*>(place.get())->handle;
}

result<void> check(cusparseStatus_t status, std::string_view call, cudaStream_t stream) {
  if (status == CUSPARSE_STATUS_SUCCESS) return {};
  return failure_of(cusparse_statuses, status, "cusparse", call, stream);
}

cudaDataType cusparse_type(dtype type) noexcept {
  switch (type) {
    case dtype::f64:
      return CUDA_R_64F;
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::c64:
      return CUDA_C_32F;
    case dtype::c128:
      return CUDA_C_64F;
    default:
      return CUDA_R_32F;
  }
}

cudaDataType cusparse_compute_type(dtype type) noexcept {
  return size_of(type) == 2 ? CUDA_R_32F : cusparse_type(type);
}

result<void> describe(const sparse_matrix& a, sparse_descriptor& to, cudaStream_t stream) {
  const cusparseIndexType_t index = cusparse_index(a.index_type());
  const cudaDataType type = cusparse_type(a.values.type());
  constexpr auto base = CUSPARSE_INDEX_BASE_ZERO;
  if (a.format == sparse_format::coo) {
    return check(
        cusparseCreateConstCoo(to.place(), a.rows, a.columns, a.stored(), a.row_indices.address(),
                               a.indices.address(), a.values.address(), index, base, type),
        "cusparseCreateConstCoo", stream);
  }
  if (a.format == sparse_format::bsr) {
    const std::int64_t r = a.values.extent(1);
    const std::int64_t c = a.values.extent(2);
    return check(
        cusparseCreateConstBsr(to.place(), a.rows / r, a.columns / c, a.values.extent(0), r, c,
                               a.offsets.address(), a.indices.address(), a.values.address(), index,
                               index, base, type, CUSPARSE_ORDER_ROW),
        "cusparseCreateConstBsr", stream);
  }
  const bool by_columns = a.format == sparse_format::csc;
  return check(
      cusparseCreateConstCsr(to.place(), by_columns ? a.columns : a.rows,
                             by_columns ? a.rows : a.columns, a.stored(), a.offsets.address(),
                             a.indices.address(), a.values.address(), index, index, base, type),
      "cusparseCreateConstCsr", stream);
}

}  // namespace troupe::cuda
