#define KERNELS plain_kernels
#include "libraries/elementwise/cpu/block_kernels_for.hpp"

namespace troupe::cpu {

const block_kernels& block_kernels::mine() noexcept {
  static const bool has_avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  static const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") != 0 &&
                                 __builtin_cpu_supports("avx512bw") != 0 &&
                                 __builtin_cpu_supports("avx512dq") != 0 &&
                                 __builtin_cpu_supports("avx512vl") != 0;
  static const block_kernels with_avx512 = [] {
    block_kernels made = avx2_kernels;
    made.compute = [](const elementwise::typed_instruction& one) {
      block_kernel found = nullptr;
      if (one.type == number::f32) found = avx512_function(one.op);
      return found != nullptr ? found : avx2_kernels.compute(one);
    };
    return made;
  }();
  return has_avx512 ? with_avx512 : has_avx2 ? avx2_kernels : plain_kernels;
}

}  // namespace troupe::cpu
