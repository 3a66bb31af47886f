#pragma once

#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/shared/functions.hpp"

#include <optional>

namespace troupe::cuda {

/// A transform whose functions cuFFT calls. They find their operands and results by themselves;
/// what cuFFT is given on their sides only says which number is meant, and is room for what it
/// computes on the way.
struct callback_layout {
  bool in_place = false;
  bool copy_in = false;   ///< `in`, without a function, is copied to room first
  bool copy_out = false;  ///< `out`, without a function, is copied from room
  bool room_in = false;   ///< cuFFT gets room of its own to overwrite, as c2r does with its input
  bool room_out = false;  ///< likewise, where `out` is no place for the transform's numbers
  any_tensor in;  ///< the numbers as the plan has them; of a function an address only in place
  any_tensor out;
  fft::transform what;
  advanced_layout layout;

  /// \errors `unsupported`: only passes can do it; the message says why
  [[nodiscard]] static result<callback_layout> of(const fft::transform& t,
                                                  const fft::request_fields& r);
};

}  // namespace troupe::cuda
