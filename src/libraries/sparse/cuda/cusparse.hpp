#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/sparse/matrix.hpp>

#include <cusparse.h>

#include <string_view>

namespace troupe::cuda {

/// The lane's handle of cuSPARSE, made when the lane first needs it, which enqueues on the lane's
/// stream and reads factors from the host. \errors `out_of_memory`; `device_fault` when the context
/// is lost
[[nodiscard]] result<cusparseHandle_t> cusparse_of(lane& where);

/// The error for a status, with its name and the call; success for success. Where `stream` says
/// that the context is lost, that is the error, whatever cuSPARSE called it: `device_fault`.
[[nodiscard]] result<void> check(cusparseStatus_t status, std::string_view call,
                                 cudaStream_t stream);

[[nodiscard]] cudaDataType cusparse_type(dtype type) noexcept;
/// What values of the type are multiplied and added up in.
[[nodiscard]] cudaDataType cusparse_compute_type(dtype type) noexcept;

/// Descriptors are made for each call: structs of the host that hold addresses.
template <class Descriptor, auto Destroy>
class cusparse_descriptor {
 public:
  cusparse_descriptor() = default;
  cusparse_descriptor(const cusparse_descriptor&) = delete;
  cusparse_descriptor& operator=(const cusparse_descriptor&) = delete;
  ~cusparse_descriptor() {
    if (made_ != nullptr) (void)Destroy(made_);
  }
  [[nodiscard]] Descriptor* place() noexcept { return &made_; }
  [[nodiscard]] Descriptor get() const noexcept { return made_; }

 private:
  Descriptor made_ = nullptr;
};
struct sparse_descriptor : cusparse_descriptor<cusparseConstSpMatDescr_t, &cusparseDestroySpMat> {
  /// For a matrix whose values the call may write.
  [[nodiscard]] cusparseSpMatDescr_t updated() const noexcept {
    return const_cast<cusparseSpMatDescr_t>(get());
  }
};
using vector_descriptor = cusparse_descriptor<cusparseDnVecDescr_t, &cusparseDestroyDnVec>;
using matrix_descriptor = cusparse_descriptor<cusparseDnMatDescr_t, &cusparseDestroyDnMat>;

/// Describes a csr, coo, bsr or blocked_ell matrix; a csc one as its transposed matrix in csr.
[[nodiscard]] result<void> describe(const sparse_matrix& a, sparse_descriptor& to,
                                    cudaStream_t stream);

}  // namespace troupe::cuda
