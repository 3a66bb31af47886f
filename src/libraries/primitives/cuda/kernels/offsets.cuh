#pragma once

#include "backend/cuda/context/late_failure.cuh"

#include <troupe/tensor/tensor.hpp>

#include <cstdint>

/// Segment offsets, which only kernels see. Wrong offsets never cause an access out of range.
namespace troupe::cuda {

class segment_offsets {
 public:
  /// `count`: the elements of the vector.
  segment_offsets(const any_tensor& offsets, std::int64_t count)
      : first_(offsets.data<std::int64_t>()),
        step_(offsets.stride(0)),
        number_(offsets.extent(0)),
        count_(count) {}

  /// The numbers of offsets and of segments.
  [[nodiscard]] __host__ __device__ std::int64_t number() const { return number_; }
  [[nodiscard]] __host__ __device__ std::int64_t segments() const { return number_ - 1; }

  /// The bounds of a segment. If the offsets are wrong, they are clamped to the vector.
  [[nodiscard]] __device__ std::int64_t begin(std::int64_t segment) const {
    return at_most_all(value(segment));
  }
  [[nodiscard]] __device__ std::int64_t end(std::int64_t segment) const {
    const std::int64_t first = begin(segment);
    const std::int64_t last = at_most_all(value(segment + 1));
    return last < first ? first : last;
  }

  [[nodiscard]] __device__ bool wrong(std::int64_t i) const {
    return value(i) < least(i) || value(i) > count_;
  }
  __device__ void write_failure(std::int64_t i, const late_failure& failure) const {
    failure.write(errc::invalid_argument, "offsets[", i, "] is ", value(i), ", it must be from ",
                  least(i), " to ", count_);
  }

 private:
  [[nodiscard]] __device__ std::int64_t value(std::int64_t i) const { return first_[i * step_]; }
  [[nodiscard]] __device__ std::int64_t least(std::int64_t i) const {
    return i == 0 ? 0 : value(i - 1);
  }
  [[nodiscard]] __device__ std::int64_t at_most_all(std::int64_t offset) const {
    return offset < 0 ? 0 : offset > count_ ? count_ : offset;
  }

  const std::int64_t* first_;
  std::int64_t step_;
  std::int64_t number_;
  std::int64_t count_;
};

}  // namespace troupe::cuda
