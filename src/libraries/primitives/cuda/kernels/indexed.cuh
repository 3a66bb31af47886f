#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>

namespace troupe::cuda {

/// An iterator for CUB over `f(i)` for each index i. `f(i)` may be assignable.
template <class F>
class indexed {
 public:
  using reference = std::invoke_result_t<F, std::int64_t>;
  using value_type = typename F::value_type;
  using difference_type = std::int64_t;
  using pointer = void;
  using iterator_category = std::random_access_iterator_tag;

  __host__ __device__ explicit indexed(F f, std::int64_t at = 0) : f_(f), at_(at) {}

  __device__ reference operator*() const { return f_(at_); }
  __device__ reference operator[](std::int64_t i) const { return f_(at_ + i); }
  __host__ __device__ indexed operator+(std::int64_t i) const { return indexed(f_, at_ + i); }
  __host__ __device__ indexed operator-(std::int64_t i) const { return indexed(f_, at_ - i); }
  __host__ __device__ std::int64_t operator-(const indexed& other) const { return at_ - other.at_; }
  __host__ __device__ indexed& operator+=(std::int64_t i) {
    at_ += i;
    return *this;
  }
  __host__ __device__ indexed& operator++() { return *this += 1; }
  __host__ __device__ bool operator==(const indexed& other) const { return at_ == other.at_; }
  __host__ __device__ bool operator!=(const indexed& other) const { return at_ != other.at_; }

 private:
  F f_;
  std::int64_t at_;
};

/// The reference type of an output iterator: assignment stores through a sink.
template <class Sink>
class place_in {
 public:
  __device__ place_in(const Sink& sink, std::int64_t at) : sink_(&sink), at_(at) {}
  template <class T>
  __device__ const place_in& operator=(const T& value) const {
    sink_->store(at_, value);
    return *this;
  }

 private:
  const Sink* sink_;
  std::int64_t at_;
};

/// An output iterator that stores through a sink.
template <class Sink>
struct placed {
  using value_type = typename Sink::value_type;
  Sink sink;
  __device__ place_in<Sink> operator()(std::int64_t i) const { return {sink, i}; }
};

}  // namespace troupe::cuda
