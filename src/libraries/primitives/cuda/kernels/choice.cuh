#pragma once

#include "backend/cuda/context/lane.hpp"
#include "libraries/primitives/cuda/kernels/elements.cuh"

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

/// Selects the elements of a vector that are kept.
namespace troupe::cuda {

/// The elements of a vector.
template <class T>
struct element_source {
  using value_type = T;
  const T* first;
  std::int64_t step;
  explicit element_source(const any_tensor& of)
      : first(reinterpret_cast<const T*>(of.address())), step(of.stride(0)) {}
  __device__ T operator()(std::int64_t i) const { return first[i * step]; }
};

/// Selects flagged elements, elements that are not flagged, or elements that differ from the one
/// before. It is one type, so that CUB's code is compiled once per width.
class choice {
 public:
  using value_type = bool;

  [[nodiscard]] static choice flagged(const any_tensor& flags, bool set) {
    return {flags, set ? what::flagged : what::not_flagged};
  }
  [[nodiscard]] static choice first_of_run(const any_tensor& x) { return {x, what::first_of_run}; }

  __device__ bool operator()(std::int64_t i) const {
    if (what_ == what::flagged) return first_[i * step_] != 0;
    if (what_ == what::not_flagged) return first_[i * step_] == 0;
    return i == 0 || differs(i);
  }

 private:
  enum class what : std::uint8_t { flagged, not_flagged, first_of_run };
  choice(const any_tensor& of, what chosen)
      : first_(reinterpret_cast<const std::uint8_t*>(of.address())),
        step_(of.stride(0) * size_of(of.type())),
        bytes_(static_cast<int>(size_of(of.type()))),
        what_(chosen) {}

  template <class T>
  [[nodiscard]] __device__ bool differs_as(std::int64_t i, int part) const {
    const auto* const own = reinterpret_cast<const T*>(first_ + i * step_);
    const auto* const before = reinterpret_cast<const T*>(first_ + (i - 1) * step_);
    return own[part] != before[part];
  }
  [[nodiscard]] __device__ bool differs(std::int64_t i) const {
    switch (bytes_) {
      case 1:
        return differs_as<std::uint8_t>(i, 0);
      case 2:
        return differs_as<std::uint16_t>(i, 0);
      case 4:
        return differs_as<std::uint32_t>(i, 0);
      case 8:
        return differs_as<std::uint64_t>(i, 0);
      default:
        return differs_as<std::uint64_t>(i, 0) || differs_as<std::uint64_t>(i, 1);
    }
  }

  const std::uint8_t* first_;
  std::int64_t step_;
  int bytes_;
  what what_;
};

/// Enqueues y = the chosen elements of x, up to y's capacity. The elements that `others` chooses,
/// if given, follow them. `T` has the width of the elements. \returns the address in the workspace
/// of the number of chosen elements
template <class T>
[[nodiscard]] result<std::int64_t*> enqueue_kept(const any_tensor& x, const any_tensor& y,
                                                 const choice& chosen, const choice* others,
                                                 lane& where);

}  // namespace troupe::cuda
