#pragma once

#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/shared/functions.hpp"

#include <optional>

namespace troupe::cuda {

/// A transform whose functions run as callbacks, which find their operands and results by
/// themselves. On such a side, the address that cuFFT gets only numbers the elements, and holds
/// intermediate values.
struct callback_layout {
  bool in_place = false;
  bool copy_in = false;   ///< `in`, without a function, is copied to workspace first
  bool copy_out = false;  ///< `out`, without a function, is copied from workspace
  bool room_in = false;   ///< cuFFT gets workspace to overwrite, as c2r does with its input
  bool room_out = false;  ///< likewise, if `out` cannot hold the transform's numbers
  any_tensor in;  ///< the numbers in the plan's layout; with a function, an address only in place
  any_tensor out;
  fft::transform what;
  advanced_layout layout;

  /// \errors `unsupported` with the reason if only passes can do it
  [[nodiscard]] static result<callback_layout> of(const fft::transform& t,
                                                  const fft::request_fields& r);
};

}  // namespace troupe::cuda
