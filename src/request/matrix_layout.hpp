#pragma once

#include <troupe/tensor/tensor.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>

/// How BLAS sees a view. Shared by validation and the backends, so that the accepted layout and the
/// executed one cannot differ.
namespace troupe::blas {

enum class order : std::uint8_t { column_major, row_major };

[[nodiscard]] constexpr order other(order o) noexcept {
  return o == order::column_major ? order::row_major : order::column_major;
}

/// The leading dimension of the matrix in the last two dimensions of `t` in order `o`; 0 if it does
/// not have that order. A matrix with one row or one column can have both.
[[nodiscard]] inline std::int64_t leading_dimension(const any_tensor& t, order o) noexcept {
  const int rows = t.rank() - 2;
  const int inner = o == order::column_major ? rows : rows + 1;
  const int outer = o == order::column_major ? rows + 1 : rows;
  const std::int64_t least = std::max<std::int64_t>(1, t.extent(inner));
  if (t.empty()) return least;
  if (t.extent(inner) > 1 && t.stride(inner) != 1) return 0;
  if (t.extent(outer) == 1) return least;
  return t.stride(outer) >= least ? t.stride(outer) : 0;
}

/// A matrix for BLAS: its order and leading dimension (0: it has none).
struct matrix_layout {
  blas::order order = order::column_major;
  std::int64_t ld = 0;
};

/// The layout of `t`, in order `preferred` if it has both.
[[nodiscard]] inline matrix_layout layout_of(const any_tensor& t,
                                             order preferred = order::column_major) noexcept {
  const std::int64_t ld = leading_dimension(t, preferred);
  if (ld != 0) return {preferred, ld};
  return {other(preferred), leading_dimension(t, other(preferred))};
}

/// An order that all of these matrices have, if there is one.
[[nodiscard]] inline std::optional<order> common_order(
    std::initializer_list<const any_tensor*> matrices) noexcept {
  for (const auto o : {order::column_major, order::row_major}) {
    if (std::ranges::all_of(matrices,
                            [o](const any_tensor* t) { return leading_dimension(*t, o) != 0; })) {
      return o;
    }
  }
  return std::nullopt;
}

/// The increment of a vector; the stride of a vector of one element has no meaning.
[[nodiscard]] inline std::int64_t increment(const any_tensor& x) noexcept {
  return x.extent(0) > 1 ? x.stride(0) : 1;
}

}  // namespace troupe::blas
