#pragma once

#include <troupe/memory/dtype.hpp>

#include <string_view>

namespace troupe::conformance {

/// Records that `operation` ran on operands of `type`. When the program ends, it prints what ran,
/// and, if no filter was given, fails where an operation of the backend misses a type of its row in
/// coverage.cpp.
void cover(std::string_view operation, dtype type);

}  // namespace troupe::conformance
