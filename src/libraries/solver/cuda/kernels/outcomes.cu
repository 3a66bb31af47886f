#include "backend/cuda/context/late_failure.cuh"
#include "base/try.hpp"
#include "libraries/solver/cuda/kernels/list.cuh"
#include "libraries/solver/cuda/kernels/outcomes.hpp"
#include "libraries/solver/shared/block_pivots.hpp"

namespace troupe::cuda {
namespace {

using place = unsigned long long;  // the 64-bit type of atomicMin
static_assert(sizeof(place) == sizeof(std::uint64_t));
constexpr place nowhere = ~place{0};

template <class... Parts>
__device__ void fail(late_failure failure, bool batched, std::int64_t matrix,
                     const Parts&... parts) {
  if (batched) {
    failure.write(errc::numerical, "matrix ", matrix, ": ", parts...);
  } else {
    failure.write(errc::numerical, parts...);
  }
}

__device__ void explain(const outcomes& found, const late_words& not_finite, bool batched,
                        std::int64_t matrix, std::int64_t info, late_failure failure) {
  if (info < 0) return fail(failure, batched, matrix, not_finite);
  const bool other = info > found.other_from;
  const outcome_words& words = other ? found.other : found.words;
  fail(failure, batched, matrix, words.before, other ? info - found.other_from : info, words.after);
}

// A single block, one thread of which reports the failure.
__global__ void __launch_bounds__(threads_per_block)
    tell(const __grid_constant__ outcomes found, const __grid_constant__ late_words not_finite,
         std::int32_t* to, bool batched, late_failure failure) {
  const auto info_of = [&](std::int64_t b) {
    return found.flags != nullptr && found.flags[b] != 0 ? -1 : found.info[b];
  };
  place mine = nowhere;
  for (std::int64_t b = threadIdx.x; b < found.count; b += threads_per_block) {
    const std::int32_t info = info_of(b);
    if (to != nullptr) to[b] = info;
    if (info != 0 && mine == nowhere) mine = static_cast<place>(b);
  }
  const place first = lowest_of_block(mine);
  if (threadIdx.x != 0 || first == nowhere) return;
  const auto matrix = static_cast<std::int64_t>(first);
  explain(found, not_finite, batched, matrix, info_of(matrix), failure);
}

__global__ void __launch_bounds__(threads_per_block)
    admit(const std::int64_t* pivots, pivot_copies copies, std::int64_t n, std::int64_t count) {
  auto* const first_bad = reinterpret_cast<place*>(copies.first_bad);
  for (std::int64_t flat = first_step(); flat < count; flat += step_width()) {
    const std::int64_t pivot = pivots[flat];
    const bool good = pivot >= 1 && pivot <= n;
    const std::int64_t followed = good ? pivot : flat % n + 1;
    if (copies.to != nullptr) copies.to[flat] = followed;
    if (copies.narrow != nullptr) copies.narrow[flat] = static_cast<std::int32_t>(followed);
    if (!good) atomicMin(first_bad, static_cast<place>(flat));
  }
}

// A thread checks all pivots of a matrix, because which of them are pairs follows from the first
// on.
__global__ void __launch_bounds__(threads_per_block)
    admit_blocks(const std::int64_t* pivots, std::int64_t* to, place* first_bad, std::int64_t n,
                 std::int64_t matrices) {
  for (std::int64_t b = first_step(); b < matrices; b += step_width()) {
    const std::int64_t* const its = pivots + b * n;
    const std::int64_t bad = solver::first_bad_block_pivot(its, n);
    for (std::int64_t i = 0; i < n; ++i)
      to[b * n + i] = bad == n ? its[i] : i + 1;
    if (bad < n) atomicMin(first_bad, static_cast<place>(b * n + bad));
  }
}

__global__ void tell_pivot(const std::int64_t* pivots, std::int64_t n, bool batched,
                           const place* first_bad, const __grid_constant__ late_words end,
                           late_failure failure) {
  if (threadIdx.x != 0 || *first_bad == nowhere) return;
  const auto flat = static_cast<std::int64_t>(*first_bad);
  if (batched) {
    failure.write(errc::invalid_argument, "matrix ", flat / n, ": pivots[", flat % n, "] is ",
                  pivots[flat], ", not within 1 and ", n, end);
  } else {
    failure.write(errc::invalid_argument, "pivots[", flat, "] is ", pivots[flat],
                  ", not within 1 and ", n, end);
  }
}

__global__ void __launch_bounds__(threads_per_block)
    widen(const std::int32_t* from, std::int64_t* to, std::int64_t count) {
  for (std::int64_t i = first_step(); i < count; i += step_width())
    to[i] = from[i];
}

}  // namespace

result<void> clear(const any_tensor& t, lane& where) {
  if (t.null() || t.empty()) return {};
  return check(
      cudaMemsetAsync(t.address(), 0, static_cast<std::size_t>(t.count() * size_of(t.type())),
                      where.stream()),
      "cudaMemsetAsync");
}

result<void> report(const outcomes& found, const any_tensor& info, const any_tensor& a,
                    late_failure failure, lane& where) {
  if (found.count == 0) return {};
  std::int32_t* const to = info.null() ? nullptr : info.data<std::int32_t>();
  return launch(where, "tell", tell, 1, found, late_words(solver::not_finite), to, a.rank() > 2,
                failure);
}

result<void> admit_pivots(const any_tensor& pivots, const pivot_copies& copies, lane& where) {
  TRY(check(cudaMemsetAsync(copies.first_bad, 0xff, sizeof *copies.first_bad, where.stream()),
            "cudaMemsetAsync"));
  const std::int64_t count = pivots.count();
  return launch(where, "admit", admit, blocks_for(where, count), pivots.data<std::int64_t>(),
                copies, pivots.extent(pivots.rank() - 1), count);
}

namespace {

result<void> report_bad(const any_tensor& pivots, const std::uint64_t* first_bad,
                        std::string_view end, late_failure failure, lane& where) {
  return launch(where, "tell_pivot", tell_pivot, 1, pivots.data<std::int64_t>(),
                pivots.extent(pivots.rank() - 1), pivots.rank() > 1,
                reinterpret_cast<const place*>(first_bad), late_words(end), failure);
}

}  // namespace

result<void> report_pivots(const any_tensor& pivots, const std::uint64_t* first_bad,
                           late_failure failure, lane& where) {
  return report_bad(pivots, first_bad, {}, failure, where);
}

result<void> admit_block_pivots(const any_tensor& pivots, std::int64_t* to,
                                std::uint64_t* first_bad, lane& where) {
  TRY(check(cudaMemsetAsync(first_bad, 0xff, sizeof *first_bad, where.stream()),
            "cudaMemsetAsync"));
  const std::int64_t n = pivots.extent(pivots.rank() - 1);
  const std::int64_t matrices = pivots.count() / n;
  return launch(where, "admit_blocks", admit_blocks, blocks_for(where, matrices),
                pivots.data<std::int64_t>(), to, reinterpret_cast<place*>(first_bad), n, matrices);
}

result<void> report_block_pivots(const any_tensor& pivots, const std::uint64_t* first_bad,
                                 late_failure failure, lane& where) {
  return report_bad(pivots, first_bad, solver::not_a_pair, failure, where);
}

result<void> widen_pivots(const std::int32_t* from, std::int64_t* to, std::int64_t count,
                          lane& where) {
  return launch(where, "widen", widen, blocks_for(where, count), from, to, count);
}

}  // namespace troupe::cuda
