#pragma once

#include "libraries/dnn/cuda/images/channel_sums.cuh"

/// What batch norms read and write of each channel, and what they apply to its elements.
namespace troupe::cuda {

/// A tensor [c] of any of the types; null where it is not given.
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

struct training_numbers {
  channel_numbers weight, bias, mean, rstd, running_mean, running_variance;
  double momentum, eps;
};

/// What is applied to the elements of a channel: mean, factor and bias.
template <class Real>
struct applied_numbers {
  Real mean, first, second, scale;
};
/// Of all of a channel. Statistics are stored where `stores` is set.
template <class Real>
__device__ __forceinline__ applied_numbers<Real> finished(const training_numbers& r, std::int64_t c,
                                                          const moments<Real>& all, bool stores) {
  const Real variance = all.second / all.count;
  const Real rstd = 1 / std::sqrt(variance + static_cast<Real>(r.eps));
  if (stores) {
    r.mean.set(c, all.first);
    r.rstd.set(c, rstd);
    const auto part = static_cast<Real>(r.momentum);
    const auto update = [&](const channel_numbers& t, Real now) {
      if (t.at != nullptr) t.set(c, (1 - part) * t.get<Real>(c, 0) + part * now);
    };
    update(r.running_mean, all.first);
    update(r.running_variance, all.count > 1 ? variance * (all.count / (all.count - 1)) : variance);
  }
  return {all.first, rstd * r.weight.get<Real>(c, 1), r.bias.get<Real>(c, 0), 0};
}

struct gradient_numbers {
  channel_numbers mean, rstd, weight, dweight, dbias;
};

template <class Real>
__device__ __forceinline__ applied_numbers<Real> finished(const gradient_numbers& r, std::int64_t c,
                                                          const products<Real>& all, Real elements,
                                                          bool stores) {
  const Real rstd = r.rstd.get<Real>(c, 0);
  const Real weight = r.weight.get<Real>(c, 1);
  if (stores) {
    r.dweight.set(c, elements == 0 ? Real{0} : all.second * rstd);  // rstd of nothing is NaN
    r.dbias.set(c, all.first);
  }
  return {r.mean.get<Real>(c, 0), all.first / elements, all.second / elements * rstd * rstd,
          rstd * weight};
}

}  // namespace troupe::cuda
