#pragma once

#include "libraries/elementwise/requests/space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::cuda {

/// A loop over the numbers of a transform, and how far each operand of the function goes in a step:
/// bytes, or steps of an index.
struct callback_loop {
  std::int64_t extent = 1;
  std::int64_t step = 1;  ///< between numbers, in numbers: what a callback's offset counts
  std::vector<std::int64_t> strides;
};

/// A function of a transform's numbers, one at a time, as a callback of cuFFT: of a `load`, output
/// 0 is the number; of a `store`, input 0 is. Where that lies is known by its offset, from which
/// the place of each operand follows.
struct callback_program {
  elementwise::bound_request request;
  elementwise::loops over;
  bool loads = false;
  std::vector<callback_loop> loops;  ///< outermost first, in the order of the numbers
  std::int64_t span = 0;             ///< the numbers and the gaps between them

  /// What the callback of a map is; nothing where offsets do not say which number is meant, or a
  /// kernel takes fewer operands. The request's tensors must outlive it.
  [[nodiscard]] static std::optional<callback_program> of(const elementwise::map& what, bool loads);

  [[nodiscard]] std::size_t numbers_operand() const noexcept {
    return loads ? request.inputs.size() : 0;
  }
  [[nodiscard]] std::size_t operands() const noexcept {
    return request.inputs.size() + request.outputs.size() + over.indices.size();
  }
};

/// What a callback finds in memory, as words: the addresses of the operands, 0 for the numbers and
/// for indices, then the bits of each constant.
inline constexpr std::size_t most_callback_words = 33 + 128;

/// CUDA C++ of the device function `name` for the runtime compiler. Extents and strides are
/// compiled in: a plan of cuFFT is for one layout anyway.
[[nodiscard]] std::string callback_source(const callback_program& program, const std::string& name);

}  // namespace troupe::cuda
