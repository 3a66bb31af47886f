#pragma once

#include "libraries/dnn/cpu/implicit_product.hpp"

#include <dnnl.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::cpu {

/// What oneDNN runs one after another for a request, whatever the addresses.
class onednn_plan {
 public:
  /// The memory of an operand, by its number; of what lies in workspace, one is counted on.
  using place = std::size_t;
  static constexpr std::size_t operands = 5;

  [[nodiscard]] static const dnnl::engine& engine();

  /// Memory in workspace.
  place room(const dnnl::memory::desc& what);
  void describe(place operand, const dnnl::memory::desc& what) { descs_[operand] = what; }
  [[nodiscard]] const dnnl::memory::desc& desc(place p) const { return descs_[p]; }
  /// Where `operand` is as `wanted`: there, or in workspace once it has been moved.
  place moved(place operand, const dnnl::memory::desc& wanted);
  void add(dnnl::primitive what, std::vector<std::pair<int, place>> arguments);
  /// to = alpha · from + beta · to, in any layouts and types.
  void add_move(place from, place to, float alpha = 1, float beta = 0);

  /// How many it runs on, which are those that it was made for.
  void set_threads(int threads) noexcept { threads_ = threads; }

  /// \errors `out_of_memory` for the lane's workspace; `library_error`
  result<void> run(const std::array<std::byte*, operands>& addresses, lane_context& lane) const;

 private:
  struct step {
    dnnl::primitive what;
    std::vector<std::pair<int, place>> arguments;
  };

  std::vector<dnnl::memory::desc> descs_{operands};
  std::vector<std::size_t> offsets_ = std::vector<std::size_t>(operands);
  std::size_t bytes_ = 0;
  std::vector<step> steps_;
  int threads_ = 1;
};

/// An activation that is not in plans but done to their results: oneDNN makes 0 of NaN in relu, and
/// loses the digits of elu and softplus where they are small.
[[nodiscard]] constexpr bool follows_plan(dnn::activation kind) noexcept {
  using enum dnn::activation;
  return kind == relu || kind == clipped_relu || kind == elu || kind == softplus;
}
/// Whether results in `type` would be rounded before and after that. relu selects, so that it does
/// not matter when they are.
[[nodiscard]] constexpr bool rounds_twice(dnn::activation kind, dtype type) noexcept {
  using enum dnn::activation;
  return type != dtype::f32 && (kind == elu || kind == softplus);
}

enum class direction : std::uint8_t { forward, backward_data, backward_filter };

/// The plan of a convolution, made once; null where oneDNN has none.
[[nodiscard]] std::shared_ptr<const onednn_plan> onednn_plan_for(direction way,
                                                                 const dnn::convolution& c,
                                                                 const epilogue& after);

// The numbers of operands.
inline constexpr onednn_plan::place image_place = 0;
inline constexpr onednn_plan::place filter_place = 1;
inline constexpr onednn_plan::place response_place = 2;
inline constexpr onednn_plan::place z_place = 3;
inline constexpr onednn_plan::place bias_place = 4;

}  // namespace troupe::cpu
