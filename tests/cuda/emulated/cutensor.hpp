#pragma once

#include <cstdint>

namespace troupe::emulated_cutensor {

/// The calls of the emulation since the last `seen() = {}`.
struct history {
  int plans = 0;
  int calls = 0;         ///< all kinds
  int contractions = 0;  ///< among these
  int alive = 0;         ///< objects that were not destroyed yet
  bool in_tf32 = false;  ///< the last plan
  // Its behaviour, until the test changes it:
  bool missing = false;  ///< there is no library
  bool refuses = false;  ///< it takes nothing
};
history& seen() noexcept;

}  // namespace troupe::emulated_cutensor
