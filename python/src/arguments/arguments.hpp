#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

struct failed_operand;

/// Python's name of a field: `from.seed` is `from_seed`, and `in`, a word of Python's, `in_`.
[[nodiscard]] std::string python_name(std::string_view field);

/// NumPy's short names of enumerators: "max" beside "maximum".
struct short_name {
  std::string_view name;
  std::string_view of;
};
[[nodiscard]] std::span<const short_name> short_names() noexcept;

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
    int result = -1;           ///< of a tensor that may be written: its number among these
  };
  [[nodiscard]] const std::vector<argument>& all() const noexcept { return arguments_; }
  /// The request's name.
  [[nodiscard]] std::string_view request() const noexcept { return type_.name; }
  /// The tensor with that offset in the request.
  [[nodiscard]] const argument& at(std::size_t offset) const noexcept;
  /// The arguments that may be given without their names, in order: the operands that a request
  /// needs, then its results.
  [[nodiscard]] const std::vector<const argument*>& positional() const;
  /// Null for a name that no field has.
  [[nodiscard]] const argument* find(PyObject* name) const noexcept;
  /// None leaves the default. \returns the tensor object, where the argument is one. Notes in
  /// `failed` if the request that writes it has failed, unless the argument may be overwritten.
  nb::handle set(any_request& request, const argument& to, nb::handle value,
                 failed_operand& failed) const;
  [[nodiscard]] std::size_t tensors() const noexcept { return tensors_; }
  [[noreturn]] void refuse_unknown(nb::handle name) const;
  [[noreturn]] void refuse_too_many(std::size_t given) const;
  /// Throws a TypeError for one of those that were given without their names.
  void expect_first(const argument& to, std::size_t positional) const;

 private:
  /// As messages call it: the request, then the argument.
  [[nodiscard]] std::string name_of(const argument& to) const;
  [[noreturn]] void refuse(const argument& to, std::string_view must, nb::handle value) const;
  [[nodiscard]] nb::handle tensor_from(const argument& to, nb::handle value,
                                       failed_operand& failed) const;
  [[nodiscard]] elementwise::function function_from(const argument& to, nb::handle value) const;

  const request_type& type_;
  std::vector<argument> arguments_;
  std::size_t tensors_ = 0;  ///< single ones
  mutable std::vector<const argument*> positional_;
  mutable bool has_positional_ = false;
};

/// The fields by which Python knows a type, made once for each. With the GIL.
[[nodiscard]] const argument_setter& setter_for(const request_type& type);

}  // namespace troupe::python
