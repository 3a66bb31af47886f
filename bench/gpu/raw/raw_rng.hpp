#pragma once

#include "raw.hpp"

#include <cstddef>

namespace troupe::bench::raw {

/// cuRAND's philox4_32_10 on a stream.
class generator {
 public:
  explicit generator(stream& on);
  ~generator();
  generator(const generator&) = delete;
  generator& operator=(const generator&) = delete;

  void uniform(float* to, std::size_t count);
  void normal(float* to, std::size_t count);

 private:
  void* generator_ = nullptr;
};

}  // namespace troupe::bench::raw
