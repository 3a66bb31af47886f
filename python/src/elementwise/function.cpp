// Functions of elements as Python objects: traced, called within others, differentiated, pickled.
#include "arguments/arguments.hpp"
#include "binding.hpp"
#include "elementwise/expression.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/request/fields.hpp>

#include <nanobind/operators.h>

#include <string>

namespace troupe::python {

namespace ew = elementwise;
using ew::function;
using ew::instruction;
using ew::result_value;
using ew::value;

namespace {

nb::object one_or_tuple(const std::vector<nb::object>& all) {
  if (all.size() == 1) return all[0];
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  for (std::size_t i = 0; i < all.size(); ++i)
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), nb::object(all[i]).release().ptr());
  return made;
}

// An exception of the callable passes through `of`, which then builds nothing. `complex_inputs` has
// a bit for each input with complex elements.
function trace(nb::handle callable, int inputs, std::uint32_t complex_inputs) {
  return with_failures([&] {
    return function::of(inputs, [&](std::span<const value> x) {
      std::vector<nb::object> given;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const bool is_complex = (complex_inputs >> i & 1) != 0;
        given.push_back(is_complex ? nb::cast(py_complex{ew::complex(x[i])})
                                   : nb::cast(py_expression{x[i]}));
      }
      nb::object arguments = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(given.size())));
      for (std::size_t i = 0; i < given.size(); ++i) {
        PyTuple_SET_ITEM(arguments.ptr(), static_cast<Py_ssize_t>(i), given[i].release().ptr());
      }
      const nb::object answer = nb::steal(PyObject_CallObject(callable.ptr(), arguments.ptr()));
      if (!answer.is_valid()) throw nb::python_error();
      return results_from(answer);
    });
  });
}

nb::object call_function(const function& f, nb::args arguments) {
  if (nb::len(arguments) != static_cast<std::size_t>(f.inputs())) {
    throw nb::type_error(("this function takes " + std::to_string(f.inputs()) + " inputs; " +
                          std::to_string(nb::len(arguments)) + " are given")
                             .c_str());
  }
  std::vector<result_value> given;
  for (nb::handle one : arguments) {
    if (nb::hasattr(one, "shape") && !value_from(one)) {
      throw nb::type_error(
          "a Function is called with Expressions, while another one is traced; for tensors there "
          "is device.map(function, tensor)");
    }
    given.push_back(results_from(one)[0]);
  }
  return with_failures([&] {
    std::vector<nb::object> all;
    for (const result_value& one : f(given))
      all.push_back(object_of(one));
    return one_or_tuple(all);
  });
}

// A program as the wire has it.
std::vector<std::int64_t> program_of(const function& f) {
  std::vector<std::int64_t> all{f.inputs() | std::int64_t{f.outputs()} << 16};
  for (std::size_t i = 0; i < f.size(); ++i) {
    const instruction one = f.at(i);
    all.push_back(static_cast<std::int64_t>(one.op) | std::int64_t{one.a} << 8 |
                  std::int64_t{one.b} << 24 | std::int64_t{one.c} << 40);
  }
  return all;
}
nb::list constants_of(const function& f) {
  nb::list all;
  for (const scalar& one : f.constants()) {
    switch (one.what()) {
      case scalar::kind::integer:
        all.append(one.as<std::int64_t>());
        break;
      case scalar::kind::unsigned_integer:
        all.append(one.as<std::uint64_t>());
        break;
      default:
        all.append(one.as<double>());
    }
  }
  return all;
}

// A bit for each.
std::uint32_t complex_outputs(const function& f) {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < f.size(); ++i) {
    const instruction one = f.at(i);
    if (one.op == ew::opcode::output && one.c == 1) bits |= 1U << one.b;
  }
  return bits;
}

// Only a request's fields let a program in.
function restored(const std::vector<std::int64_t>& program, const nb::tuple& constants) {
  ew::map request;
  for (const field_view& field : fields_of(request_type_of<ew::map>())) {
    if (field.kind == field_kind::integers) {
      field.in<std::vector<std::int64_t>>(&request) = program;
    } else if (field.kind == field_kind::scalars) {
      for (nb::handle one : constants) {
        const auto number = scalar_from(one);
        if (!number) throw nb::type_error("the constants of a function are numbers");
        field.in<std::vector<scalar>>(&request).push_back(*number);
      }
    }
  }
  value_of(request.what.check());
  return std::move(request.what);
}

}  // namespace

void add_function(nb::module_& m) {
  nb::class_<function>(
      m, "Function",
      "A function of the elements of some tensors: a small program, traced from a\n"
      "Python function by troupe.elementwise.function. Called with Expressions it\n"
      "becomes part of the function that is being traced.")
      .def("__call__", &call_function)
      .def("__str__", &function::to_string)
      .def("__repr__", [](const function& f) { return "Function(\"" + f.to_string() + "\")"; })
      .def("__eq__",
           [](const function& f, nb::handle other) {
             return nb::isinstance<function>(other) && nb::cast<const function&>(other) == f;
           })
      .def("__hash__",
           [](const function& f) {
             return nb::hash(
                 nb::make_tuple(nb::tuple(nb::cast(program_of(f))), nb::tuple(constants_of(f))));
           })
      .def("__getstate__",
           [](const function& f) { return std::pair(program_of(f), nb::tuple(constants_of(f))); })
      .def("__setstate__",
           [](function& f, const std::pair<std::vector<std::int64_t>, nb::tuple>& state) {
             new (&f) function(restored(state.first, state.second));
           })
      .def_prop_ro("inputs", &function::inputs, "How many there are.")
      .def_prop_ro("outputs", &function::outputs, "How many there are.")
      .def_prop_ro("_complex_outputs", &complex_outputs)
      .def_prop_ro("has_row_operations", &function::has_row_operations,
                   "True if only device.rows takes it.")
      .def(
          "derivative",
          [](const function& f, int input, int output) {
            return with_failures([&] { return f.derivative(input, output); });
          },
          nb::arg("input") = 0, nb::arg("output") = 0,
          "The partial derivative of an output by an input, as a function of the same inputs.");
  m.def("_trace", &trace, nb::arg(), nb::arg(), nb::arg("complex_inputs") = 0);
}

}  // namespace troupe::python
