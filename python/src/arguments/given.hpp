#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Values that Python callers give where the binding takes any object: what does not fit is a
/// TypeError that says what was given, and what for.
namespace troupe::python {

namespace nb = nanobind;

/// `repr` of an object, cut where it is long.
[[nodiscard]] std::string short_text(nb::handle value);

/// Throws a TypeError: `what` must be `must`; it is `value`.
[[noreturn]] void refuse_given(std::string_view what, std::string_view must, nb::handle value);

/// An int, or what stands for one (`__index__`); nothing for anything else. Throws OverflowError.
[[nodiscard]] std::optional<std::int64_t> integer_from(nb::handle value);

/// What was given as `what`. Fractions are no integers.
template <class T>
T given(std::string_view what, std::string_view must, nb::handle value) {
  T made{};
  const bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if ((is_integer && PyIndex_Check(value.ptr()) == 0) || !nb::try_cast(value, made)) {
    refuse_given(what, must, value);
  }
  return made;
}

/// The integers of a sequence.
[[nodiscard]] std::vector<std::int64_t> integers_given(std::string_view what, nb::handle sequence);
/// Those of a call with several, `f(2, 3)`, or with one sequence of them, `f((2, 3))`.
[[nodiscard]] std::vector<std::int64_t> integers_given(std::string_view what,
                                                       const nb::args& arguments);

}  // namespace troupe::python
