#pragma once

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// Divides one piece of a lane's workspace, which is requested once: first the sizes are added up,
/// then each part lies at its offset, aligned to 256 bytes.
class pieces {
 public:
  /// The offset of the next part.
  std::size_t add(std::int64_t bytes) noexcept {
    const std::size_t offset = bytes_;
    bytes_ += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    return offset;
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace troupe::cuda
