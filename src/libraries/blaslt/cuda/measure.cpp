#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

namespace troupe::cuda {
namespace {

constexpr int rounds = 3;  // candidates take turns, so that all see the same clocks
// A candidate's runs in a round: for so long, that neither the launches nor the events' resolution
// count, and no more than that many.
constexpr float round_ms = 0.5F;
constexpr float most_runs = 50.F;
// The fastest against the guess, in turns. The guess is kept where the other is not clearly faster
// on operands that the caches hold, or is slower on others: a program's lie either way, and which
// kernel is faster may depend on that by a tenth.
constexpr int duels = 7;
constexpr int duels_to_win = 6;
constexpr float worth_changing = 0.95F;
constexpr int cold_runs = 5;  // in a duel

struct destroy_event {
  void operator()(cudaEvent_t held) const noexcept { (void)cudaEventDestroy(held); }
};
using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroy_event>;

result<event> make_event() {
  cudaEvent_t made = nullptr;
  TRY(check(cudaEventCreate(&made), "cudaEventCreate"));
  return event(made);
}

/// Memory to be written through the device's second-level cache, so that it holds nothing else.
class cache_sweep {
 public:
  [[nodiscard]] static result<cache_sweep> make(cudaStream_t stream) {
    int device = 0;
    int bytes = 0;
    TRY(check(cudaGetDevice(&device), "cudaGetDevice"));
    TRY(check(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
              "cudaDeviceGetAttribute"));
    void* memory = nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    TRY(check(cudaMallocAsync(&memory, size, stream), "cudaMallocAsync"));
    return cache_sweep(memory, size, stream);
  }

  [[nodiscard]] result<void> operator()() const {
    return check(cudaMemsetAsync(memory_.get(), 0, bytes_, memory_.get_deleter().stream),
                 "cudaMemsetAsync");
  }

 private:
  struct free_in_order {
    cudaStream_t stream;
    void operator()(void* held) const noexcept { (void)cudaFreeAsync(held, stream); }
  };
  cache_sweep(void* memory, std::size_t bytes, cudaStream_t stream)
      : memory_(memory, {stream}), bytes_(bytes) {}

  std::unique_ptr<void, free_in_order> memory_;
  std::size_t bytes_;
};

/// Runs candidates of one plan, whose result goes where it harms nothing.
class stopwatch {
 public:
  stopwatch(lt_plan& plan, cublasLtHandle_t library, const sides& s, std::byte* d,
            std::byte* workspace, cudaStream_t stream, event begin, event end) noexcept
      : plan_(plan),
        library_(library),
        sides_(s),
        d_(d),
        workspace_(workspace),
        stream_(stream),
        begin_(std::move(begin)),
        end_(std::move(end)) {}

  /// Milliseconds of one run, the mean of `count`; infinity for a kernel that does not run.
  [[nodiscard]] result<float> time(const lt_kernel& kernel, int count) {
    TRY(check(cudaEventRecord(begin_.get(), stream_), "cudaEventRecord"));
    for (int i = 0; i < count; ++i) {
      auto done = run(plan_, library_, sides_, kernel, d_, workspace_, stream_);
      if (done) continue;
      if (done.error().code == errc::device_fault) return std::move(done).error();
      return std::numeric_limits<float>::infinity();
    }
    TRY(check(cudaEventRecord(end_.get(), stream_), "cudaEventRecord"));
    TRY(check(cudaEventSynchronize(end_.get()), "cudaEventSynchronize"));
    float all = 0;
    TRY(check(cudaEventElapsedTime(&all, begin_.get(), end_.get()), "cudaEventElapsedTime"));
    return all / static_cast<float>(count);
  }

  /// The same of runs that find nothing in the caches.
  [[nodiscard]] result<float> time_cold(const lt_kernel& kernel, const cache_sweep& sweep) {
    float all = 0;
    for (int i = 0; i < cold_runs; ++i) {
      TRY(sweep());
      all += TRY(time(kernel, 1));
    }
    return all / cold_runs;
  }

 private:
  lt_plan& plan_;
  cublasLtHandle_t library_;
  const sides& sides_;
  std::byte* d_;
  std::byte* workspace_;
  cudaStream_t stream_;
  event begin_;
  event end_;
};

}  // namespace

result<void> measure(lt_plan& plan, cublasLtHandle_t library, const sides& s, lane& where) {
  const blaslt::matmul& r = s.request;
  const auto& all = plan.candidates();
  const std::size_t count = std::min(all.size(), static_cast<std::size_t>(r.candidates));
  if (count < 2) return {};
  call_frame c(where);
  for (std::size_t i = 0; i < count; ++i)
    c.share(all[i].workspace_bytes);
  // A request that adds to what is there may run once only: its candidates write elsewhere. All
  // else that it writes it overwrites each time.
  const bool in_place = !r.c.null() && r.c.same_view(r.d);
  const auto beyond = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(r.d.address()) %
                                                256);  // aligned as d is
  const auto elsewhere = c.bytes(in_place ? r.d.reach().end + beyond : 0);
  TRY(c.begin());
  event begin = TRY(make_event());
  event end = TRY(make_event());
  stopwatch watch(plan, library, s, in_place ? elsewhere + beyond : r.d.address(), c.shared(),
                  where.stream(), std::move(begin), std::move(end));

  std::vector<float> best(count, std::numeric_limits<float>::infinity());
  std::vector<int> repeated(count, 1);
  // The first round loads the kernels, the second one says how long they take.
  for (int round = -2; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) {
      const float time = TRY(watch.time(all[i], repeated[i]));
      if (round == -1) repeated[i] = static_cast<int>(std::clamp(round_ms / time, 1.F, most_runs));
      if (round >= 0) best[i] = std::min(best[i], time);
    }
  }
  const auto fastest = static_cast<std::size_t>(std::ranges::min_element(best) - best.begin());
  if (!(best[fastest] < worth_changing * best[0])) return {};
  const cache_sweep sweep = TRY(cache_sweep::make(where.stream()));
  int won = 0;
  for (int duel = 0; duel < duels; ++duel) {
    const float guess = TRY(watch.time(all[0], repeated[0]));
    const float other = TRY(watch.time(all[fastest], repeated[fastest]));
    const float cold_guess = TRY(watch.time_cold(all[0], sweep));
    const float cold_other = TRY(watch.time_cold(all[fastest], sweep));
    if (other < worth_changing * guess && cold_other < cold_guess) ++won;
  }
  if (won >= duels_to_win) plan.choose(all[fastest]);
  return {};
}

}  // namespace troupe::cuda
