#pragma once

#include <troupe/elementwise/value.hpp>
#include <troupe/request/description.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::elementwise {

/// A function's value of an output: a number, or the two parts of a complex one.
struct result_value {
  result_value(value number) : real(std::move(number)) {}
  result_value(complex_value number)
      : real(std::move(number.real)), imaginary(std::move(number.imaginary)) {}

  value real;
  std::optional<value> imaginary{};
};

/// One instruction of a program. Instructions are numbered; operands that are values are numbers of
/// earlier instructions.
struct instruction {
  opcode op{};
  std::uint16_t a = 0;
  std::uint16_t b = 0;
  std::uint16_t c = 0;

  friend bool operator==(const instruction&, const instruction&) = default;
};

/// The type and kind of an output of a function, for inputs of certain types.
struct output_kind {
  dtype type{};
  bool same_for_row = false;  ///< one element for each row takes it
  friend bool operator==(const output_kind&, const output_kind&) = default;
};

/// A function of the elements of some tensors: a small program, as a value. It is built once from
/// expressions, sent with each request that uses it, and compiled by the worker.
///
///     const auto f = function::of(2, [](auto x) { return silu(x[0] + x[1]); });
///
/// A function has no types of its own: it computes in the types of the tensors that it is used
/// with. f16, bf16, e4m3, e5m2 and c64 compute in f32, f64 and c128 in f64, u64 in u64, other
/// integers in i64, booleans as booleans. Two types have as common type the later of boolean, i64,
/// f32, f64. u64 has a common type only with types that are never negative: booleans, unsigned
/// integers, indices and constants; not with other integers. A constant takes the type of the other
/// operand. Reals that are made of constants, conditions or integers alone are f64 if an input is
/// f64 or c128, else f32. Results are rounded once, when they are stored.
///
/// A complex input is taken by `complex`, never as a number. An imaginary part that a complex
/// output does not get is 0.
///
/// Equal functions have equal programs: common subexpressions are merged, operations on constants
/// carried out (in f64), and operands that commute sorted. Constants are kept beside the program,
/// so that functions that differ in them share one compiled kernel.
class TROUPE_EXPORT function {
 public:
  static constexpr std::size_t most_instructions = 256;
  static constexpr std::size_t most_constants = 64;
  static constexpr int most_inputs = 16;
  static constexpr int most_outputs = 8;

  /// Does nothing: no inputs and no outputs.
  function() = default;

  /// Calls `f` once with the inputs, a `std::span<const value>` of length `inputs`. It returns a
  /// value, a `complex_value`, or a vector of `result_value` for several outputs. Throws `failure`
  /// (`errc::invalid_argument`) for more inputs, outputs, constants or instructions than there may
  /// be.
  template <class F>
  [[nodiscard]] static function of(int inputs, F&& f) {
    const building now(inputs);
    auto made = std::forward<F>(f)(now.inputs());
    if constexpr (std::is_convertible_v<decltype(made), std::vector<result_value>>) {
      return now.finish(made);
    } else {
      return now.finish({result_value(std::move(made))});
    }
  }

  /// The outputs for other values than its own inputs, as part of the function that is being
  /// built: functions are made of functions. If it uses an input as a complex number, the value
  /// given for that input must have an imaginary part, or be an input itself. Throws `failure`
  /// (`errc::invalid_argument`) otherwise, and for another number of inputs.
  [[nodiscard]] std::vector<result_value> operator()(std::span<const result_value> inputs) const;
  [[nodiscard]] std::vector<result_value> operator()(
      std::initializer_list<result_value> inputs) const {
    return (*this)(std::span(inputs.begin(), inputs.size()));
  }

  /// The partial derivative of an output by an input, as a function of the same inputs. That of
  /// floor, ceil, trunc, round, sign, casts to integers, comparisons and bit operations is 0; that
  /// of select, min and max is the chosen operand's (of equal ones, half of each). If a
  /// denominator is infinite, the derivative of a quotient by it is 0.
  /// Throws `failure` (`errc::invalid_argument`) if there is no such input or output, if the output
  /// is complex or depends on a row operation, or without a formula (lgamma, tgamma).
  [[nodiscard]] function derivative(int input, int output = 0) const;

  /// Default element types for outputs, by NumPy's rules within each kind of number: for equal
  /// types their own, for integers one that holds both (at most i64), for an integer and a float
  /// the float, for different floats f32, or f64 if either is f64. A constant changes no type
  /// except a boolean's, and an integer's if it is real. Reals that are made only of constants,
  /// conditions or integers have the widest type of the real inputs, or f32. Sums and products of
  /// rows and counts (indices, random bits) are i64. `repeated`: a bit for each input that has
  /// extent 1 along the axes of rows.
  /// \errors `invalid_argument` for another number of inputs
  [[nodiscard]] result<std::vector<output_kind>> outputs_for(std::span<const dtype> inputs,
                                                             std::uint32_t repeated = 0) const;

  [[nodiscard]] int inputs() const noexcept;
  [[nodiscard]] int outputs() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept {
    return program_.empty() ? 0 : program_.size() - 1;
  }
  [[nodiscard]] instruction at(std::size_t i) const noexcept;
  [[nodiscard]] std::span<const scalar> constants() const noexcept { return constants_; }
  /// The same program with other constants: it has the same compiled kernel. Throws `failure`
  /// (`errc::invalid_argument`) unless there are as many, of the same kinds in the same order.
  [[nodiscard]] function with_constants(std::vector<scalar> constants) const;
  /// True if it has row operations, which only `rows` takes.
  [[nodiscard]] bool has_row_operations() const noexcept;
  /// "t0 = x0 + x1; y0 = t0 / (exp(-t0) + 1)".
  [[nodiscard]] std::string to_string() const;
  friend bool operator==(const function&, const function&) = default;

  /// Its own rules, which a program from elsewhere may break. \errors `invalid_argument`, naming
  /// the instruction
  [[nodiscard]] result<void> check() const;
  static void describe(description<function>& d);

 private:
  friend class detail::graph;
  /// The function that this thread builds, until it goes.
  class TROUPE_EXPORT building {
   public:
    explicit building(int inputs);
    ~building();
    building(const building&) = delete;
    building& operator=(const building&) = delete;
    [[nodiscard]] std::span<const value> inputs() const noexcept { return inputs_; }
    [[nodiscard]] function finish(const std::vector<result_value>& outputs) const;

   private:
    std::unique_ptr<detail::graph> graph_;
    std::vector<value> inputs_;
  };

  // First the numbers of inputs and outputs, then an instruction each: opcode, a, b, c from the
  // least significant bits on, of 8, 16, 16 and 16 bits.
  std::vector<std::int64_t> program_;
  std::vector<scalar> constants_;
};

}  // namespace troupe::elementwise
