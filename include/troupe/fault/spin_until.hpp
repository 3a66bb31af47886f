#pragma once

#include <troupe/fault/inject.hpp>

namespace troupe::fault {

/// Keeps its lane busy until the program sets a flag, then writes. Tests of ordering use it,
/// because only the flag decides when it ends. Refused under the same conditions as `inject`.
///
/// Reads flag, writes output (updates it with `add`). After `at_most_ns` it ends and writes even if
/// the flag is not set. Errors: `invalid_argument`, `type_mismatch` and `layout_unsupported` for
/// operands and durations other than those described.
struct spin_until {
  using reply = void;
  static constexpr std::string_view name = "fault.spin_until";

  any_tensor flag{};    ///< one u32 in host memory; the program stores a nonzero value
  any_tensor output{};  ///< f32, packed; every element becomes `value`; may be null
  double value = 0;
  bool add = false;  ///< adds `value` instead
  std::int64_t at_most_ns = longest_spin_ns;

  TROUPE_EXPORT static void describe(description<spin_until>& d);
};

}  // namespace troupe::fault
