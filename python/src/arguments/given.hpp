#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Values that Python callers pass where the binding takes any object: an unsuitable one is a
/// TypeError that names the value and its purpose.
namespace troupe::python {

namespace nb = nanobind;

/// `str` of an object, for messages: text that UTF-8 cannot encode, such as a lone surrogate, is
/// escaped.
[[nodiscard]] std::string shown_text(nb::handle value);

/// `repr` of an object, truncated if it is long.
[[nodiscard]] std::string short_text(nb::handle value);

/// Throws a TypeError that `what` must be `must`; it is `value`. `end` ends the message.
[[noreturn]] void refuse_given(std::string_view what, std::string_view must, nb::handle value,
                               std::string_view end = {});

/// The end of a message about an unknown name: "; did you mean 'x'?" if a known one is near, else
/// empty.
[[nodiscard]] std::string did_you_mean(nb::handle name, const std::vector<std::string>& known);

/// An int, or what stands for one (`__index__`); nothing for anything else. Throws OverflowError.
[[nodiscard]] std::optional<std::int64_t> integer_from(nb::handle value);

/// The UTF-8 of a str that was given as `what`. Throws a ValueError for one that has none.
[[nodiscard]] std::string text_given(std::string_view what, std::string_view must,
                                     nb::handle value);

/// The bytes of a path, a str as `os.fsdecode` makes it. Throws a ValueError for one that has none.
[[nodiscard]] std::string path_given(std::string_view what, nb::handle value);

/// The value given for `what`. Fractions are no integers.
template <class T>
T given(std::string_view what, std::string_view must, nb::handle value) {
  T made{};
  if constexpr (std::is_same_v<T, std::string>) return text_given(what, must, value);
  const bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
  if ((is_integer && PyIndex_Check(value.ptr()) == 0) || !nb::try_cast(value, made)) {
    refuse_given(what, must, value);
  }
  return made;
}

/// The enumerator whose name was given for `what`. Throws a ValueError for any other name.
template <class Enum>
Enum choice(const char* what, nb::handle value,
            std::initializer_list<std::pair<const char*, Enum>> all) {
  const auto name = given<std::string>(what, "a str", value);
  std::string names;
  std::vector<std::string> known;
  for (const auto& [one, value] : all) {
    if (name == one) return value;
    names += (names.empty() ? "'" : ", '") + std::string(one) + "'";
    known.emplace_back(one);
  }
  throw nb::value_error((std::string(what) + " must be one of " + names + "; it is '" + name + "'" +
                         did_you_mean(value, known))
                            .c_str());
}

/// The integers of a sequence.
[[nodiscard]] std::vector<std::int64_t> integers_given(std::string_view what, nb::handle sequence);
/// Those of a call with several, `f(2, 3)`, or with one sequence of them, `f((2, 3))`.
[[nodiscard]] std::vector<std::int64_t> integers_given(std::string_view what,
                                                       const nb::args& arguments);

}  // namespace troupe::python
