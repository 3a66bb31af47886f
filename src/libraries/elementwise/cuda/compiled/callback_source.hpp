#pragma once

#include "libraries/elementwise/requests/space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cuda {

/// A loop over the numbers of a transform, and the step of each operand of the function: in bytes,
/// or in steps of an index.
struct callback_loop {
  std::int64_t extent = 1;
  std::int64_t step = 1;  ///< between numbers, in numbers (the unit of a callback's offset)
  std::vector<std::int64_t> strides;
};

/// A function on single numbers of a transform, as a callback of cuFFT. The number is output 0 of a
/// `load`, or input 0 of a `store`. cuFFT passes its offset, from which the callback computes the
/// position of each operand.
struct callback_program {
  elementwise::bound_request request;
  elementwise::loops over;
  bool loads = false;
  std::vector<callback_loop> loops;  ///< outermost first, in the order of the numbers
  std::int64_t span = 0;             ///< the numbers and the gaps between them

  /// Builds the callback of a map. Returns nothing if an offset does not identify a number, or if
  /// the map has more operands than a kernel takes. The request's tensors must outlive it.
  [[nodiscard]] static std::optional<callback_program> of(const elementwise::map& what, bool loads);

  [[nodiscard]] std::size_t numbers_operand() const noexcept {
    return loads ? request.inputs.size() : 0;
  }
  [[nodiscard]] std::size_t operands() const noexcept {
    return request.inputs.size() + request.outputs.size() + over.indices.size();
  }
};

/// The words that a callback reads from memory: the address of each operand (0 for the numbers and
/// for indices), then the bits of each constant.
inline constexpr std::size_t most_callback_words = 33 + 128;

/// CUDA C++ source of the device function `name` for the runtime compiler. Extents and strides are
/// compiled in, since a cuFFT plan has a fixed layout anyway.
[[nodiscard]] std::string callback_source(const callback_program& program, const std::string& name);

}  // namespace troupe::cuda
