#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/result.hpp>

#include <nanobind/nanobind.h>

#include <chrono>
#include <optional>
#include <utility>

/// What every part of the binding uses. Functions hold the GIL unless they say otherwise.
namespace troupe::python {

namespace nb = nanobind;

// errors.cpp

/// The Python exception for an error: an instance of the class for its code in `troupe.errors`.
[[nodiscard]] nb::object exception_for(const error& e);
/// Throws it.
[[noreturn]] void raise(const error& e);

/// The value of a result, or throws its error as a Python exception.
template <class T>
T value_of(result<T> r) {
  if (!r) raise(r.error());
  if constexpr (!std::is_void_v<T>) return *std::move(r);
}

/// Calls `f` without the GIL.
template <class F>
auto without_gil(F&& f) {
  const nb::gil_scoped_release released;
  return std::forward<F>(f)();
}

/// Seconds, as Python counts time; nothing for None.
[[nodiscard]] inline std::optional<std::chrono::nanoseconds> duration_of(
    std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  constexpr double most = 9e9;  // 285 years
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::min(std::max(*seconds, 0.0), most) * 1e9));
}

// Each adds its classes to the module.
void add_tensor(nb::module_& m);
void add_mapped_tensor(nb::module_& m);
void add_future(nb::module_& m);
void add_operation(nb::module_& m);
void add_device(nb::module_& m);
void add_actor(nb::module_& m);
void add_system(nb::module_& m);
void add_catalogue(nb::module_& m);

}  // namespace troupe::python
