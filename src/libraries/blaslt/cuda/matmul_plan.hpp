#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/cublaslt.hpp"
#include "libraries/blaslt/cuda/sides.hpp"
#include "libraries/blaslt/cuda/tuned_choices.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda {

/// A kernel of cuBLASLt's and what it needs to run.
struct lt_kernel {
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace_bytes = 0;
};

/// cuBLASLt's descriptions of a product with its epilogue, and the kernel that runs it. Good for
/// every request of the same key.
class matmul_plan {
 public:
  /// Describes a request and asks cuBLASLt for kernels. \errors `unsupported`, beginning with "not
  /// offered: ", where it has none; `out_of_memory`; `library_error`
  [[nodiscard]] static result<matmul_plan> make(cublasLtHandle_t library, const sides& s,
                                                cudaStream_t stream);

  /// What cuBLASLt proposes, the best guess first: never empty.
  [[nodiscard]] const std::vector<lt_kernel>& candidates() const noexcept { return candidates_; }
  [[nodiscard]] const lt_kernel& chosen() const noexcept { return chosen_; }
  void choose(const lt_kernel& kernel) noexcept { chosen_ = kernel; }
  /// Chooses a kernel that was chosen before, perhaps by another process; false where cuBLASLt does
  /// not take it for this.
  [[nodiscard]] bool choose(cublasLtHandle_t library, const tuned_choices::choice& kept) noexcept;

  /// Enqueues a request whose key is this plan's, with `kernel`; its result goes to `d`, which is
  /// the request's d or lies like it. `workspace` is as large as the kernel says.
  [[nodiscard]] result<void> run(cublasLtHandle_t library, const sides& s, const lt_kernel& kernel,
                                 std::byte* d, std::byte* workspace, cudaStream_t stream);

 private:
  matmul_plan() = default;

  cudaDataType factors_ = CUDA_R_32F;  // alpha's type, and beta's
  bool c_is_like_d_ = true;
  lt_operation what_;
  lt_layout left_, right_, c_, d_;
  std::vector<lt_kernel> candidates_;
  lt_kernel chosen_;
};

/// What the plans of a lane have come to.
struct plan_counts {
  std::uint64_t found = 0;     ///< requests that had a plan
  std::uint64_t made = 0;      ///< requests for which one was looked for and not found
  std::uint64_t measured = 0;  ///< plans for which the candidates were run
  std::uint64_t restored = 0;  ///< plans whose kernel had been measured before
};

/// A plan, and the library that runs it; valid until the next one is asked for.
struct planned {
  matmul_plan* plan = nullptr;
  cublasLtHandle_t library = nullptr;
};
/// The lane's plan for requests like this one. Where it asks for it and the plan is new, its
/// candidates are run and waited for. \errors as `matmul_plan::make`
[[nodiscard]] result<planned> plan_for(lane& where, const sides& s);
[[nodiscard]] plan_counts counts_of(lane& where);

/// Runs the candidates on the lane and chooses the fastest.
[[nodiscard]] result<void> measure(matmul_plan& plan, cublasLtHandle_t library, const sides& s,
                                   lane& where);

}  // namespace troupe::cuda
