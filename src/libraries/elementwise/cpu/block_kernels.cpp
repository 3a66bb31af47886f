#define KERNELS plain_kernels
#include "libraries/elementwise/cpu/block_kernels_for.hpp"

namespace troupe::cpu {

const block_kernels& block_kernels::mine() noexcept {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  return has_avx2 ? avx2_kernels : plain_kernels;
}

}  // namespace troupe::cpu
