#pragma once

#include <troupe/base/error.hpp>
#include <troupe/base/result.hpp>

#include <cxxabi.h>
#include <nanobind/nanobind.h>
// The conversions that any file uses. A file that lacks one compiles, and then refuses the type
// when it runs.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

/// Shared by every part of the binding. Functions hold the GIL unless they say otherwise.
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

/// Calls `f`, which may ask for the GIL.
///
/// When the interpreter ends, Python up to 3.13 ends every other thread that asks for the GIL, by
/// unwinding its stack: through functions that are noexcept, which would end the program. Such a
/// thread stops here instead, until the process is gone.
template <class F>
auto unless_python_ends(F&& f) -> decltype(f()) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    for (;;)
      ::pause();
  }
}

/// This thread does without the GIL until the object goes.
class gil_released {
 public:
  gil_released() noexcept : state_(PyEval_SaveThread()) {}
  ~gil_released() {
    unless_python_ends([this] { PyEval_RestoreThread(state_); });
  }
  gil_released(const gil_released&) = delete;
  gil_released& operator=(const gil_released&) = delete;

 private:
  PyThreadState* state_;
};

/// Calls `f` without the GIL.
template <class F>
auto without_gil(F&& f) {
  const gil_released released;
  return std::forward<F>(f)();
}

/// Calls `f` with the GIL, on any thread of the runtime.
template <class F>
auto with_gil(F&& f) -> decltype(f()) {
  return unless_python_ends([&] {
    const PyGILState_STATE before = PyGILState_Ensure();
    try {
      if constexpr (std::is_void_v<decltype(f())>) {
        f();
        PyGILState_Release(before);
      } else {
        auto made = f();
        PyGILState_Release(before);
        return made;
      }
    } catch (const abi::__forced_unwind&) {
      throw;  // without the GIL
    } catch (...) {
      PyGILState_Release(before);
      throw;
    }
  });
}

/// True from when the interpreter begins to end: the threads of the runtime leave Python's objects
/// alone, and nothing waits for threads that wait for Python. system.cpp
[[nodiscard]] bool python_ends() noexcept;

/// A duration from Python's seconds; nothing for None. Throws ValueError for NaN.
[[nodiscard]] inline std::optional<std::chrono::nanoseconds> duration_of(
    std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  if (std::isnan(*seconds)) throw nb::value_error("a time in seconds must be a number; it is nan");
  constexpr double most = 9e9;  // 285 years
  return std::chrono::nanoseconds(
      static_cast<std::int64_t>(std::min(std::max(*seconds, 0.0), most) * 1e9));
}

/// Calls `f` from a slot of Python's C API, through which no exception of C++ passes: null, and the
/// Python exception is set.
template <class F>
PyObject* guarded(F&& f) noexcept {
  try {
    return f();
  } catch (nb::python_error& e) {
    e.restore();
  } catch (const nb::builtin_exception& e) {
    PyErr_SetString(e.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_ValueError,
                    e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  }
  return nullptr;
}

/// The bytes of an object with the buffer protocol, held while this lives.
class held_buffer {
 public:
  held_buffer(nb::handle source, int flags) {
    if (PyObject_GetBuffer(source.ptr(), &buffer_, flags) != 0) throw nb::python_error();
  }
  held_buffer(const held_buffer&) = delete;
  held_buffer& operator=(const held_buffer&) = delete;
  ~held_buffer() { PyBuffer_Release(&buffer_); }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

// Each adds its classes to the module.
void add_tensor(nb::module_& m);
void add_mapped_tensor(nb::module_& m);
void add_future(nb::module_& m);
void add_operation(nb::module_& m);
void add_device(nb::module_& m);
void add_actor(nb::module_& m);
void add_system(nb::module_& m);
void add_world(nb::module_& m);
void add_parallel(nb::module_& m);
void add_events(nb::module_& m);
void add_kv_cache(nb::module_& m);
void add_computation(nb::module_& m);
void add_catalogue(nb::module_& m);
void add_expression(nb::module_& m);
void add_function(nb::module_& m);
void add_elementwise_requests(nb::module_& m);
void add_array_view(nb::module_& m);
void add_python_operation(nb::module_& m);
void add_python_calls(nb::module_& m);
void add_fork_server(nb::module_& m);
void add_graph(nb::module_& m);
void add_batch_queue(nb::module_& m);
void add_profile(nb::module_& m);
void add_journal(nb::module_& m);
void add_matrix_market(nb::module_& m);

/// True in a process that imports operations for workers, where no device can be.
[[nodiscard]] bool is_fork_server() noexcept;
/// True in a process that runs operations of Python.
[[nodiscard]] bool is_worker() noexcept;

}  // namespace troupe::python
