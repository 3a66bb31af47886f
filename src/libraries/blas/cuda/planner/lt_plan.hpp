#pragma once

#include "libraries/blas/cuda/planner/cublaslt.hpp"
#include "libraries/blas/cuda/planner/lt_matrix.hpp"

#include <troupe/tensor/dtype.hpp>
#include <troupe/tensor/scalar.hpp>

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace troupe::cuda {

[[nodiscard]] cudaDataType as_cuda_type(dtype type) noexcept;

/// A factor of a product in the type in which cuBLAS takes it, from host memory at the call: f64,
/// c64, c128, i32, and f32 for all other types.
class product_factor {
 public:
  product_factor(const scalar& s, dtype type) noexcept {
    switch (type) {
      case dtype::f64:
        set(s.as<double>());
        break;
      case dtype::c64:
        set(s.as<std::complex<float>>());
        break;
      case dtype::c128:
        set(s.as<std::complex<double>>());
        break;
      case dtype::i32:
        set(s.as<std::int32_t>());
        break;
      default:
        set(s.as<float>());
        break;
    }
  }
  [[nodiscard]] const void* address() const noexcept { return bytes_.data(); }
  [[nodiscard]] bool is_zero() const noexcept { return zero_; }

 private:
  template <class T>
  void set(T value) noexcept {
    std::memcpy(bytes_.data(), &value, sizeof value);
    zero_ = value == T{};
  }
  alignas(16) std::array<std::byte, 16> bytes_{};
  bool zero_ = false;
};

/// d = alpha · op_a(a) · op_b(b) + beta · c as it is described to cuBLASLt.
struct lt_product {
  cublasComputeType_t compute;
  dtype factors;  ///< the type of alpha and beta
  cublasOperation_t op_a, op_b;
  lt_matrix a, b, c, d;
  std::int64_t batch = 1;
};

/// A kernel of cuBLASLt's and what it needs to run.
struct lt_kernel {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// The addresses of one call.
struct lt_operands {
  const void* alpha;
  const void* a;
  const void* b;
  const void* beta;
  const void* c;
  void* d;
};

/// cuBLASLt's descriptions of a product, and the kernel that runs it.
class lt_plan {
 public:
  /// Makes the descriptions. An epilogue and scales are added to `operation()` before `propose`.
  lt_plan(lt_calls& calls, const lt_product& p);
  [[nodiscard]] cublasLtMatmulDesc_t operation() const noexcept { return operation_.get(); }

  /// Asks the heuristic for at most `wanted` kernels and chooses its first. If it has none, there
  /// are no candidates, and the status says why: success, NOT_SUPPORTED, or INVALID_VALUE, with
  /// which it refuses some products, too. Any other status fails `calls`.
  [[nodiscard]] cublasStatus_t propose(lt_calls& calls, cublasLtHandle_t library,
                                       const lt_product& p, int wanted);
  /// Best guess first.
  [[nodiscard]] const std::vector<lt_kernel>& candidates() const noexcept { return candidates_; }
  [[nodiscard]] const lt_kernel& chosen() const noexcept { return chosen_; }
  void choose(const lt_kernel& kernel) noexcept { chosen_ = kernel; }

  /// A kernel as bytes, which may be kept for one version of the library. Source: cuBLAS
  /// documentation, cublasLtMatmulAlgo_t.
  using kept_kernel = std::array<std::uint64_t, 8>;
  [[nodiscard]] kept_kernel kept() const noexcept;
  /// Chooses a kernel that was chosen before, perhaps by another process; false if cuBLASLt does
  /// not take it for this product.
  [[nodiscard]] bool choose(cublasLtHandle_t library, const kept_kernel& kept) noexcept;

  [[nodiscard]] dtype factors() const noexcept { return factors_; }
  /// True if c may be read from where d lies.
  [[nodiscard]] bool describes_c_as_d() const noexcept { return !c_; }

  /// Enqueues the product with `kernel`.
  [[nodiscard]] result<void> run(cublasLtHandle_t library, const lt_kernel& kernel,
                                 const lt_operands& of, void* workspace,
                                 std::size_t workspace_bytes, cudaStream_t stream) const {
    return check(cublasLtMatmul(library, operation_.get(), of.alpha, of.a, a_.get(), of.b, b_.get(),
                                of.beta, of.c, layout_of_c(), of.d, d_.get(), &kernel.algorithm,
                                workspace, workspace_bytes, stream),
                 "cublasLtMatmul", stream);
  }

 private:
  [[nodiscard]] cublasLtMatrixLayout_t layout_of_c() const noexcept {
    return c_ ? c_.get() : d_.get();
  }

  lt_operation operation_;
  lt_layout a_, b_, d_;
  lt_layout c_;  // null if it is d's
  lt_kernel chosen_;
  std::vector<lt_kernel> candidates_;
  dtype factors_;
};

}  // namespace troupe::cuda
