#pragma once

#include <troupe/core/actor.hpp>
#include <troupe/core/error.hpp>

#include <memory>
#include <utility>

namespace troupe {

/// A device has ended for good.
struct device_ended {
  error why;
  bool by_request = false;  ///< stopped by the program or with its system
};

/// A device's place in the tree of actors: what is watched when a device is watched, and what
/// fails, with the device's own error, when the device has given up. Its supervisor then decides as
/// for any child.
class device_guard final : public actor {
 public:
  void handle(device_ended ended) {
    if (ended.by_request) return stop();
    // The device does not begin again with a new incarnation of this.
    if (default_decider(ended.why) != directive::stop) {
      ended.why = error{.code = errc::device_stopped,
                        .message = "the device has ended",
                        .device = ended.why.device,
                        .generation = ended.why.generation,
                        .cause = std::make_shared<const error>(ended.why)};
    }
    throw failure(std::move(ended.why));
  }
};

}  // namespace troupe
