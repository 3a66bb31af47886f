#pragma once

#include "builtin/graph/requests/definition.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::graph {

/// The bytes of a view.
struct view_bytes {
  std::uint64_t buffer = 0;  ///< any number that tells buffers apart
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool dense = true;  ///< it has each byte between the two
};

/// Precondition: the view has a buffer.
[[nodiscard]] view_bytes bytes_of(const any_tensor& t) noexcept;

/// The role of each tensor for its request, in the order of `definition::uses`. The role of
/// a condition is not looked at.
using roles_of_uses = std::span<const access>;

/// A use through which a request reads nothing, and overwrites parts alone: the program says so.
struct narrowed_use {
  std::uint64_t use = 0;             ///< in `definition::uses`
  std::vector<std::uint64_t> parts;  ///< roots
};
using narrowed_uses = std::span<const narrowed_use>;

/// The role of each root for the graph as a whole: `read` if it only reads content from before the
/// graph; `write` if the graph overwrites all of it and reads nothing that its bytes held before,
/// through any root; else `update`. Scratch memory, which is written before it is read, is
/// a `write`: it does not keep the graph from being run again. A body that may not run counts as if
/// it did, and as if it did not. So a read root may overlap a written one without gaps: the common
/// bytes are overwritten first (`overwrites_first`).
[[nodiscard]] std::vector<access> roles_of(const definition& d, roles_of_uses uses,
                                           std::span<const view_bytes> roots,
                                           narrowed_uses narrowed = {});

/// The first root whose role, as it was `recorded`, says less than one that was `found` with views
/// at other places; nothing if a request with the recorded roles does what it says.
[[nodiscard]] std::optional<std::size_t> first_too_weak(const definition& d, roles_of_uses uses,
                                                        std::span<const access> recorded,
                                                        std::span<const access> found,
                                                        narrowed_uses narrowed = {});

}  // namespace troupe::graph
