#pragma once

#include "conformance/element.hpp"

#include <cublasLt.h>

#include <cstdint>
#include <map>

/// Products as cuBLASLt's documentation describes them, computed by definition.
namespace troupe::emulated_cublaslt {

using conformance::number;

struct description {
  cublasComputeType_t compute;
  cudaDataType_t factors;
  std::map<cublasLtMatmulDescAttributes_t, std::uint64_t> attributes;

  [[nodiscard]] std::uint64_t get(cublasLtMatmulDescAttributes_t which) const {
    const auto found = attributes.find(which);
    return found == attributes.end() ? 0 : found->second;
  }
  template <class T>
  [[nodiscard]] T* address(cublasLtMatmulDescAttributes_t which) const {
    return reinterpret_cast<T*>(get(which));
  }
  [[nodiscard]] bool transposes(cublasLtMatmulDescAttributes_t which) const {
    return get(which) != CUBLAS_OP_N;
  }
};
struct layout {
  cudaDataType type;
  std::int64_t rows, columns, ld;
  std::int64_t batch = 1;
  std::int64_t distance = 0;

  /// True where all columns of all products begin at multiples.
  [[nodiscard]] bool begins_at_multiples(const void* first, std::uint64_t bytes) const;
};
/// One call, or one question for it.
struct matmul_call {
  const description& what;
  const layout& a;
  const layout& b;
  const layout& c;
  const layout& d;

  [[nodiscard]] std::int64_t m() const { return d.rows; }
  [[nodiscard]] std::int64_t n() const { return d.columns; }
  [[nodiscard]] std::int64_t k() const {
    return what.transposes(CUBLASLT_MATMUL_DESC_TRANSA) ? a.rows : a.columns;
  }
  [[nodiscard]] std::uint64_t epilogue() const { return what.get(CUBLASLT_MATMUL_DESC_EPILOGUE); }
  [[nodiscard]] bool keeps_mask() const;
  [[nodiscard]] cudaDataType bias_type() const {
    const auto given = what.attributes.find(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
    return given == what.attributes.end() ? d.type : static_cast<cudaDataType>(given->second);
  }
  [[nodiscard]] cudaDataType aux_type() const {
    const auto given = what.attributes.find(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE);
    return given == what.attributes.end() ? d.type : static_cast<cudaDataType>(given->second);
  }

  /// The documented combinations.
  [[nodiscard]] bool fits() const;
  /// Computes all products; the largest magnitudes go where the description says.
  void run(number alpha, const void* a_first, const void* b_first, number beta, const void* c_first,
           void* d_first) const;

 private:
  [[nodiscard]] bool epilogue_fits() const;
  [[nodiscard]] bool narrow_fits(bool turned_a, bool turned_b) const;
  [[nodiscard]] bool scales_fit() const;
};

/// An element from host or device memory, which are the same here.
[[nodiscard]] number load(cudaDataType type, const void* first, std::int64_t index);

}  // namespace troupe::emulated_cublaslt
