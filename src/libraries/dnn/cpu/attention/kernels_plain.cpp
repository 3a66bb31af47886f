#define KERNELS plain
#define VECTOR_BYTES 16
#include "libraries/dnn/cpu/attention/kernels_for.hpp"

namespace troupe::cpu::attention {

extern template const kernels<float> kernel_sets<float>::avx2;
extern template const kernels<double> kernel_sets<double>::avx2;
extern template const kernels<float> kernel_sets<float>::avx512;
extern template const kernels<double> kernel_sets<double>::avx512;

template <class T>
const kernels<T>& kernels<T>::mine() noexcept {
  static const kernels& best = []() -> const kernels& {
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    const bool avx512 =
        avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    return avx512 ? kernel_sets<T>::avx512 : avx2 ? kernel_sets<T>::avx2 : kernel_sets<T>::plain;
  }();
  return best;
}
template const kernels<float>& kernels<float>::mine() noexcept;
template const kernels<double>& kernels<double>::mine() noexcept;

}  // namespace troupe::cpu::attention
