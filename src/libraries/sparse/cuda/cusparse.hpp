#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/base/result.hpp>
#include <troupe/sparse/matrix.hpp>

#include <cusparse.h>

#include <string_view>

namespace troupe::cuda {

/// The lane's cuSPARSE handle, made when it is first needed. It enqueues on the lane's stream and
/// reads factors from the host. \errors `out_of_memory`; `device_fault` if the context is lost
[[nodiscard]] result<cusparseHandle_t> cusparse_of(lane& where);

/// Converts a status to success or to an error with its name and the call. If `stream` reports that
/// the context is lost, the error is `device_fault`, whatever cuSPARSE reports.
[[nodiscard]] result<void> check(cusparseStatus_t status, std::string_view call,
                                 cudaStream_t stream);

[[nodiscard]] cudaDataType cusparse_type(dtype type) noexcept;
/// The type in which values are multiplied and added.
[[nodiscard]] cudaDataType cusparse_compute_type(dtype type) noexcept;

/// Descriptors are made for each call: they are host structs that hold addresses.
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

/// Describes a csr, coo or bsr matrix. A csc matrix is described as its transpose in csr.
[[nodiscard]] result<void> describe(const sparse_matrix& a, sparse_descriptor& to,
                                    cudaStream_t stream);

}  // namespace troupe::cuda
