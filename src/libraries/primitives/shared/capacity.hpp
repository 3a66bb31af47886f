#pragma once

namespace troupe::primitives {

/// The message of `capacity_exceeded`: what lies between its numbers, so that a GPU, which has no
/// formatting, writes the same.
inline constexpr char capacity_needs[] = "needs ";
inline constexpr char capacity_has[] = " elements, but the result has room for ";

}  // namespace troupe::primitives
