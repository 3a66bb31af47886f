#pragma once

#include <troupe/memory/dtype.hpp>

#include <string_view>

namespace troupe::conformance {

/// Records that `operation` ran on operands of `type`. When the program ends, it prints what ran,
/// and, if no filter was given, fails where an operation of the backend misses a type of its row in
/// coverage.cpp.
void cover(std::string_view operation, dtype type);

/// Records that it had an operand that is packed, or one with gaps or in another order. Each
/// operation must have had both.
void cover_layout(std::string_view operation, bool packed);

}  // namespace troupe::conformance
