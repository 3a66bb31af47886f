#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Holds a place in the order of requests. Once every earlier request that conflicts with it has
/// ended, it sets `begun`; it ends when the program sets `ended`. `device::mapped` sends it in a
/// lane of its own, because requests behind it in its lane wait, too.
///
/// At most one of read, written and updated is a tensor. Writes begun, reads ended. Errors:
/// `type_mismatch` and `shape_mismatch` for flags other than those described.
struct mapping {
  using reply = void;
  static constexpr std::string_view name = "lane.mapping";

  any_tensor read{};
  any_tensor written{};
  any_tensor updated{};
  any_tensor begun{};  ///< one u32 in host memory, set to 1 when no earlier request conflicts
  /// One u32 in host memory. The program stores `given_back`, or `withdrawn` if it never received
  /// the tensor.
  any_tensor ended{};

  static constexpr std::uint32_t given_back = 1;
  static constexpr std::uint32_t withdrawn = 2;

  TROUPE_EXPORT static void describe(description<mapping>& d);
};

}  // namespace troupe::lane
