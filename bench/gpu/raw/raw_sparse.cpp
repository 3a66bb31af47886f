#include "raw_sparse.hpp"

#include "raw_check.hpp"

#include <cusparse.h>

#include <cstddef>

namespace troupe::bench::raw {
namespace {

void check(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": " + cusparseGetErrorName(status));
}

constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;

/// A factor in the host's memory, in both types.
struct factor {
  float narrow;
  double wide;
  [[nodiscard]] const void* of(cudaDataType type) const {
    return type == CUDA_R_64F ? static_cast<const void*>(&wide) : &narrow;
  }
};
constexpr factor one{1, 1};
constexpr factor zero{0, 0};

}  // namespace

struct sparse::state {
  matrix a{};
  cusparseHandle_t handle = nullptr;
  cusparseSpMatDescr_t described = nullptr;
  cudaDataType type = CUDA_R_32F;
  std::unique_ptr<memory> buffer{};

  void* room(std::size_t bytes) {
    if (!buffer || buffer->bytes().size() < bytes)
      buffer = std::make_unique<memory>(memory::place::device, bytes + 256);
    return buffer->address();
  }
};

sparse::sparse(stream& on, const matrix& a)
    : state_(new state{.a = a, .type = a.is_f64 ? CUDA_R_64F : CUDA_R_32F}) {
  state& s = *state_;
  check(cusparseCreate(&s.handle), "cusparseCreate");
  check(cusparseSetStream(s.handle, of(on.native())), "cusparseSetStream");
  constexpr auto index = CUSPARSE_INDEX_32I;
  constexpr auto base = CUSPARSE_INDEX_BASE_ZERO;
  if (a.block != 0) {
    check(cusparseCreateBsr(&s.described, a.n / a.block, a.n / a.block,
                            a.elements / (a.block * a.block), a.block, a.block, a.offsets,
                            a.columns, a.values, index, index, base, s.type, CUSPARSE_ORDER_ROW),
          "cusparseCreateBsr");
  } else if (a.slice_rows != 0) {
    check(cusparseCreateSlicedEll(&s.described, a.n, a.n, a.elements, a.elements, a.slice_rows,
                                  a.offsets, a.columns, a.values, index, index, base, s.type),
          "cusparseCreateSlicedEll");
  } else {
    check(cusparseCreateCsr(&s.described, a.n, a.n, a.elements, a.offsets, a.columns, a.values,
                            index, index, base, s.type),
          "cusparseCreateCsr");
  }
}

sparse::~sparse() {
  (void)cusparseDestroySpMat(state_->described);
  (void)cusparseDestroy(state_->handle);
}

void sparse::multiply(void* x, void* y) {
  state& s = *state_;
  cusparseDnVecDescr_t from = nullptr;
  cusparseDnVecDescr_t to = nullptr;
  check(cusparseCreateDnVec(&from, s.a.n, x, s.type), "cusparseCreateDnVec");
  check(cusparseCreateDnVec(&to, s.a.n, y, s.type), "cusparseCreateDnVec");
  std::size_t bytes = 0;
  check(cusparseSpMV_bufferSize(s.handle, plain, one.of(s.type), s.described, from, zero.of(s.type),
                                to, s.type, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
        "cusparseSpMV_bufferSize");
  check(cusparseSpMV(s.handle, plain, one.of(s.type), s.described, from, zero.of(s.type), to,
                     s.type, CUSPARSE_SPMV_ALG_DEFAULT, s.room(bytes)),
        "cusparseSpMV");
  (void)cusparseDestroyDnVec(from);
  (void)cusparseDestroyDnVec(to);
}

void sparse::multiply(void* b, void* c, std::int64_t n) {
  state& s = *state_;
  cusparseDnMatDescr_t from = nullptr;
  cusparseDnMatDescr_t to = nullptr;
  check(cusparseCreateDnMat(&from, s.a.n, n, n, b, s.type, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat");
  check(cusparseCreateDnMat(&to, s.a.n, n, n, c, s.type, CUSPARSE_ORDER_ROW),
        "cusparseCreateDnMat");
  std::size_t bytes = 0;
  check(cusparseSpMM_bufferSize(s.handle, plain, plain, one.of(s.type), s.described, from,
                                zero.of(s.type), to, s.type, CUSPARSE_SPMM_ALG_DEFAULT, &bytes),
        "cusparseSpMM_bufferSize");
  check(cusparseSpMM(s.handle, plain, plain, one.of(s.type), s.described, from, zero.of(s.type), to,
                     s.type, CUSPARSE_SPMM_ALG_DEFAULT, s.room(bytes)),
        "cusparseSpMM");
  (void)cusparseDestroyDnMat(from);
  (void)cusparseDestroyDnMat(to);
}

}  // namespace troupe::bench::raw
