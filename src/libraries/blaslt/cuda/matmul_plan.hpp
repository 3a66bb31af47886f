#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/blas/cuda/planner/lt_plan.hpp"
#include "libraries/blaslt/cuda/sides.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Describes a request and asks cuBLASLt for kernels. \errors `unsupported` if it has none, with a
/// message that begins with "not offered"; `out_of_memory`; `library_error`
[[nodiscard]] result<lt_plan> make_plan(cublasLtHandle_t library, const sides& s,
                                        cudaStream_t stream);
/// Enqueues a request whose key is the plan's, with `kernel`; its result goes to `d`, which is the
/// request's d or lies like it. `workspace` is as large as the kernel says.
[[nodiscard]] result<void> run(lt_plan& plan, cublasLtHandle_t library, const sides& s,
                               const lt_kernel& kernel, std::byte* d, std::byte* workspace,
                               cudaStream_t stream);

/// Events of the plans of a lane.
struct plan_counts {
  std::uint64_t found = 0;     ///< requests that had a plan
  std::uint64_t made = 0;      ///< requests for which one was looked for and not found
  std::uint64_t measured = 0;  ///< plans for which the candidates were run
  std::uint64_t restored = 0;  ///< plans whose kernel had been measured before
};

/// A plan, and the library that runs it; valid until the next one is asked for.
struct planned {
  lt_plan* plan = nullptr;
  cublasLtHandle_t library = nullptr;
};
/// The lane's plan for requests like this one. If the plan is new and the request is to be tuned,
/// its candidates are run and waited for. \errors as `make_plan`
[[nodiscard]] result<planned> plan_for(lane& where, const sides& s);
[[nodiscard]] plan_counts counts_of(lane& where);

/// Runs the candidates on the lane and chooses the fastest.
[[nodiscard]] result<void> measure(lt_plan& plan, cublasLtHandle_t library, const sides& s,
                                   lane& where);

}  // namespace troupe::cuda
