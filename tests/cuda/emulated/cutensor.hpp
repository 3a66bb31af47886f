#pragma once

#include <cstdint>

namespace troupe::emulated_cutensor {

/// What was asked of the emulation since the last `seen() = {}`.
struct history {
  int plans = 0;
  int calls = 0;         ///< of whatever it computes
  int contractions = 0;  ///< of these
  int alive = 0;         ///< objects that nobody has ended yet
  bool in_tf32 = false;  ///< the last plan
  // What it does, until it is told otherwise:
  bool missing = false;  ///< there is no library
  bool refuses = false;  ///< it takes nothing
};
history& seen() noexcept;

}  // namespace troupe::emulated_cutensor
