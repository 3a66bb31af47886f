#pragma once

#include "libraries/jit/cuda/modules.hpp"

#include <troupe/jit/launch.hpp>

#include <array>
#include <cstdint>

namespace troupe::cuda {

/// The shape of a launch's blocks.
struct block_shape {
  const jit::dims& block;
  std::int64_t shared_bytes;
  const jit::dims& cluster;
};

/// Checks that the kernel can be launched with this shape. Raises its limits where needed: more
/// than 48 KiB of shared memory, clusters of more than 8 blocks. \errors `invalid_argument` for
/// more threads or shared bytes than it can have, with both numbers
[[nodiscard]] result<void> fit_shape(const driver& d, launchable& k, const block_shape& s);

/// A launch with its attributes, in the driver's form.
class launch_configuration {
 public:
  launch_configuration(const jit::dims& grid, const block_shape& s, CUstream stream) noexcept;
  launch_configuration(const launch_configuration&) = delete;
  launch_configuration& operator=(const launch_configuration&) = delete;

  /// Adds an attribute and returns its value. There is room for three.
  CUlaunchAttributeValue& add(CUlaunchAttributeID id) noexcept;
  [[nodiscard]] const CUlaunchConfig& native() const noexcept { return native_; }

 private:
  std::array<CUlaunchAttribute, 3> attributes_{};
  CUlaunchConfig native_{};
};

}  // namespace troupe::cuda
