#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::cuda {

/// A compiled plan as bytes: cuDNN's own form of it, and the frontend's work around it. It is valid
/// for one version of cuDNN and one architecture.
struct plan_image {
  /// The memory of a tensor, which cuDNN looks up by the tensor's number in the plan.
  struct binding {
    enum class kind : std::uint8_t {
      operand,    ///< an address from the request, plus `at` bytes
      constant,   ///< the number in `constant`
      workspace,  ///< `at` bytes into the frontend's part of the workspace
    };
    std::int64_t uid = 0;
    kind what{};
    std::int64_t operand = 0;  ///< see `graphs::tensor::operand`
    std::int64_t at = 0;
    std::uint64_t constant = 0;
  };
  /// Initial content of a part of the workspace.
  struct preset {
    std::int64_t at = 0;
    std::int64_t bytes = 0;     ///< zeros, if there are no values
    std::vector<float> values;  ///< instead of zeros
  };

  static constexpr std::int64_t most_operands = 256;

  std::string plan;  ///< JSON
  std::vector<binding> bindings;
  std::vector<preset> presets;
  std::int64_t frontend_workspace_bytes = 0;  ///< before cuDNN's own
  std::string engine;                         ///< its name, for people
  std::int64_t alternative = 0;  ///< the index of the executor's graph that this plan computes
  std::uint64_t graph = 0;       ///< that graph's fingerprint

  /// False if a binding or preset is outside of the frontend's workspace, or is malformed. The size
  /// of a tensor is not checked: only cuDNN knows it.
  [[nodiscard]] bool lies_within_workspace() const noexcept;
  /// The same, and checks bindings to operands against the sizes of these.
  [[nodiscard]] bool lies_within(std::span<const std::int64_t> operand_bytes) const noexcept;

  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Returns nothing if the bytes are not an image, or if it exceeds its workspace.
  [[nodiscard]] static std::optional<plan_image> from_bytes(std::span<const std::byte> bytes);
};

}  // namespace troupe::cuda
