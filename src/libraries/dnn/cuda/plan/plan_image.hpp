#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::cuda {

/// A compiled plan as bytes: cuDNN's own form of it, and what the frontend does around it. Good for
/// one version of cuDNN and one architecture.
struct plan_image {
  /// Where cuDNN finds a tensor: by its number in the plan.
  struct binding {
    enum class kind : std::uint8_t {
      operand,    ///< an address of the request's, `at` bytes in
      constant,   ///< a number, which `constant` holds
      workspace,  ///< in the frontend's part of the workspace, `at` bytes in
    };
    std::int64_t uid = 0;
    kind what{};
    std::int64_t operand = 0;  ///< see `graphs::tensor::operand`
    std::int64_t at = 0;
    std::uint64_t constant = 0;
  };
  /// What the workspace has to hold when the plan begins.
  struct preset {
    std::int64_t at = 0;
    std::int64_t bytes = 0;     ///< of zeros, where there are no values
    std::vector<float> values;  ///< instead of zeros
  };

  static constexpr std::int64_t most_operands = 256;

  std::string plan;  ///< JSON
  std::vector<binding> bindings;
  std::vector<preset> presets;
  std::int64_t frontend_workspace_bytes = 0;  ///< before cuDNN's own
  std::string engine;                         ///< its name, for people
  std::int64_t alternative = 0;               ///< which of the executor's graphs this is a plan of
  std::uint64_t graph = 0;                    ///< that graph's fingerprint

  /// False where something would lie outside of the frontend's workspace, or has a place that
  /// cannot be. How much a tensor takes from its place on is cuDNN's to know.
  [[nodiscard]] bool lies_within_workspace() const noexcept;
  /// The same, and outside of the operands, the bytes of which these are.
  [[nodiscard]] bool lies_within(std::span<const std::int64_t> operand_bytes) const noexcept;

  [[nodiscard]] std::vector<std::byte> to_bytes() const;
  /// Nothing for bytes that are no image, or one that leaves its workspace.
  [[nodiscard]] static std::optional<plan_image> from_bytes(std::span<const std::byte> bytes);
};

}  // namespace troupe::cuda
