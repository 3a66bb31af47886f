// Compiled with -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512.
#include "libraries/elementwise/cpu/block_kernels.hpp"
#include "libraries/elementwise/cpu/real_functions.hpp"

namespace troupe::cpu {
namespace {

template <class Op>
void of_each(std::byte* y, const std::byte* a, const std::byte*, const std::byte*, std::size_t n) {
  const auto* const from = reinterpret_cast<const float*>(a);
  auto* const to = reinterpret_cast<float*>(y);
  for (std::size_t i = 0; i < n; ++i)
    to[i] = Op()(from[i]);
}

template <class Op>
constexpr block_kernel kernel_of(Op) {
  return of_each<Op>;
}

}  // namespace

block_kernel avx512_function(elementwise::opcode op) noexcept {
  switch (op) {
    case elementwise::opcode::exp:
      return kernel_of([](float x) { return vector_exp(x); });
    case elementwise::opcode::log:
      return kernel_of([](float x) { return vector_log(x); });
    case elementwise::opcode::tanh:
      return kernel_of([](float x) { return vector_tanh(x); });
    case elementwise::opcode::erfc:
      return kernel_of([](float x) { return vector_erfc(x); });
    default:
      return nullptr;
  }
}

}  // namespace troupe::cpu
