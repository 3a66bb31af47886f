#pragma once

#include <troupe/elementwise/function.hpp>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace troupe::elementwise::detail {

/// True for an input itself, which is no part of a complex one.
[[nodiscard]] constexpr bool is_number_input(const instruction& one) noexcept {
  return one.op == opcode::input && one.b == input_number;
}

/// The expressions of a function that a thread builds. Equal expressions are one node.
class graph {
 public:
  static constexpr std::uint16_t most_nodes = 4096;

  explicit graph(int inputs);
  ~graph();
  graph(const graph&) = delete;
  graph& operator=(const graph&) = delete;

  /// The function that this thread builds. Throws `failure` if it builds none.
  [[nodiscard]] static graph& current();
  [[noreturn]] static void refuse(std::string message);
  [[nodiscard]] static bool is_constant(const value& v) noexcept { return v.graph_ == 0; }
  [[nodiscard]] static value constant(const scalar& number) {
    value made(0);
    made.number_ = number;
    return made;
  }
  [[nodiscard]] static const scalar& number_of(const value& v) noexcept { return v.number_; }

  /// Folds an operation on constants only, if `fold` can.
  [[nodiscard]] static value apply(opcode op, std::span<const value> operands);
  [[nodiscard]] value source(opcode op, std::uint16_t a, std::uint16_t b = 0) {
    return made(add({op, a, b, 0}));
  }
  [[nodiscard]] value cast(const value& a, dtype type) {
    return made(add({opcode::cast, node_of(a), static_cast<std::uint16_t>(type), 0}));
  }
  [[nodiscard]] const instruction& at(const value& v) const {
    if (v.graph_ != id_) refuse("an operand is a value of another function");
    return nodes_[v.node_].what;
  }
  /// All of a function's instructions for these inputs, by their numbers; those of outputs are
  /// their operands.
  [[nodiscard]] std::vector<value> replay(const function& f, std::span<const result_value> inputs);

  [[nodiscard]] function finish(const std::vector<result_value>& outputs);

 private:
  struct node {
    instruction what;
    std::uint64_t shape;  ///< a hash of its computation without its constants
  };
  [[nodiscard]] value made(std::uint16_t number) const noexcept { return {id_, number}; }
  [[nodiscard]] std::uint16_t node_of(const value& v);
  [[nodiscard]] std::uint16_t add(instruction what);
  [[nodiscard]] std::uint64_t shape_of(const instruction& what) const noexcept;

  std::uint64_t id_;
  graph* outer_;  ///< that the thread goes on with after this
  int inputs_;
  std::vector<node> nodes_;
  std::vector<scalar> constants_;
  std::map<std::tuple<opcode, std::uint16_t, std::uint16_t, std::uint16_t>, std::uint16_t> known_;
};

}  // namespace troupe::elementwise::detail
