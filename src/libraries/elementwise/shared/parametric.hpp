#pragma once

#include <troupe/elementwise/function.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::elementwise {

/// A function with parameters: constants that each request gives. It is built once, so a request
/// costs a copy, and all requests share one compiled kernel.
class parametric {
 public:
  struct counts {
    int inputs = 0;
    int reals = 0;
    int integers = 0;
  };
  /// Calls `f(inputs, parameters)` once; the real parameters are first. Parameters are constants:
  /// an operation on nothing but constants would be carried out while the function is built, so
  /// each is used beside an input only.
  template <class F>
  parametric(counts n, F f) {
    std::vector<value> parameters;
    parameters.reserve(static_cast<std::size_t>(n.reals) + static_cast<std::size_t>(n.integers));
    for (int i = 0; i < n.reals; ++i)
      parameters.emplace_back(real_mark(i));
    for (int i = 0; i < n.integers; ++i)
      parameters.emplace_back(integer_mark(i));
    what_ = function::of(n.inputs, [&](std::span<const value> x) {
      return f(x, std::span<const value>(parameters));
    });
    for (int i = 0; i < n.reals; ++i)
      marks_.emplace_back(real_mark(i));
    for (int i = 0; i < n.integers; ++i)
      marks_.emplace_back(integer_mark(i));
  }

  /// Precondition: as many as there are, in their order.
  [[nodiscard]] function with(std::initializer_list<scalar> parameters) const {
    std::vector<scalar> constants(what_.constants().begin(), what_.constants().end());
    for (scalar& one : constants) {
      for (std::size_t i = 0; i < marks_.size(); ++i) {
        if (!(one == marks_[i])) continue;
        one = parameters.begin()[i];
        break;
      }
    }
    return what_.with_constants(std::move(constants));
  }
  /// `function::derivative`, with the same parameters.
  [[nodiscard]] parametric derivative(int input) const {
    parametric made = *this;
    made.what_ = what_.derivative(input);
    return made;
  }

 private:
  // Numbers that no function has as constants of its own.
  [[nodiscard]] static double real_mark(int i) noexcept { return 0x1.a5b3c7d9e1f02p-901 * (i + 1); }
  [[nodiscard]] static std::int64_t integer_mark(int i) noexcept {
    return std::int64_t{0x5a3c96e17b2d4f01} + i;
  }

  function what_;
  std::vector<scalar> marks_;
};

/// Functions of one kind, by a number for each configuration; each is made when it is first used.
template <class Function, std::size_t Count>
class functions_by_configuration {
 public:
  template <class Make>
  [[nodiscard]] const Function& get(std::size_t i, Make make) {
    entry& one = all_[i];
    std::call_once(one.once, [&] { one.made.emplace(make()); });
    return *one.made;
  }

 private:
  struct entry {
    std::once_flag once;
    std::optional<Function> made;
  };
  std::array<entry, Count> all_;
};

}  // namespace troupe::elementwise
