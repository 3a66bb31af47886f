#pragma once

#include <troupe/plugin/recorded_work.hpp>

#include <cstddef>

namespace troupe {

/// A recording that tells how much of the device's memory it takes, beside what its lane has.
class measured_recording : public recorded_work {
 public:
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

}  // namespace troupe
