#pragma once

#include "raw.hpp"

#include <cstddef>
#include <cstdint>

namespace troupe::bench::raw {

/// CUB's algorithms on vectors of f32, on a stream, with temporary memory that is taken once.
class cub_calls {
 public:
  cub_calls(stream& on, std::int64_t count);

  void sum(const float* x, float* to);
  void inclusive_sum(const float* x, float* y);
  void sort(const float* x, float* y);
  void sort_pairs(const float* keys, const std::uint32_t* values, float* sorted_keys,
                  std::uint32_t* sorted_values);

 private:
  std::int64_t count_;
  void* stream_;
  memory temporary_;
};

}  // namespace troupe::bench::raw
