#pragma once

#include <troupe/request/request.hpp>

namespace troupe::lane {

/// Holds its place between what was sent before and after it: once every earlier request that
/// conflicts with it has ended it says so, and it ends when the program says so. What
/// `device::lend` sends; in a lane of its own, because whatever follows it there waits, too.
///
/// At most one of read, written and updated is a tensor; writes begun, reads ended.
/// Errors: `type_mismatch` and `shape_mismatch` for flags other than said.
struct lend {
  using reply = void;
  static constexpr std::string_view name = "lane.lend";

  any_tensor read{};
  any_tensor written{};
  any_tensor updated{};
  any_tensor begun{};  ///< one u32 in host memory, set to 1 when nothing is waited for any more
  /// One u32 in host memory; the program stores `given_back`, or `withdrawn` where it has never had
  /// the tensor.
  any_tensor ended{};

  static constexpr std::uint32_t given_back = 1;
  static constexpr std::uint32_t withdrawn = 2;

  TROUPE_EXPORT static void describe(description<lend>& d);
};

}  // namespace troupe::lane
