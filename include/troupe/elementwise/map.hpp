#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/request/request.hpp>

#include <string_view>
#include <vector>

namespace troupe::elementwise {

/// Applies a function to each element: outputs = what(inputs), in one pass over memory.
///
/// Reads inputs, writes outputs. All outputs have one shape, and each input is broadcast to it as
/// in NumPy: aligned at the last dimension, where extent 1 or a missing dimension repeats. Any
/// element types in any mix, any strides. An output may be the same view as an input that is not
/// broadcast; otherwise it shares no element with any input or other output. Empty outputs are
/// valid.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for a program that is
/// not valid, naming the instruction
struct map {
  static constexpr std::string_view name = "elementwise.map";
  using reply = void;

  std::vector<any_tensor> inputs{};
  std::vector<any_tensor> outputs{};
  function what{};

  TROUPE_EXPORT static void describe(description<map>& d);
};

}  // namespace troupe::elementwise
