#pragma once

#include <troupe/dnn/nodes.hpp>
#include <troupe/request/description.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::dnn {

namespace nodes {
/// A node as a computation keeps it. Operands are numbers of earlier nodes.
struct entry {
  kind what{};
  /// The opcode of a pointwise node; the kind of an activation, a reduction or a cast.
  std::uint8_t detail = 0;
  std::vector<std::uint16_t> operands{};
  /// The number of an input or a constant; for a convolution the groups, then the lengths and the
  /// numbers of stride, dilation, padding and post_padding; for a reduction the axes; for a
  /// transpose the order; for a norm the dimensions and the bits of eps.
  std::vector<std::int64_t> numbers{};

  friend bool operator==(const entry&, const entry&) = default;
};
}  // namespace nodes

/// A computation on tensors: products, convolutions, reductions, norms, and functions of elements
/// between them, as a value. It is built once from expressions and sent with each request.
///
///     const auto layer = computation::of(4, [](auto x) {
///       return gelu(matmul(x[0], x[1]) + x[2]) + x[3];
///     });
///
/// A computation has neither shapes nor types of its own: these follow from the tensors that it is
/// used with. Equal expressions are one node.
class TROUPE_EXPORT computation {
 public:
  static constexpr std::size_t most_nodes = 64;
  static constexpr std::size_t most_constants = 16;
  static constexpr int most_inputs = 16;
  static constexpr int most_outputs = 8;

  computation() = default;

  /// Calls `f` once with the inputs, a `std::span<const nodes::node>`. It returns a node, or a
  /// vector of nodes for several outputs. Throws `failure` (`errc::invalid_argument`) for more of
  /// anything than there may be.
  template <class F>
  [[nodiscard]] static computation of(int inputs, F&& f) {
    const building now(inputs);
    auto made = std::forward<F>(f)(now.inputs());
    if constexpr (std::is_convertible_v<decltype(made), std::vector<nodes::node>>) {
      return now.finish(made);
    } else {
      return now.finish({nodes::node(std::move(made))});
    }
  }

  [[nodiscard]] int inputs() const noexcept;
  [[nodiscard]] int outputs() const noexcept;
  /// The nodes of a valid computation, each after its operands.
  [[nodiscard]] std::vector<nodes::entry> entries() const;
  /// The node of each output.
  [[nodiscard]] std::vector<std::uint16_t> results() const;
  [[nodiscard]] std::span<const scalar> constants() const noexcept { return constants_; }
  /// As it is sent: two are equal if these and their constants are.
  [[nodiscard]] std::span<const std::int64_t> words() const noexcept { return program_; }

  /// Default types and extents for outputs. A real result has the type of the inputs if all real
  /// ones have the same, else f32, or f64 if it is computed in f64.
  /// \errors `invalid_argument`, `shape_mismatch`, `type_mismatch`, naming the node
  [[nodiscard]] result<std::vector<tensor_form>> outputs_for(
      std::span<const any_tensor> inputs) const;

  /// "y0 = gelu(matmul(x0, x1) + x2) + x3".
  [[nodiscard]] std::string to_string() const;
  /// Its own rules, which one from elsewhere may break. \errors `invalid_argument`, naming the node
  [[nodiscard]] result<void> check() const;
  static void describe(description<computation>& d);

  friend bool operator==(const computation&, const computation&) = default;

 private:
  friend class detail::computation_builder;
  /// The computation that this thread builds, while this exists.
  class TROUPE_EXPORT building {
   public:
    explicit building(int inputs);
    ~building();
    building(const building&) = delete;
    building& operator=(const building&) = delete;
    [[nodiscard]] std::span<const nodes::node> inputs() const noexcept { return inputs_; }
    [[nodiscard]] computation finish(const std::vector<nodes::node>& outputs) const;

   private:
    std::unique_ptr<detail::computation_builder> builder_;
    std::vector<nodes::node> inputs_;
  };

  // The numbers of inputs, outputs and nodes, of 16 bits each from the least significant on. Then
  // each node: its kind, its detail, its numbers of operands and of numbers, of 8 bits each; the
  // operands, of 16 bits each; the numbers. Then the node of each output.
  std::vector<std::int64_t> program_;
  std::vector<scalar> constants_;
};

}  // namespace troupe::dnn
