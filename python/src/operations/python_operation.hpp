#pragma once

#include <troupe/plugin/executor.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// An operation that is a function of Python: its request, made at run time from the function's
/// declaration, and, in a worker, the function. Never destroyed.
struct python_operation {
  struct argument {
    field_view field;
    bool writes = false;
    bool overwrites = false;  ///< and does not read
    /// For a list of tensors: the tensor that describes a bound set instead.
    std::optional<std::size_t> bound{};
    bool required = false;
  };

  const request_type* type = nullptr;
  std::vector<argument> arguments;
  PyObject* names = nullptr;      ///< a tuple of the arguments' names
  PyObject* function = nullptr;   ///< null in a program that only asks
  PyObject* convert = nullptr;    ///< makes a function's argument of a view; may be null
  PyObject* on_stream = nullptr;  ///< calls the function with a GPU's stream as the current one
  bool has_required = false;
};

/// The binding's data of a Python request; null for any other.
[[nodiscard]] const python_operation* python_operation_of(const request_type& type) noexcept;
/// True for a library that has operations of Python. All of these share a lane, because they take
/// turns in a worker anyway.
[[nodiscard]] bool is_python_library(std::string_view name);
inline constexpr std::string_view python_lane = "python";

/// The value that a call was answered with; nothing where the function has returned None.
[[nodiscard]] std::optional<nb::object> value_in(const any_reply& reply);

/// Adds the operations whose functions are here, for a worker, or a device in this program.
void add_python_operations(operation_table& table);

/// Runs `python_operation::function`: the executor, and its turn.
[[nodiscard]] result<void> run_python(void* executor, const void* request, lane_context& where,
                                      std::byte* reply);
void take_python_turn(void* executor);
void end_python_turn(void* executor);
/// The error of the Python exception that is set, with its traceback; clears it.
[[nodiscard]] error take_python_error();

}  // namespace troupe::python
