#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace troupe::cpu {

/// The epilogue of sums, for rows of results at any addresses: element j of a row is at
/// `offsets[j]` from its first, in elements.
template <class Sum>
class result_rows {
 public:
  using real = std::conditional_t<std::same_as<Sum, double>, double, float>;

  result_rows(const epilogue& after, dtype type) noexcept;

  /// Stores a row of `n` sums, whose bias has index `row`. `sums` is overwritten; `scratch` has
  /// room for n numbers.
  void store(Sum* sums, real* scratch, std::int64_t n, std::int64_t row, std::byte* c,
             const point* c_places, const std::byte* z, const point* z_places) const;

 private:
  const epilogue& after_;
  dtype type_;
  real alpha_;
  real beta_;
  bool plain_;
};

extern template class result_rows<float>;
extern template class result_rows<double>;
extern template class result_rows<std::uint32_t>;

/// The activation by itself, in place, of a tensor of f32 or bf16 without gaps.
void activate_dense(const epilogue& after, const any_tensor& t);

}  // namespace troupe::cpu
