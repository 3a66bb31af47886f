#define KERNELS plain
#include "libraries/dnn/cpu/lines/line_kernels_for.hpp"

namespace troupe::cpu {

#define OF_OTHERS(T)                                               \
  extern template const line_kernels<T> line_kernel_sets<T>::avx2; \
  extern template const line_kernels<T> line_kernel_sets<T>::avx512;
OF_OTHERS(double)
OF_OTHERS(float)
OF_OTHERS(f16)
OF_OTHERS(bf16)
#undef OF_OTHERS

template <class T>
const line_kernels<T>& line_kernels<T>::mine() noexcept {
  static const line_kernels& best = []() -> const line_kernels& {
    const bool avx2 = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    const bool avx512 =
        avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    return avx512 ? line_kernel_sets<T>::avx512
           : avx2 ? line_kernel_sets<T>::avx2
                  : line_kernel_sets<T>::plain;
  }();
  return best;
}
template const line_kernels<double>& line_kernels<double>::mine() noexcept;
template const line_kernels<float>& line_kernels<float>::mine() noexcept;
template const line_kernels<f16>& line_kernels<f16>::mine() noexcept;
template const line_kernels<bf16>& line_kernels<bf16>::mine() noexcept;

}  // namespace troupe::cpu
