#define KERNELS plain_product_kernels
#define LANE_BYTES 16
#define ROWS 4
#include "base/processor.hpp"
#include "libraries/dnn/cpu/product_kernels_for.hpp"

namespace troupe::cpu {

const product_kernels& product_kernels::mine() noexcept {
  static const product_kernels& chosen = []() -> const product_kernels& {
    switch (troupe::detail::processor()) {
      case troupe::detail::processor_level::avx512:
        return avx512_product_kernels;
      case troupe::detail::processor_level::avx2:
        return avx2_product_kernels;
      case troupe::detail::processor_level::plain:
        break;
    }
    return plain_product_kernels;
  }();
  return chosen;
}

}  // namespace troupe::cpu
