#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/elementwise/rows.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

namespace troupe::elementwise {

/// How `reduce` combines many values into one. The comment has the result for no values.
enum class reduction : std::uint8_t {
  sum,      ///< 0; integers in i64
  product,  ///< 1; integers in i64
  minimum,  ///< NaN if there is one; the type's largest number, infinity or true
  maximum,  ///< NaN if there is one; the type's smallest number, −infinity or false
  argmin,   ///< the first index in row-major order of the axes, of the first NaN if any; −1
  argmax,   ///< likewise
  mean,     ///< of integers in f32, of i64 and u64 in f64; NaN
  any,      ///< whether one is true, or not zero; false
  all,      ///< whether all are; true
};

/// Reduces along axes: outputs = after(op(before(inputs))), in one pass over memory.
///
///     const auto square = function::of(1, [](auto x) { return x[0] * x[0]; });
///     const auto root = function::of(1, [](auto x) { return sqrt(x[0]); });
///     gpu.ask(reduce{.inputs = {x}, .outputs = {norm}, .before = square, .after = root});
///
/// `before` is applied to each element of the inputs, which are broadcast together as in NumPy.
/// Each of its outputs is reduced along `axes` by `op`, and `after` takes these reduced values, as
/// many as `before` has outputs. Without `before`, the inputs themselves are reduced; without
/// `after`, the reduced values are the outputs. Both are functions as `map` takes them; row
/// operations in them go along the same axes.
///
/// Reads inputs, writes outputs. An output has the inputs' extents but for the axes: there it has
/// extent 1, or, as in NumPy without keepdims, no dimension. Any element types and strides. An
/// output shares no element with any input or other output, but where nothing is reduced it may be
/// the same view as an input.
///
/// Values are accumulated as by `rows`, in an order that is fixed by shapes and types alone: every
/// run on the same backend gives the same bits. Complex numbers have sums and means;
/// without `before`, complex inputs are reduced as such.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for axes that do not
/// exist or are named twice, and for a program that is not valid, naming the instruction
struct reduce {
  static constexpr std::string_view name = "elementwise.reduce";
  using reply = void;

  std::vector<any_tensor> inputs{};  ///< at least one
  std::vector<any_tensor> outputs{};
  function before{};  ///< none by default
  reduction op = reduction::sum;
  function after{};                  ///< none by default
  std::vector<std::int64_t> axes{};  ///< negative ones count from the last; none means all

  TROUPE_EXPORT static void describe(description<reduce>& d);
};

/// The same as rows, which is how it is run: its functions as one, and its outputs with extent 1
/// along the axes. `rows_of(r)->what.outputs_for(types)` says which types outputs may get.
/// \errors `invalid_argument`, `shape_mismatch`, `type_mismatch`
[[nodiscard]] TROUPE_EXPORT result<rows> rows_of(const reduce& r);

}  // namespace troupe::elementwise
