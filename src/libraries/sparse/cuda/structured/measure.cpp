#if __has_include(<cusparseLt.h>)

#include "libraries/sparse/cuda/structured/measure.hpp"

#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"

#include <algorithm>
#include <limits>
#include <memory>

namespace troupe::cuda {
namespace {

// The first round loads the kernels.
constexpr int rounds = 4;
constexpr int runs_of_a_round = 4;

struct event_destroyer {
  void operator()(cudaEvent_t held) const noexcept { (void)cudaEventDestroy(held); }
};
using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, event_destroyer>;

result<event> make_event() {
  cudaEvent_t made = nullptr;
  TRY(check(cudaEventCreate(&made), "cudaEventCreate"));
  return event(made);
}

/// The time of some runs in milliseconds; infinity for a kernel that does not run.
result<float> time(lt_plan& plan, const lt_plan::operands& of, std::byte* workspace,
                   cudaStream_t stream, const event& begin, const event& end) {
  TRY(check(cudaEventRecord(begin.get(), stream), "cudaEventRecord"));
  for (int i = 0; i < runs_of_a_round; ++i) {
    auto one = plan.run(of, workspace, stream);
    if (one) continue;
    if (one.error().code == errc::device_fault) return std::move(one).error();
    return std::numeric_limits<float>::infinity();
  }
  TRY(check(cudaEventRecord(end.get(), stream), "cudaEventRecord"));
  TRY(check(cudaEventSynchronize(end.get()), "cudaEventSynchronize"));
  float all = 0;
  TRY(check(cudaEventElapsedTime(&all, begin.get(), end.get()), "cudaEventElapsedTime"));
  return all;
}

}  // namespace

result<std::size_t> fastest_of(std::span<const std::unique_ptr<lt_plan>> plans,
                               const sparse::structured_matmul& r, lt_plan::operands of,
                               lane& where) {
  std::size_t most = 0;
  for (const auto& one : plans)
    most = std::max(most, one->workspace_bytes());
  call_frame c(where);
  const auto workspace = c.bytes(most);
  const auto d = c.bytes(r.d.reach().end);
  TRY(c.begin());
  // c may be d, which the real product still has to read.
  of.beta = 0;
  of.d = d;
  of.c = of.d;
  const event begin = TRY(make_event());
  const event end = TRY(make_event());
  std::vector<float> best(plans.size(), std::numeric_limits<float>::infinity());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto one = TRY(time(*plans[i], of, workspace, where.stream(), begin, end));
      if (round > 0) best[i] = std::min(best[i], one);
    }
  }
  return static_cast<std::size_t>(std::ranges::min_element(best) - best.begin());
}

}  // namespace troupe::cuda

#endif
