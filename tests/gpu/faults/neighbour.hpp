#pragma once

#include "gpu/program.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe::gpu_test {

/// A program that uses the same device meanwhile, of which no fault may be felt.
class neighbour {
 public:
  neighbour();

  /// Its defect, else nothing. It must have had answers since the last call.
  [[nodiscard]] std::optional<std::string> amiss();
  /// Ends it. \returns its defect, else nothing
  [[nodiscard]] std::optional<std::string> finish();
  /// The longest that one of its requests took between the last two calls of `amiss`.
  [[nodiscard]] double longest_ms() const noexcept { return longest_ms_; }

 private:
  companion program_;
  std::uint64_t ended_ = 0;
  double longest_ms_ = 0;
};

/// Is that program. \returns its exit status
[[nodiscard]] int be_neighbour();

}  // namespace troupe::gpu_test
