#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/channel_sums.cuh"

#include <troupe/dnn/batch_norm.hpp>

#include <algorithm>
#include <limits>

namespace troupe::cuda {
namespace {

/// A tensor [c] of any supported type, or null.
struct channel_numbers {
  std::byte* at = nullptr;
  std::int64_t step = 0;
  dtype type = dtype::f32;

  channel_numbers() = default;
  explicit channel_numbers(const any_tensor& t) : type(t.type()) {
    if (t.null()) return;
    at = t.address();
    step = t.stride(0);
  }
  template <class Real>
  [[nodiscard]] __device__ Real get(std::int64_t c, Real otherwise) const {
    if (at == nullptr) return otherwise;
    const std::int64_t i = c * step;
    switch (type) {
      case dtype::f64:
        return static_cast<Real>(reinterpret_cast<const double*>(at)[i]);
      case dtype::f16:
        return real_of(reinterpret_cast<const f16*>(at)[i]);
      case dtype::bf16:
        return real_of(reinterpret_cast<const bf16*>(at)[i]);
      default:
        return reinterpret_cast<const float*>(at)[i];
    }
  }
  template <class Real>
  __device__ void set(std::int64_t c, Real value) const {
    if (at == nullptr) return;
    const std::int64_t i = c * step;
    switch (type) {
      case dtype::f64:
        reinterpret_cast<double*>(at)[i] = value;
        break;
      case dtype::f16:
        reinterpret_cast<f16*>(at)[i] = rounded<f16>(static_cast<float>(value));
        break;
      case dtype::bf16:
        reinterpret_cast<bf16*>(at)[i] = rounded<bf16>(static_cast<float>(value));
        break;
      default:
        reinterpret_cast<float*>(at)[i] = static_cast<float>(value);
        break;
    }
  }
};

/// Per-channel numbers that are applied to elements, one array after the other.
template <class Real>
struct applied {
  Real* first = nullptr;
  std::int64_t channels = 0;
  [[nodiscard]] __device__ Real& of(int array, std::int64_t c) const {
    return first[array * channels + c];
  }
};

struct training_numbers {
  channel_numbers weight, bias, mean, rstd, running_mean, running_variance;
  double momentum, eps;
};

/// The channel of this warp.
[[nodiscard]] __device__ __forceinline__ std::int64_t channel_of_warp() {
  return flat_thread() / 32;
}

// One warp per channel.
template <class T>
__global__ void __launch_bounds__(image_threads)
    finish_moments(const __grid_constant__ training_numbers r, const void* sums, std::int64_t parts,
                   const __grid_constant__ image_view x, applied<image_real<T>> to) {
  using Real = image_real<T>;
  const std::int64_t c = channel_of_warp();
  if (c >= to.channels) return;
  const auto all = sums_of_channel<moments, Real>(sums, c, parts);
  if (threadIdx.x % 32 != 0) return;
  if (all.count == 0) {
    r.mean.set(c, std::numeric_limits<Real>::quiet_NaN());
    r.rstd.set(c, std::numeric_limits<Real>::quiet_NaN());
    return;
  }
  const Real variance = all.second / all.count;
  const Real rstd = 1 / std::sqrt(variance + static_cast<Real>(r.eps));
  const Real origin = origin_of<T>(x, c);
  const Real mean = origin + all.first;
  // The part of the mean that does not fit in its type.
  const Real rest = (origin - mean) + all.first;
  const Real scale = rstd * r.weight.get<Real>(c, 1);
  r.mean.set(c, mean);
  r.rstd.set(c, rstd);
  const auto part = static_cast<Real>(r.momentum);
  const auto update = [&](const channel_numbers& t, Real now) {
    if (t.at != nullptr) t.set(c, (1 - part) * t.get<Real>(c, 0) + part * now);
  };
  update(r.running_mean, mean);
  update(r.running_variance, all.count > 1 ? variance * (all.count / (all.count - 1)) : variance);
  to.of(0, c) = mean;
  to.of(1, c) = scale;
  to.of(2, c) = r.bias.get<Real>(c, 0) - rest * scale;
}

template <class Real>
__global__ void __launch_bounds__(image_threads)
    take_given(channel_numbers mean, channel_numbers variance, channel_numbers weight,
               channel_numbers bias, Real eps, applied<Real> to) {
  const std::int64_t c = flat_thread();
  if (c >= to.channels) return;
  to.of(0, c) = mean.get<Real>(c, 0);
  to.of(1, c) = weight.get<Real>(c, 1) / std::sqrt(variance.get<Real>(c, 0) + eps);
  to.of(2, c) = bias.get<Real>(c, 0);
}

template <class Real>
__global__ void __launch_bounds__(image_threads) take_mean(channel_numbers mean, applied<Real> to) {
  const std::int64_t c = flat_thread();
  if (c < to.channels) to.of(0, c) = mean.get<Real>(c, 0);
}

struct gradient_numbers {
  channel_numbers rstd, weight, dweight, dbias;
};

// One warp per channel.
template <class Real>
__global__ void __launch_bounds__(image_threads)
    finish_products(const __grid_constant__ gradient_numbers r, const void* sums,
                    std::int64_t parts, Real elements, applied<Real> to) {
  const std::int64_t c = channel_of_warp();
  if (c >= to.channels) return;
  const auto all = sums_of_channel<products, Real>(sums, c, parts);
  if (threadIdx.x % 32 != 0) return;
  const Real rstd = r.rstd.get<Real>(c, 0);
  r.dweight.set(c, elements == 0 ? Real{0} : all.second * rstd);  // rstd is NaN without elements
  r.dbias.set(c, all.first);
  to.of(1, c) = all.first / elements;
  to.of(2, c) = all.second / elements * rstd * rstd;
  to.of(3, c) = rstd * r.weight.get<Real>(c, 1);
}

struct apply_operands {
  image_view x, dy, to;
  std::int32_t columns = 1;  ///< extent of the last spatial dimension
  int across = 1;            ///< threads side by side in a line
  image_places each;
};

/// Loads the numbers of a pack's channels: V channels side by side, or a single one.
template <class Real, int V>
__device__ __forceinline__ void load_numbers(const applied<Real>& from, int array, std::int64_t c,
                                             bool of_each, Real (&to)[V]) {
  if (of_each) {
    // The address is aligned, because the number of channels is a multiple of V.
    load_pack<Real, V>(from.first + array * from.channels + c, to);
    return;
  }
#pragma unroll
  for (int v = 0; v < V; ++v)
    to[v] = from.of(array, c);
}

// Each thread takes V channels of some rows, or some vectors of a line, `across` threads apart.
template <class T, int V, bool Gradient>
__global__ void __launch_bounds__(image_threads)
    apply(const __grid_constant__ apply_operands p, applied<image_real<T>> numbers) {
  using real = image_real<T>;
  const bool of_each = p.each.channels_inside;
  const std::int64_t flat = flat_thread();
  // In reverse order: the elements read last are still in the cache.
  const std::int64_t piece = p.each.count - 1 - flat / p.across;
  if (piece < 0) return;
  image_place at = p.each.at(piece);
  const std::int32_t end = p.each.columns_end(at, p.columns);
  const int unit = of_each ? 1 : V;
  at.w += static_cast<std::int32_t>(flat % p.across) * unit;
  real mean[V];
  real first[V];
  real second[V];
  real scale[V];
  load_numbers<real, V>(numbers, 0, at.c, of_each, mean);
  load_numbers<real, V>(numbers, 1, at.c, of_each, first);
  load_numbers<real, V>(numbers, 2, at.c, of_each, second);
  if constexpr (Gradient) load_numbers<real, V>(numbers, 3, at.c, of_each, scale);
  const int step = p.across * unit;
  const T* from = p.x.elements<T>() + at.in(p.x);
  const T* gradients = Gradient ? p.dy.elements<T>() + at.in(p.dy) : nullptr;
  T* to = p.to.elements<T>() + at.in(p.to);
#pragma unroll 1
  for (; at.w < end; at.w += step) {
    real x[V];
    load_pack<T, V>(from, x);
    from += step * p.x.steps[2];
    if constexpr (Gradient) {
      real dy[V];
      load_pack<T, V>(gradients, dy);
      gradients += step * p.dy.steps[2];
#pragma unroll
      for (int v = 0; v < V; ++v)
        x[v] = (dy[v] - first[v] - (x[v] - mean[v]) * second[v]) * scale[v];
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v)
        x[v] = (x[v] - mean[v]) * first[v] + second[v];
    }
    store_pack<T, V>(x, to);
    to += step * p.to.steps[2];
  }
}

/// The approximate number of blocks that share the sums: a few per multiprocessor of a large GPU.
/// It is a constant, so that the order of the sums follows from shapes alone.
constexpr std::int64_t sum_blocks = 1056;

/// Batch norm on elements of type T.
template <class T>
class normalizer {
 public:
  using real = image_real<T>;
  static constexpr int most = vector_bytes / sizeof(T);

  normalizer(const any_tensor& x, const any_tensor& dy, const any_tensor& to, lane& where)
      : where_(where), of_(x), x_(x), to_(to) {
    if (dy.null()) {
      merge_space(of_, {&x_, &to_});
    } else {
      dy_ = image_view(dy);
      merge_space(of_, {&x_, &dy_, &to_});
    }
    const auto all = [&](auto fits) {
      return fits(x_) && fits(to_) && (!dy_.given() || fits(dy_));
    };
    inside_ =
        channels_are_inside(of_, x_) && all([](const image_view& v) { return v.c_step == 1; });
    vectors_ = inside_
                   ? of_.c % most == 0 &&
                         all([](const image_view& v) { return channels_align(v, most, sizeof(T)); })
                   : of_.space[2] % most == 0 &&
                         all([](const image_view& v) { return lines_align(v, most, sizeof(T)); });
    unit_ = vectors_ ? most : 1;
    const std::int64_t side_by_side = (inside_ ? of_.c : of_.space[2]) / unit_;
    while (across_ < 32 && across_ < side_by_side)
      across_ *= 2;
    image_extents one = of_;
    one.c = 1;
    one_channel_ = image_places(one, false, 1, inside_ ? 1 : unit_ * across_ * vectors_each);
    strips_ = inside_ ? (side_by_side - 1) / across_ + 1 : of_.c;
    const std::int64_t least = (inside_ ? 4 : 1) * (image_threads / across_);
    parts_ = std::clamp<std::int64_t>(sum_blocks / std::max<std::int64_t>(1, strips_), 1,
                                      std::max<std::int64_t>(1, one_channel_.count / least));
  }

  [[nodiscard]] std::int64_t elements() const noexcept { return of_.n * of_.places(); }
  [[nodiscard]] const applied<real>& numbers() const noexcept { return numbers_; }
  [[nodiscard]] const void* sums() const noexcept { return sums_; }
  [[nodiscard]] std::int64_t parts() const noexcept { return parts_; }

  result<void> reserve(int arrays) {
    call_frame c(where_);
    const auto numbers = c.array<real>(arrays * of_.c);
    const auto sums = c.array<moments<real>>(of_.c * parts_);
    TRY(c.begin());
    numbers_ = {.first = numbers, .channels = of_.c};
    sums_ = sums;
    return {};
  }

  template <template <class> class Sums>
  result<void> sum(const real* mean) {
    sum_operands p{.x = x_,
                   .dy = dy_,
                   .channels = of_.c,
                   .columns = of_.space[2],
                   .parts = parts_,
                   .each = one_channel_,
                   .sums = sums_,
                   .mean = mean};
    const std::int64_t blocks = strips_ * parts_;
    if (inside_) {
      return launch(vectors_ ? sum_rows<Sums, T, most> : sum_rows<Sums, T, 1>, blocks,
                    image_threads, where_.stream(), p, across_);
    }
    return launch(vectors_ ? sum_lines<Sums, T, most> : sum_lines<Sums, T, 1>, blocks,
                  image_threads, where_.stream(), p, across_);
  }

  template <bool Gradient>
  result<void> apply_numbers() {
    const bool many = of_.count() >= std::int64_t{1} << 20;
    const int rows = many ? vectors_each : 1;
    const apply_operands p{
        .x = x_,
        .dy = dy_,
        .to = to_,
        .columns = static_cast<std::int32_t>(of_.space[2]),
        .across = inside_ ? 1 : across_,
        .each = inside_ ? image_places(of_, true, unit_, rows)
                        : image_places(of_, false, 1, unit_ * across_ * vectors_each)};
    return launch(vectors_ ? apply<T, most, Gradient> : apply<T, 1, Gradient>,
                  blocks_for(p.each.count * p.across), image_threads, where_.stream(), p, numbers_);
  }

 private:
  lane& where_;
  image_extents of_;
  image_view x_, dy_, to_;
  bool inside_ = false;   ///< channels lie side by side
  bool vectors_ = false;  ///< and in vectors, or space does
  int unit_ = 1;          ///< elements per vector
  int across_ = 1;        ///< threads side by side
  image_places one_channel_;
  std::int64_t strips_ = 1;
  std::int64_t parts_ = 1;
  applied<real> numbers_;
  void* sums_ = nullptr;
};

result<void> train(const dnn::batch_norm_training& r, lane& where) {
  if (r.x.extent(1) == 0) return {};
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    normalizer<T> norm(r.x, {}, r.y, where);
    TRY(norm.reserve(3));
    TRY(norm.template sum<moments>(nullptr));
    const training_numbers numbers{.weight = channel_numbers(r.weight),
                                   .bias = channel_numbers(r.bias),
                                   .mean = channel_numbers(r.mean),
                                   .rstd = channel_numbers(r.rstd),
                                   .running_mean = channel_numbers(r.running_mean),
                                   .running_variance = channel_numbers(r.running_variance),
                                   .momentum = r.momentum,
                                   .eps = r.eps};
    if (auto done =
            launch(finish_moments<T>, blocks_for(r.x.extent(1) * 32), image_threads, where.stream(),
                   numbers, norm.sums(), norm.parts(), image_view(r.x), norm.numbers());
        !done || norm.elements() == 0) {
      return done;
    }
    return norm.template apply_numbers<false>();
  });
}

result<void> infer(const dnn::batch_norm_inference& r, lane& where) {
  if (r.x.empty()) return {};
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    using real = image_real<T>;
    normalizer<T> norm(r.x, {}, r.y, where);
    TRY(norm.reserve(3));
    TRY(launch(take_given<real>, blocks_for(r.x.extent(1)), image_threads, where.stream(),
               channel_numbers(r.mean), channel_numbers(r.variance), channel_numbers(r.weight),
               channel_numbers(r.bias), static_cast<real>(r.eps), norm.numbers()));
    return norm.template apply_numbers<false>();
  });
}

result<void> differentiate(const dnn::batch_norm_backward& r, lane& where) {
  if (r.x.extent(1) == 0) return {};
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    using real = image_real<T>;
    normalizer<T> norm(r.x, r.dy, r.dx, where);
    TRY(norm.reserve(4));
    TRY(launch(take_mean<real>, blocks_for(r.x.extent(1)), image_threads, where.stream(),
               channel_numbers(r.mean), norm.numbers()));
    TRY(norm.template sum<products>(norm.numbers().first));
    const gradient_numbers numbers{.rstd = channel_numbers(r.rstd),
                                   .weight = channel_numbers(r.weight),
                                   .dweight = channel_numbers(r.dweight),
                                   .dbias = channel_numbers(r.dbias)};
    if (auto done = launch(finish_products<real>, blocks_for(r.x.extent(1) * 32), image_threads,
                           where.stream(), numbers, norm.sums(), norm.parts(),
                           static_cast<real>(norm.elements()), norm.numbers());
        !done || norm.elements() == 0) {
      return done;
    }
    return norm.template apply_numbers<true>();
  });
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::batch_norm_training>(table, train);
  add<dnn::batch_norm_inference>(table, infer);
  add<dnn::batch_norm_backward>(table, differentiate);
});

}  // namespace
}  // namespace troupe::cuda
