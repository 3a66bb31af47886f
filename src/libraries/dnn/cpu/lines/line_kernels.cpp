#define KERNELS plain
#include "base/processor.hpp"
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
    const auto level = troupe::detail::processor();
    const bool avx2 = level >= troupe::detail::processor_level::avx2;
    const bool avx512 = level == troupe::detail::processor_level::avx512;
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
