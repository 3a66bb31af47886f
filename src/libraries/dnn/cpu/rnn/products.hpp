#pragma once

#include <troupe/plugin/executor.hpp>

#include <cstdint>

namespace troupe::cpu::rnn {

/// Rows of numbers, `step` apart.
template <class R>
struct matrix {
  R* at = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t step = 0;

  [[nodiscard]] static matrix packed(R* at, std::int64_t rows, std::int64_t columns) noexcept {
    return {at, rows, columns, columns};
  }
};

enum class turned : bool { no, yes };

/// c = a · b, or that added to c; either factor may be transposed. By the backend's blas.
template <class R>
[[nodiscard]] result<void> multiply(const matrix<const R>& a, turned a_turned,
                                    const matrix<const R>& b, turned b_turned, const matrix<R>& c,
                                    bool add, lane_context& lane);
extern template result<void> multiply(const matrix<const float>& a, turned a_turned,
                                      const matrix<const float>& b, turned b_turned,
                                      const matrix<float>& c, bool add, lane_context& lane);
extern template result<void> multiply(const matrix<const double>& a, turned a_turned,
                                      const matrix<const double>& b, turned b_turned,
                                      const matrix<double>& c, bool add, lane_context& lane);

}  // namespace troupe::cpu::rnn
