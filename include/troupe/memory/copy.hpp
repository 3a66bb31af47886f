#pragma once

#include <troupe/request/request.hpp>

/// Copies of elements between tensors, and their initial content.
///
/// Every operation takes views of any rank and any strides. In a view that is written, no two
/// indices may refer to the same element (`errc::aliasing`).
namespace troupe::memory {

/// Copies elements: to = from.
///
/// Both have the same element type (`memory::convert` changes it) and the same extents. Strides may
/// differ, so a copy can also pack, unpack and transpose; a stride of zero in `from` repeats an
/// element. Each may be in host or device memory. Reads from, writes to. Copying a view to itself
/// does nothing; any other overlap is `aliasing`. Types: all. Errors: `shape_mismatch`,
/// `type_mismatch`, `aliasing`.
struct TROUPE_EXPORT copy {
  static constexpr std::string_view name = "memory.copy";
  using reply = void;

  any_tensor from{};
  any_tensor to{};

  static void describe(description<copy>& d);
};

}  // namespace troupe::memory
