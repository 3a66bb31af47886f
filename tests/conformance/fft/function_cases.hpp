#pragma once

#include "fourier_cases.hpp"

#include <troupe/elementwise/function.hpp>

#include <string>
#include <vector>

/// Shared by the tests of load and store functions: functions beside the same by hand, and the
/// comparison with a map, a transform and a map in f64.
namespace troupe::conformance {

/// The transforms.
enum class sort : std::uint8_t { c2c, r2c, c2r };

/// A function, and what it computes, by hand, of an element and those of its operands.
struct known_function {
  elementwise::function what{};
  std::vector<scene::extents (*)(const scene::extents&)> operands{};  ///< their extents
  dtype operand_type = dtype::f64;
  number (*by_hand)(number x, const std::vector<number>& operands) = nullptr;
  /// How much a change of x changes the result, at most.
  double (*slope)(number x, const std::vector<number>& operands) = nullptr;
};

[[nodiscard]] known_function none();
/// The real part times a window along the last dimension.
[[nodiscard]] known_function windowed();
/// Complex numbers of two real operands: the second is half of the imaginary part.
[[nodiscard]] known_function paired();
/// The product of complex numbers.
[[nodiscard]] known_function filtered(dtype precision);
/// |x|².
[[nodiscard]] known_function power();
[[nodiscard]] known_function conjugated();
/// A function of real numbers, with operands of three different extents.
[[nodiscard]] known_function moved();
/// Times a real number, so that coefficients of real numbers stay such.
[[nodiscard]] known_function scaled();

/// A request with functions, and all it needs.
struct functional_case {
  sort what = sort::c2c;
  fourier_case c{};
  dtype in = dtype::c64;
  dtype out = dtype::c64;
  known_function load{};
  known_function store{};
  arrangement from = arrangement::packed;
  arrangement to = arrangement::packed;
  bool in_place = false;

  [[nodiscard]] bool complex_in() const { return what != sort::r2c; }
  [[nodiscard]] bool complex_out() const { return what != sort::c2r; }
  [[nodiscard]] scene::extents in_size() const { return what == sort::c2r ? c.half() : c.size; }
  [[nodiscard]] scene::extents out_size() const { return what == sort::r2c ? c.half() : c.size; }
  [[nodiscard]] bool loads() const { return load.by_hand != nullptr; }
  [[nodiscard]] bool stores() const { return store.by_hand != nullptr; }
  [[nodiscard]] std::string text() const;
};

/// Runs the request and expects of each number: |error| ≤ slope · 4 (log₂ N + 8) ε ‖x‖₂ · factor,
/// and what rounding in the function itself may add.
void check(const functional_case& f);
/// The same on another runner than the program's own.
void check(const functional_case& f, runner& on);

}  // namespace troupe::conformance
