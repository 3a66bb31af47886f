#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::elementwise {

/// Applies a function with row operations to each row: softmax, norms, reductions along axes.
///
///     const auto softmax = function::of(1, [](auto x) {
///       const value e = exp(x[0] - row_max(x[0]));
///       return e / row_sum(e);
///     });
///
/// A row is all elements along `axes`. The inputs are broadcast together, with the outputs, as in
/// NumPy. Along `axes` an output has the row's extents, or extent 1 in all of them; then its
/// value is the same for the whole row: a row operation, or a function of row operations,
/// constants, and inputs with extent 1 there. Row operations of f16, bf16 and fp8 accumulate in
/// f32. Their order is fixed by shapes and types alone, so that every run gives the same bits. For
/// an empty row, sums are 0, products 1, minima and maxima the largest and smallest number of their
/// type (for floats the infinities), arguments −1.
///
/// Roles, aliasing and errors are those of `map`; also `invalid_argument` for axes that do not
/// exist or are named twice.
struct rows {
  static constexpr std::string_view name = "elementwise.rows";
  using reply = void;

  std::vector<any_tensor> inputs{};
  std::vector<any_tensor> outputs{};
  function what{};
  std::vector<std::int64_t> axes{-1};  ///< negative ones count from the last

  TROUPE_EXPORT static void describe(description<rows>& d);
};

}  // namespace troupe::elementwise
