#pragma once

#include "device/incarnation.hpp"
#include "device/recovery.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// A worker of a device with memory of its own that was killed and is not reaped yet: its queue may
/// go on for some milliseconds. What it had been given is held back until then.
struct dying_worker {
  struct held_request {
    std::uint16_t slot = 0;
    std::uint64_t ticket = 0;
    std::uint64_t place = 0;  ///< in its lane there
    bool accused = false;     ///< as the culprit, and dealt with
  };
  std::unique_ptr<incarnation> worker;
  sign_of_loss sign;
  std::vector<held_request> held;
  std::string ended_before;  ///< the last requests that ended in it, for a message
};

}  // namespace troupe
