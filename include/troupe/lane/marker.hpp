#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Does nothing. It completes once every earlier request of its lane has completed, and every
/// earlier request of any lane that writes `after`. The smallest request.
struct marker {
  using reply = void;
  static constexpr std::string_view name = "lane.marker";

  any_tensor after{};  ///< read; may be null

  TROUPE_EXPORT static void describe(description<marker>& d);
};

}  // namespace troupe::lane
