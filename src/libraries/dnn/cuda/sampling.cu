#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/images.cuh"
#include "libraries/dnn/shared/sampling.hpp"

namespace troupe::cuda {
namespace {

namespace sampling = dnn::sampling;

constexpr unsigned sampling_threads = 1024;
constexpr unsigned sampling_warps = sampling_threads / 32;

/// An element and its place; of equal ones the first is larger.
struct placed {
  float value;
  std::int32_t place;
};
__device__ placed larger(placed a, placed b) {
  const bool second = b.value > a.value || (b.value == a.value && b.place < a.place);
  return second ? b : a;
}
__device__ placed largest_of_warp(placed mine) {
  for (int step = 16; step > 0; step /= 2) {
    const placed other{__shfl_xor_sync(~0U, mine.value, step),
                       __shfl_xor_sync(~0U, mine.place, step)};
    mine = larger(mine, other);
  }
  return mine;
}

/// One block draws from one row.
template <class T>
class row_sampler {
 public:
  __device__ row_sampler(const sampling::operands& o, const sampling::parameters& p,
                         std::int64_t row)
      : x_(reinterpret_cast<const T*>(o.x) + row * o.row_step), n_(o.n), step_(o.step), p_(p) {}

  __device__ std::int32_t draw() {
    if (!p_.valid()) return -1;
    const placed top = largest([&](std::int64_t, float x) { return x; }, true);
    // NaN is carried as +∞.
    if (!(top.value < INFINITY && top.value > -INFINITY)) return -1;
    largest_ = top.value;
    if (p_.temperature == 0) return top.place;
    find_least();
    return largest(
               [&](std::int64_t i, float x) {
                 if (!is_left(x)) return -INFINITY;
                 const auto block =
                     rng::philox_block(p_.seed, p_.position, static_cast<std::uint64_t>(i) / 4);
                 return (x - largest_) / p_.temperature + sampling::gumbel(block.word[i % 4]);
               },
               false)
        .place;
  }

  __device__ float logprob(std::int32_t token) {
    if (token < 0) return NAN;
    const std::uint64_t sum =
        summed([&](float x) { return sampling::exact(std::exp(x - largest_)); });
    const auto log_sum =
        static_cast<float>(std::log(static_cast<double>(sum) / sampling::exact_one));
    return at(token) - largest_ - log_sum;
  }

 private:
  __device__ float at(std::int64_t i) const { return real_of(x_[i * step_]); }
  __device__ float weight(float x) const { return std::exp((x - largest_) / p_.temperature); }
  __device__ bool is_left(float x) const {
    return sampling::key_of(x) >= least_ && (p_.min_p == 0 || weight(x) >= p_.min_p);
  }

  template <class Of>
  __device__ placed largest(Of of, bool nan_is_largest) {
    __shared__ placed of_warp[sampling_warps];
    placed mine{-INFINITY, 0};
    for (std::int64_t i = threadIdx.x; i < n_; i += sampling_threads) {
      const float x = at(i);
      float value = of(i, x);
      if (nan_is_largest && isnan(x)) value = INFINITY;
      mine = larger(mine, {value, static_cast<std::int32_t>(i)});
    }
    mine = largest_of_warp(mine);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = largest_of_warp(of_warp[threadIdx.x % 32]);
    __syncthreads();
    return mine;
  }

  template <class Of>
  __device__ std::uint64_t summed(Of of) {
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    unsigned long long mine = 0;
    for (std::int64_t i = threadIdx.x; i < n_; i += sampling_threads)
      mine += of(at(i));
    for (int step = 16; step > 0; step /= 2)
      mine += __shfl_xor_sync(~0U, mine, step);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, mine);
    __syncthreads();
    const std::uint64_t all = sum;
    __syncthreads();
    return all;
  }

  __device__ void find_least() {
    if (p_.top_k > 0 && p_.top_k < n_)
      least_ = where_sum_reaches(static_cast<std::uint64_t>(p_.top_k),
                                 [](float) { return std::uint64_t{1}; });
    if (p_.top_p >= 1) return;
    const auto of = [&](float x) { return sampling::exact(weight(x)); };
    const std::uint64_t sum =
        summed([&](float x) { return sampling::key_of(x) >= least_ ? of(x) : std::uint64_t{0}; });
    least_ = where_sum_reaches(sampling::share_of(sum, p_.top_p), of);
  }

  template <class Of>
  __device__ std::uint32_t where_sum_reaches(std::uint64_t wanted, Of of) {
    __shared__ unsigned long long sums[sampling::bins];
    __shared__ std::uint32_t next;
    __shared__ std::uint64_t left;
    std::uint32_t found = 0;
    for (int pass = 0; pass < sampling::passes; ++pass) {
      if (threadIdx.x < sampling::bins) sums[threadIdx.x] = 0;
      __syncthreads();
      for (std::int64_t i = threadIdx.x; i < n_; i += sampling_threads) {
        const float x = at(i);
        const std::uint32_t key = sampling::key_of(x);
        if (key < least_ || !sampling::begins(key, found, pass)) continue;
        const std::uint64_t one = of(x);
        if (one != 0) atomicAdd(&sums[key >> sampling::shift_of(pass) & 255], one);
      }
      __syncthreads();
      if (threadIdx.x == 0) {
        left = wanted;
        const int bin = sampling::reaching(reinterpret_cast<const std::uint64_t*>(sums), left);
        next = found | static_cast<std::uint32_t>(bin) << sampling::shift_of(pass);
      }
      __syncthreads();
      found = next;
      wanted = left;
      __syncthreads();
    }
    return found > least_ ? found : least_;
  }

  const T* x_;
  std::int64_t n_;
  std::int64_t step_;
  const sampling::parameters& p_;
  float largest_ = 0;
  std::uint32_t least_ = 0;
};

template <class T>
__global__ void __launch_bounds__(sampling_threads)
    sample_rows(const __grid_constant__ sampling::operands o) {
  const std::int64_t row = blockIdx.x;
  const sampling::parameters p(o, row);
  row_sampler<T> one(o, p, row);
  const std::int32_t token = one.draw();
  const bool wants_logprob = o.logprobs.at != nullptr;
  const float logprob = wants_logprob ? one.logprob(token) : 0;
  if (threadIdx.x != 0) return;
  o.tokens.set(row, token);
  o.logprobs.set(row, logprob);
}

result<void> run_sampling(const dnn::sample_rows& r, lane& where) {
  const sampling::operands p(r);
  if (p.rows == 0) return {};
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    if constexpr (std::same_as<T, double>) {
      return {};
    } else {
      return launch(sample_rows<T>, p.rows, sampling_threads, where.stream(), p);
    }
  });
}

const plugin_operations sampling_operations([](operation_table& table) {
  add<dnn::sample_rows>(table, run_sampling);
});

}  // namespace
}  // namespace troupe::cuda
