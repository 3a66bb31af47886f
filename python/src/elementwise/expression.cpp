// The values of a traced lambda: `Expression` and `Complex`, their operators, and the functions of
// `troupe.elementwise`, which call `_apply` with their name.
#include "elementwise/expression.hpp"

#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "dtypes.hpp"

#include <nanobind/operators.h>

#include <complex>
#include <map>
#include <string>
#include <string_view>

namespace troupe::python {
namespace {

namespace ew = elementwise;
using ew::complex_value;
using ew::opcode;
using ew::value;

std::string kind_of(nb::handle object) { return shown_text(object.type().attr("__name__")); }

[[noreturn]] void refuse_operand(std::string_view what, nb::handle object) {
  std::string message =
      std::string(what) + " takes Expressions and numbers; this is a " + kind_of(object);
  if (nb::hasattr(object, "shape")) message += ": pass it to the function as an input";
  if (nb::isinstance<py_complex>(object)) message += ": use its .real and .imag, or abs() of it";
  throw nb::type_error(message.c_str());
}

value needed(std::string_view what, nb::handle object) {
  if (auto made = value_from(object)) return *made;
  refuse_operand(what, object);
}

// Functions that are made of several instructions.
const std::map<std::string_view, value (*)(const value&)>& unary() {
  static const auto& all = *new std::map<std::string_view, value (*)(const value&)>{
      {"square", &ew::square},     {"sigmoid", &ew::sigmoid}, {"silu", &ew::silu},
      {"relu", &ew::relu},         {"gelu", &ew::gelu},       {"gelu_tanh", &ew::gelu_tanh},
      {"softplus", &ew::softplus}, {"mish", &ew::mish},
  };
  return all;
}
const std::map<std::string_view, value (*)(const value&, const value&)>& binary() {
  static const auto& all = *new std::map<std::string_view, value (*)(const value&, const value&)>{
      {"leaky_relu", &ew::leaky_relu},
      {"elu", &ew::elu},
      {"random_uniform", &ew::random_uniform},
      {"random_normal", &ew::random_normal},
  };
  return all;
}
const std::map<std::string_view, opcode>& opcodes() {
  static const auto& all = *[] {
    auto* const made = new std::map<std::string_view, opcode>;
    for (int i = 0; i < ew::opcode_count; ++i)
      made->emplace(ew::traits_of(static_cast<opcode>(i)).name, static_cast<opcode>(i));
    return made;
  }();
  return all;
}

value applied(std::string_view name, const std::vector<value>& x) {
  if (const auto one = unary().find(name); one != unary().end() && x.size() == 1) {
    return one->second(x[0]);
  }
  if (const auto two = binary().find(name); two != binary().end() && x.size() == 2) {
    return two->second(x[0], x[1]);
  }
  if (name == "clip" && x.size() == 3) return ew::clip(x[0], x[1], x[2]);
  const auto found = opcodes().find(name);
  if (found == opcodes().end()) throw nb::value_error("no such operation");
  switch (x.size()) {
    case 1:
      return ew::apply(found->second, x[0]);
    case 2:
      return ew::apply(found->second, x[0], x[1]);
    case 3:
      return ew::apply(found->second, x[0], x[1], x[2]);
    default:
      throw nb::value_error("an operation has one to three operands");
  }
}

py_expression apply(const std::string& name, nb::args operands) {
  std::vector<value> all;
  for (nb::handle one : operands)
    all.push_back(needed("elementwise." + name, one));
  return with_failures([&] { return py_expression{applied(name, all)}; });
}

py_expression source(const std::string& name, int axis) {
  return with_failures([&] {
    if (name == "position") return py_expression{ew::position()};
    if (name == "row_length") return py_expression{ew::row_length()};
    if (axis < 0 || axis >= max_rank) throw nb::value_error("index: no tensor has such an axis");
    return py_expression{ew::index(axis)};
  });
}

// An operator with an expression on the left: if the other operand is no number, it decides.
nb::object operate(opcode op, const value& a, nb::handle other, bool reflected = false) {
  const auto b = value_from(other);
  if (!b) {
    if (nb::hasattr(other, "shape")) refuse_operand("an operator", other);
    return nb::borrow(Py_NotImplemented);
  }
  return with_failures([&] {
    return nb::cast(py_expression{reflected ? ew::apply(op, *b, a) : ew::apply(op, a, *b)});
  });
}

std::optional<complex_value> complex_from(nb::handle object) {
  if (nb::isinstance<py_complex>(object)) return nb::inst_ptr<py_complex>(object)->value;
  if (const auto real = value_from(object)) return complex_value{*real, 0};
  const auto number = scalar_from(object);
  if (!number) return std::nullopt;
  const auto parts = number->as<std::complex<double>>();
  return complex_value{parts.real(), parts.imag()};
}

complex_value quotient(const complex_value& a, const complex_value& b) {
  const value size = b.real * b.real + b.imaginary * b.imaginary;
  return {(a.real * b.real + a.imaginary * b.imaginary) / size,
          (a.imaginary * b.real - a.real * b.imaginary) / size};
}

constexpr const char* no_condition =
    "an Expression has no truth value while its function is traced: it stands for every element. "
    "Use troupe.elementwise.where(condition, a, b) instead of if, `and`, `or`, min() and max(), "
    "and "
    "& | ~ of conditions.";
template <class F>
auto complex_operator(F f) {
  return [f](const py_complex& a, nb::handle other) -> nb::object {
    const auto b = complex_from(other);
    if (!b) return nb::borrow(Py_NotImplemented);
    return with_failures([&] { return nb::cast(py_complex{f(a.value, *b)}); });
  };
}

template <class F>
auto complex_comparison(F f) {
  return [f](const py_complex& a, nb::handle other) -> nb::object {
    const auto b = complex_from(other);
    if (!b) return nb::borrow(Py_NotImplemented);
    return with_failures([&] { return nb::cast(py_expression{f(a.value, *b)}); });
  };
}

void add_complex(nb::module_& m) {
  using c = const complex_value&;
  const auto add = [](c a, c b) { return a + b; };
  const auto multiply = [](c a, c b) { return a * b; };
  nb::class_<py_complex>(m, "Complex",
                         "A complex number of a function that is being traced: a pair of\n"
                         "Expressions. It stands for an input with complex elements.")
      .def_prop_ro("real", [](const py_complex& a) { return py_expression{a.value.real}; })
      .def_prop_ro("imag", [](const py_complex& a) { return py_expression{a.value.imaginary}; })
      .def("__add__", complex_operator(add))
      .def("__radd__", complex_operator(add))
      .def("__mul__", complex_operator(multiply))
      .def("__rmul__", complex_operator(multiply))
      .def("__sub__", complex_operator([](c a, c b) { return a - b; }))
      .def("__rsub__", complex_operator([](c a, c b) { return b - a; }))
      .def("__truediv__", complex_operator([](c a, c b) { return quotient(a, b); }))
      .def("__rtruediv__", complex_operator([](c a, c b) { return quotient(b, a); }))
      .def("__neg__",
           [](const py_complex& a) {
             return with_failures([&] { return py_complex{{-a.value.real, -a.value.imaginary}}; });
           })
      .def("__abs__",
           [](const py_complex& a) {
             return with_failures([&] { return py_expression{ew::abs(a.value)}; });
           })
      .def("__eq__", complex_comparison(
                         [](c a, c b) { return a.real == b.real & a.imaginary == b.imaginary; }))
      .def("__ne__", complex_comparison(
                         [](c a, c b) { return a.real != b.real | a.imaginary != b.imaginary; }))
      .def("__hash__",
           [](nb::handle self) { return reinterpret_cast<std::uintptr_t>(self.ptr()) >> 4; })
      .def("__bool__", [](const py_complex&) -> bool { throw nb::type_error(no_condition); })
      .def(
          "conjugate",
          [](const py_complex& a) {
            return with_failures([&] { return py_complex{ew::conj(a.value)}; });
          },
          "The same with the other sign of its imaginary part.");
}

constexpr const char* no_number =
    "an Expression is no number while its function is traced: it stands for every element. Use the "
    "functions of troupe.elementwise instead of those of math, and cast() instead of int() and "
    "float().";

value constant_of(const scalar& number) {
  switch (number.what()) {
    case scalar::kind::integer:
      return number.as<std::int64_t>();
    case scalar::kind::unsigned_integer:
      return number.as<std::uint64_t>();
    default:
      return number.as<double>();
  }
}

}  // namespace

std::optional<value> value_from(nb::handle object) {
  if (nb::isinstance<py_expression>(object)) return nb::inst_ptr<py_expression>(object)->value;
  if (PyComplex_Check(object.ptr()) || nb::isinstance<py_complex>(object) ||
      nb::hasattr(object, "__len__")) {
    return std::nullopt;
  }
  const auto number = scalar_from(object);
  if (!number || number->what() == scalar::kind::complex) return std::nullopt;
  return constant_of(*number);
}

std::optional<ew::result_value> number_from(nb::handle object) {
  if (nb::isinstance<py_expression>(object) || nb::isinstance<py_complex>(object)) {
    return std::nullopt;
  }
  if (const auto real = value_from(object)) return *real;
  if (const auto pair = complex_from(object)) return *pair;
  return std::nullopt;
}

std::vector<ew::result_value> results_from(nb::handle object) {
  const auto one_from = [](nb::handle one) -> ew::result_value {
    if (const auto number = value_from(one)) return *number;
    if (const auto pair = complex_from(one)) return *pair;
    const std::string message =
        "a function for elements returns an Expression, a number, a Complex, or a tuple of these; "
        "this one returned " +
        (one.is_none() ? std::string("None") : "a " + kind_of(one));
    throw nb::type_error(message.c_str());
  };
  std::vector<ew::result_value> all;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (nb::handle one : object)
      all.push_back(one_from(one));
    if (all.empty()) throw nb::type_error("a function for elements returns at least one value");
  } else {
    all.push_back(one_from(object));
  }
  return all;
}

nb::object object_of(const ew::result_value& one) {
  if (one.imaginary) return nb::cast(py_complex{{one.real, *one.imaginary}});
  return nb::cast(py_expression{one.real});
}

void add_expression(nb::module_& m) {
  nb::class_<py_expression> made(
      m, "Expression",
      "A number that a function computes for each element: an input of a function that is being\n"
      "traced, or what operators and the functions of troupe.elementwise make of some.");
  made.def("__repr__", [](const py_expression&) { return "<troupe.elementwise.Expression>"; });
  const auto both = [&](const char* name, const char* reflected, opcode op) {
    made.def(name, [op](const py_expression& a, nb::handle b) { return operate(op, a.value, b); });
    made.def(reflected,
             [op](const py_expression& a, nb::handle b) { return operate(op, a.value, b, true); });
  };
  both("__add__", "__radd__", opcode::add);
  both("__sub__", "__rsub__", opcode::subtract);
  both("__mul__", "__rmul__", opcode::multiply);
  both("__truediv__", "__rtruediv__", opcode::divide);
  both("__floordiv__", "__rfloordiv__", opcode::quotient);
  both("__mod__", "__rmod__", opcode::remainder);
  both("_pow", "__rpow__", opcode::power);
  // A square is an integer of integers, and one multiplication of others.
  made.def("__pow__", [](const py_expression& a, nb::handle b) {
    if (!PyLong_CheckExact(b.ptr()) || PyLong_AsLong(b.ptr()) != 2) {
      PyErr_Clear();
      return operate(opcode::power, a.value, b);
    }
    return with_failures([&] { return nb::cast(py_expression{ew::square(a.value)}); });
  });
  both("__and__", "__rand__", opcode::bit_and);
  both("__or__", "__ror__", opcode::bit_or);
  both("__xor__", "__rxor__", opcode::bit_xor);
  both("__lshift__", "__rlshift__", opcode::shift_left);
  both("__rshift__", "__rrshift__", opcode::shift_right);
  // Python swaps these by itself.
  both("__lt__", "_lt", opcode::less);
  both("__le__", "_le", opcode::less_equal);
  both("_gt", "__gt__", opcode::less);
  both("_ge", "__ge__", opcode::less_equal);
  both("__eq__", "_eq", opcode::equal);
  both("__ne__", "_ne", opcode::not_equal);
  for (const char* const unused : {"_pow", "_lt", "_le", "_gt", "_ge", "_eq", "_ne"})
    nb::delattr(made, unused);
  const auto alone = [&](const char* name, opcode op) {
    made.def(name, [op](const py_expression& a) {
      return with_failures([&] { return py_expression{ew::apply(op, a.value)}; });
    });
  };
  alone("__neg__", opcode::negative);
  alone("__abs__", opcode::absolute);
  alone("__invert__", opcode::bit_not);
  alone("__floor__", opcode::floor);
  alone("__ceil__", opcode::ceil);
  alone("__trunc__", opcode::trunc);
  made.def("__pos__", [](const py_expression& a) { return a; });
  made.def("__hash__",
           [](nb::handle self) { return reinterpret_cast<std::uintptr_t>(self.ptr()) >> 4; });
  made.def("__bool__", [](const py_expression&) -> bool { throw nb::type_error(no_condition); });
  for (const char* const name : {"__float__", "__int__"})
    made.def(name, [](const py_expression&) -> double { throw nb::type_error(no_number); });
  add_complex(m);

  m.def("_apply", &apply, nb::arg("name"), nb::arg("operands"));
  m.def("_source", &source, nb::arg("name"), nb::arg("axis") = 0);
  m.def("_cast", [](nb::handle x, nb::handle type) {
    const dtype to = dtype_from(type);
    return with_failures([&] { return py_expression{ew::cast(needed("cast", x), to)}; });
  });
  m.def(
      "_complex",
      [](nb::handle real, nb::handle imaginary) {
        return with_failures([&] {
          if (imaginary.is_none() && nb::isinstance<py_complex>(real)) {
            return *nb::inst_ptr<py_complex>(real);
          }
          const value x = needed("complex", real);
          if (!imaginary.is_none()) return py_complex{{x, needed("complex", imaginary)}};
          return py_complex{ew::complex(x)};
        });
      },
      nb::arg(), nb::arg().none());
}

}  // namespace troupe::python
