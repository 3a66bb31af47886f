#define CELLS plain
#define VECTOR_BYTES 16
#define ROWS 4
#include "base/processor.hpp"
#include "libraries/dnn/cpu/rnn/cells_for.hpp"

namespace troupe::cpu::rnn {

extern template const cells<float> cell_sets<float>::avx2;
extern template const cells<double> cell_sets<double>::avx2;
extern template const cells<float> cell_sets<float>::avx512;
extern template const cells<double> cell_sets<double>::avx512;

template <class T>
const cells<T>& cells<T>::mine() noexcept {
  static const cells& best = []() -> const cells& {
    const auto level = troupe::detail::processor();
    const bool avx2 = level >= troupe::detail::processor_level::avx2;
    const bool avx512 = level == troupe::detail::processor_level::avx512;
    return avx512 ? cell_sets<T>::avx512 : avx2 ? cell_sets<T>::avx2 : cell_sets<T>::plain;
  }();
  return best;
}
template const cells<float>& cells<float>::mine() noexcept;
template const cells<double>& cells<double>::mine() noexcept;

}  // namespace troupe::cpu::rnn
