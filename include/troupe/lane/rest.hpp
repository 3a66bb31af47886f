#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Keeps its worker from all other requests until the program sets `until`. `device::renew` has it
/// run alone, so that the worker runs nothing when it is replaced.
struct rest {
  using reply = void;
  static constexpr std::string_view name = "lane.rest";

  any_tensor until{};  ///< one u32 in host memory; the request ends when it is not 0

  TROUPE_EXPORT static void describe(description<rest>& d);
};

}  // namespace troupe::lane
