#define KERNELS plain_kernels
#include "base/processor.hpp"
#include "libraries/elementwise/cpu/block_kernels_for.hpp"

namespace troupe::cpu {

const block_kernels& block_kernels::mine() noexcept {
  static const block_kernels with_avx512 = [] {
    block_kernels made = avx2_kernels;
    made.compute = [](const elementwise::typed_instruction& one) {
      block_kernel found = nullptr;
      if (one.type == number::f32) found = avx512_function(one.op);
      return found != nullptr ? found : avx2_kernels.compute(one);
    };
    return made;
  }();
  const auto level = troupe::detail::processor();
  return level == troupe::detail::processor_level::avx512 ? with_avx512
         : level == troupe::detail::processor_level::avx2 ? avx2_kernels
                                                          : plain_kernels;
}

}  // namespace troupe::cpu
