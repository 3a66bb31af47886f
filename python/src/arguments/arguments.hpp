#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// Python's name of a field: `from.seed` is `from_seed`, and `in`, a word of Python's, `in_`.
[[nodiscard]] std::string python_name(std::string_view field);

/// The number that a Python object is: an int, a float, a complex, or what converts to one.
[[nodiscard]] std::optional<scalar> scalar_from(nb::handle value);

/// Sets fields of a request from Python values. Throws TypeError or ValueError with the request,
/// the field and the value.
class argument_setter {
 public:
  explicit argument_setter(const request_type& type);

  struct argument {
    PyObject* name;  ///< interned, as calls give it
    field_view field;
    bool is_function = false;  ///< `field` is its program, the first of its two fields
  };
  [[nodiscard]] const std::vector<argument>& all() const noexcept { return arguments_; }
  /// The place of an argument in the description, and the tensor with that offset in the request.
  [[nodiscard]] std::size_t place_of(const argument& one) const noexcept {
    return static_cast<std::size_t>(&one - arguments_.data());
  }
  [[nodiscard]] std::size_t place_at(std::size_t offset) const noexcept;
  /// Null for a name that no field has.
  [[nodiscard]] const argument* find(PyObject* name) const noexcept;
  /// None leaves the default.
  void set(any_request& request, const argument& to, nb::handle value) const;
  [[nodiscard]] std::size_t tensors() const noexcept { return tensors_; }
  [[noreturn]] void refuse_unknown(nb::handle name) const;

 private:
  /// As messages call it: the request, then the argument.
  [[nodiscard]] std::string name_of(const argument& to) const;
  [[noreturn]] void refuse(const argument& to, std::string_view must, nb::handle value) const;
  [[nodiscard]] any_tensor tensor_from(const argument& to, nb::handle value) const;
  [[nodiscard]] elementwise::function function_from(const argument& to, nb::handle value) const;

  const request_type& type_;
  std::vector<argument> arguments_;
  std::size_t tensors_ = 0;  ///< single ones
};

}  // namespace troupe::python
