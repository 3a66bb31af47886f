#define KERNELS plain_product_kernels
#define LANE_BYTES 16
#define ROWS 4
#include "libraries/dnn/cpu/product_kernels_for.hpp"

namespace troupe::cpu {

const product_kernels& product_kernels::mine() noexcept {
  static const product_kernels& chosen = []() -> const product_kernels& {
    if (__builtin_cpu_supports("avx512f") != 0) return avx512_product_kernels;
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
      return avx2_product_kernels;
    return plain_product_kernels;
  }();
  return chosen;
}

}  // namespace troupe::cpu
