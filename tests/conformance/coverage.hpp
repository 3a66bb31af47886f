#pragma once

#include <troupe/tensor/dtype.hpp>

#include <string_view>
#include <vector>

namespace troupe::conformance {

/// Operations, without their library and separated by spaces, and what each must be tested with:
/// the types of its first operand.
struct covered_operations {
  std::string_view names;
  std::vector<dtype> types;
};

/// The required coverage of a library's tests; a static object beside them. Every operation of the
/// library that the backend has must have a row.
class must_cover {
 public:
  /// `of_scalars`: those whose operands have nothing to lay out.
  must_cover(std::string_view library, std::vector<covered_operations> rows,
             std::string_view of_scalars = {});
};

/// Records that `operation` ran on operands of `type`. When the program ends, it prints what ran,
/// and, if the whole program ran, fails where an operation misses what it must be tested with.
void cover(std::string_view operation, dtype type);

/// Records that it had an operand that is packed, or one with gaps or in another order. Each
/// operation must have had both.
void cover_layout(std::string_view operation, bool packed);

}  // namespace troupe::conformance
