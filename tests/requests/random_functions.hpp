#pragma once

#include <troupe/elementwise/function.hpp>

#include <random>
#include <span>

namespace troupe::testing_requests {

/// The use of a random function.
struct function_use {
  std::span<const dtype> inputs;  ///< their types
  int outputs = 1;
  bool rows = false;      ///< it has row operations
  bool positions = true;  ///< it may use the indices and the position of elements
  bool divides =
      true;  ///< it may divide and take roots, which a GPU does to 22 bits for f16 and less
};

/// A program of operations that are rounded exactly, valid for inputs of these types. A complex
/// first input is used as such.
[[nodiscard]] elementwise::function random_function(std::mt19937_64& random,
                                                    const function_use& use);

}  // namespace troupe::testing_requests
