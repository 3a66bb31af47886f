#pragma once

#include <troupe/fault/inject.hpp>

namespace troupe::fault {

/// Keeps its lane busy until the program sets a flag, and writes then: what tests of order are made
/// of, because nothing but the flag decides when it ends. Refused as `inject` is.
///
/// Reads flag, writes output (updates it with `add`). It ends after `at_most_ns` in any case, and
/// writes then too.
/// Errors: `invalid_argument`, `type_mismatch` and `layout_unsupported` for operands and durations
/// other than said.
struct spin_until {
  using reply = void;
  static constexpr std::string_view name = "fault.spin_until";

  any_tensor flag{};    ///< one u32 in host memory; the program stores anything but 0
  any_tensor output{};  ///< f32, packed; every element becomes `value`; may be null
  double value = 0;
  bool add = false;  ///< `value` is added instead
  std::int64_t at_most_ns = longest_spin_ns;

  TROUPE_EXPORT static void describe(description<spin_until>& d);
};

}  // namespace troupe::fault
