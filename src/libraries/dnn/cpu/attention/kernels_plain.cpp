#define KERNELS plain
#define VECTOR_BYTES 16
#include "base/processor.hpp"
#include "libraries/dnn/cpu/attention/kernels_for.hpp"

namespace troupe::cpu::attention {

extern template const kernels<float> kernel_sets<float>::avx2;
extern template const kernels<double> kernel_sets<double>::avx2;
extern template const kernels<float> kernel_sets<float>::avx512;
extern template const kernels<double> kernel_sets<double>::avx512;

template <class T>
const kernels<T>& kernels<T>::mine() noexcept {
  static const kernels& best = []() -> const kernels& {
    const auto level = troupe::detail::processor();
    const bool avx2 = level >= troupe::detail::processor_level::avx2;
    const bool avx512 = level == troupe::detail::processor_level::avx512;
    return avx512 ? kernel_sets<T>::avx512 : avx2 ? kernel_sets<T>::avx2 : kernel_sets<T>::plain;
  }();
  return best;
}
template const kernels<float>& kernels<float>::mine() noexcept;
template const kernels<double>& kernels<double>::mine() noexcept;

}  // namespace troupe::cpu::attention
