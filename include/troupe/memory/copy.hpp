#pragma once

#include <troupe/request/request.hpp>

/// Movement of elements between tensors, and their initial content.
///
/// Every operation takes views of any rank and any strides; what is written must not have two
/// indices that name the same element (`errc::aliasing`).
namespace troupe::memory {

/// Copies elements: to = from.
///
/// Both have the same element type (`memory::convert` changes it) and the same extents; strides may
/// differ, so that this also packs, unpacks and transposes, and may be zero in `from`, so that it
/// repeats. Either may lie in host or device memory. Reads from, writes to.
/// Copying a view to itself does nothing; any other overlap is `aliasing`.
/// Types: all. Errors: `shape_mismatch`, `type_mismatch`, `aliasing`.
struct TROUPE_EXPORT copy {
  static constexpr std::string_view name = "memory.copy";
  using reply = void;

  any_tensor from{};
  any_tensor to{};

  static void describe(description<copy>& d);
};

}  // namespace troupe::memory
