// Computations as Python objects: traced, shown, and sent with their tensors by `device.compute`.
#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "arguments/options.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "elementwise/expression.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <troupe/dnn/graph.hpp>
#include <troupe/request/catalogue.hpp>

#include <map>
#include <string>
#include <string_view>

namespace troupe::python {
namespace {

namespace nodes = dnn::nodes;
using dnn::computation;
using elementwise::opcode;
using nodes::node;

/// A tensor of the computation that is being traced; of Python's class `Node`.
struct py_node {
  nodes::node node;
};

[[noreturn]] void refuse(const std::string& message) { throw nb::type_error(message.c_str()); }

std::string kind_of(nb::handle object) { return shown_text(object.type().attr("__name__")); }

std::optional<node> node_from(nb::handle object) {
  if (nb::isinstance<py_node>(object)) return nb::inst_ptr<py_node>(object)->node;
  if (PyComplex_Check(object.ptr()) || nb::hasattr(object, "__len__")) return std::nullopt;
  const auto number = scalar_from(object);
  if (!number) return std::nullopt;
  if (number->what() == scalar::kind::integer) return node(number->as<std::int64_t>());
  if (number->what() == scalar::kind::unsigned_integer) return node(number->as<std::uint64_t>());
  return node(number->as<double>());
}

node needed(nb::handle object) {
  if (auto made = node_from(object)) return *made;
  std::string message = "a computation is made of Nodes and numbers; this is a " + kind_of(object);
  if (nb::hasattr(object, "shape")) message += ": pass it to the function as an input";
  refuse(message);
}

const std::map<std::string_view, opcode>& opcodes() {
  static const auto& all = *[] {
    auto* const made = new std::map<std::string_view, opcode>;
    for (int i = 0; i < elementwise::opcode_count; ++i)
      made->emplace(elementwise::traits_of(static_cast<opcode>(i)).name, static_cast<opcode>(i));
    return made;
  }();
  return all;
}
const std::map<std::string_view, dnn::activation>& activations() {
  static const auto& all = *new std::map<std::string_view, dnn::activation>{
      {"relu", dnn::activation::relu},           {"gelu", dnn::activation::gelu},
      {"gelu_tanh", dnn::activation::gelu_tanh}, {"silu", dnn::activation::silu},
      {"sigmoid", dnn::activation::sigmoid},     {"softplus", dnn::activation::softplus},
  };
  return all;
}
const std::map<std::string_view, elementwise::reduction>& reductions() {
  static const auto& all = *new std::map<std::string_view, elementwise::reduction>{
      {"sum", elementwise::reduction::sum},         {"product", elementwise::reduction::product},
      {"minimum", elementwise::reduction::minimum}, {"maximum", elementwise::reduction::maximum},
      {"mean", elementwise::reduction::mean},
  };
  return all;
}

py_node apply(const std::string& name, nb::args operands) {
  std::vector<node> all;
  for (nb::handle one : operands)
    all.push_back(needed(one));
  return with_failures([&] {
    if (const auto one = activations().find(name); one != activations().end() && all.size() == 1)
      return py_node{nodes::apply(one->second, all[0])};
    const auto found = opcodes().find(name);
    if (found == opcodes().end()) throw nb::value_error("no such operation");
    return py_node{nodes::apply(found->second, std::span<const node>(all))};
  });
}

std::vector<std::int64_t> axes_from(nb::handle axis) {
  if (PyIndex_Check(axis.ptr()) != 0)
    return {nb::cast<std::int64_t>(nb::steal(PyNumber_Index(axis.ptr())))};
  return nb::cast<std::vector<std::int64_t>>(axis);
}

py_node norm(bool centered, nb::handle x, nb::handle weight, nb::handle bias, double eps,
             int dimensions) {
  return with_failures([&] {
    const node of = needed(x);
    if (weight.is_none() && !bias.is_none()) throw nb::type_error("a bias comes with a weight");
    if (weight.is_none()) {
      return py_node{centered ? nodes::layer_norm(of, eps, dimensions)
                              : nodes::rms_norm(of, eps, dimensions)};
    }
    const node by = needed(weight);
    if (!centered) return py_node{nodes::rms_norm(of, by, eps, dimensions)};
    return py_node{bias.is_none() ? nodes::layer_norm(of, by, eps, dimensions)
                                  : nodes::layer_norm(of, by, needed(bias), eps, dimensions)};
  });
}

// An operator with a node on the left: if the other operand is no number, it decides.
nb::object operate(opcode op, const node& a, nb::handle other, bool reflected) {
  const auto b = node_from(other);
  if (!b) {
    if (nb::hasattr(other, "shape")) (void)needed(other);
    return nb::borrow(Py_NotImplemented);
  }
  return with_failures([&] {
    return nb::cast(py_node{reflected ? nodes::apply(op, *b, a) : nodes::apply(op, a, *b)});
  });
}

void add_node(nb::module_& m) {
  nb::class_<py_node> made(m, "Node",
                           "A tensor of a computation being traced: an input, or the result of\n"
                           "operators and the functions of troupe.dnn.");
  const auto both = [&](const char* name, const char* reflected, opcode op) {
    made.def(name, [op](const py_node& a, nb::handle b) { return operate(op, a.node, b, false); });
    made.def(reflected,
             [op](const py_node& a, nb::handle b) { return operate(op, a.node, b, true); });
  };
  both("__add__", "__radd__", opcode::add);
  both("__sub__", "__rsub__", opcode::subtract);
  both("__mul__", "__rmul__", opcode::multiply);
  both("__truediv__", "__rtruediv__", opcode::divide);
  both("__pow__", "__rpow__", opcode::power);
  // Python swaps comparisons by itself.
  const auto compares = [&](const char* name, opcode op, bool swapped) {
    made.def(name, [=](const py_node& a, nb::handle b) { return operate(op, a.node, b, swapped); });
  };
  compares("__lt__", opcode::less, false);
  compares("__le__", opcode::less_equal, false);
  compares("__gt__", opcode::less, true);
  compares("__ge__", opcode::less_equal, true);
  made.def("__neg__",
           [](const py_node& a) { return with_failures([&] { return py_node{-a.node}; }); });
  made.def("__abs__", [](const py_node& a) {
    return with_failures([&] { return py_node{nodes::abs(a.node)}; });
  });
  made.def("__matmul__", [](const py_node& a, nb::handle b) {
    return with_failures([&] { return py_node{nodes::matmul(a.node, needed(b))}; });
  });
  made.def("__bool__", [](const py_node&) -> bool {
    throw nb::type_error(
        "a Node has no truth value while its computation is traced: use troupe.dnn.where");
  });
}

std::vector<node> results_from(nb::handle object) {
  std::vector<node> all;
  if (PyTuple_Check(object.ptr()) || PyList_Check(object.ptr())) {
    for (nb::handle one : object)
      all.push_back(needed(one));
  } else {
    all.push_back(needed(object));
  }
  if (all.empty()) throw nb::type_error("a computation returns at least one Node");
  return all;
}

// An exception of the callable passes through `of`, which then builds nothing.
computation trace(nb::handle callable, int inputs) {
  return with_failures([&] {
    return computation::of(inputs, [&](std::span<const node> x) {
      nb::list given;
      for (const node& one : x)
        given.append(nb::cast(py_node{one}));
      const nb::tuple arguments(given);
      const nb::object answer = nb::steal(PyObject_CallObject(callable.ptr(), arguments.ptr()));
      if (!answer.is_valid()) throw nb::python_error();
      return results_from(answer);
    });
  });
}

/// One of `names` by its place.
template <class Enum>
Enum chosen(std::string_view what, const std::string& name,
            std::initializer_list<std::pair<std::string_view, Enum>> names) {
  std::string all;
  for (const auto& [known, value] : names) {
    if (known == name) return value;
    all.append(all.empty() ? "" : ", ").append(known);
  }
  throw nb::value_error(
      ("dnn.graph: " + std::string(what) + " must be one of " + all + "; it is " + name).c_str());
}

nb::object compute(nb::handle device, const computation& what, const nb::tuple& inputs,
                   nb::handle out, nb::handle types, const std::string& intermediate,
                   const std::string& math, const std::string& engine, const std::string& tuning,
                   const nb::dict& options) {
  const device_ref& on = handle_of(device);
  any_request request(request_type_of<dnn::graph>());
  auto& r = *static_cast<dnn::graph*>(request.data());
  r.what = what;
  r.intermediate = chosen<dnn::intermediate_type>("intermediate", intermediate,
                                                  {{"f32", dnn::intermediate_type::f32},
                                                   {"f16", dnn::intermediate_type::f16},
                                                   {"bf16", dnn::intermediate_type::bf16}});
  r.math = chosen<dnn::math_mode>(
      "math", math, {{"strict", dnn::math_mode::strict}, {"tf32", dnn::math_mode::tf32}});
  r.engine = chosen<dnn::graph_engine>("engine", engine,
                                       {{"automatic", dnn::graph_engine::automatic},
                                        {"pieces", dnn::graph_engine::pieces},
                                        {"plan", dnn::graph_engine::plan}});
  r.tuning = chosen<dnn::tuning>(
      "tuning", tuning, {{"heuristic", dnn::tuning::heuristic}, {"timed", dnn::tuning::timed}});
  failed_operand failed;
  for (nb::handle one : inputs) {
    const nb::handle tensor = operand_of(one, "an input", failed);
    if (!tensor.is_valid())
      refuse("dnn.graph: an input must be a troupe.Tensor; it is a " + kind_of(one));
    r.inputs.push_back(nb::inst_ptr<py_tensor>(tensor)->view);
  }
  const auto forms = value_of(what.outputs_for(r.inputs));
  const auto is_list = [](nb::handle one) {
    return PyTuple_Check(one.ptr()) || PyList_Check(one.ptr());
  };
  const auto one_of = [&](nb::handle all, std::size_t i, const char* which) {
    if (!is_list(all)) {
      if (!all.is_none() && which == std::string_view("out") && forms.size() != 1)
        refuse("dnn.graph: the computation has " + std::to_string(forms.size()) +
               " outputs: out must be a tuple of as many tensors");
      return nb::borrow(all);
    }
    if (nb::len(all) != forms.size())
      refuse("dnn.graph: the computation has " + std::to_string(forms.size()) + " outputs; " +
             which + " has " + std::to_string(nb::len(all)));
    return nb::object(all[i]);
  };
  nb::list answers;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    const nb::object given = one_of(out, i, "out");
    const nb::object type = one_of(types, i, "dtype");
    if (given.is_none()) {
      const dtype to = type.is_none() ? forms[i].type : dtype_from(type);
      r.outputs.push_back(value_of(on->device.allocate(to, forms[i].extents)));
      answers.append(nb::cast(py_tensor{r.outputs.back(), on}));
    } else if (const nb::handle tensor = tensor_of(given, "out"); tensor.is_valid()) {
      r.outputs.push_back(nb::inst_ptr<py_tensor>(tensor)->view);
      answers.append(tensor);
    } else {
      refuse("dnn.graph: out must be a troupe.Tensor; it is a " + kind_of(given));
    }
  }
  nb::object made = forms.size() == 1 ? nb::object(answers[0]) : nb::object(nb::tuple(answers));
  written_tensors written{.all = std::move(made), .of = &setter_for(request.type())};
  if (failed.why) return not_sent(request, std::move(failed), std::move(written));
  const library_actor actor = on->device.library("dnn");
  const request_options wanted = options_from(dnn::graph::name, options);
  sent_request sent = send(*on, actor, std::move(request), wanted);
  // Drops the reply, which says how the graph was computed: the caller gets the outputs.
  future<void> answer = std::move(sent.answer).then([](result<any_reply> r) -> result<void> {
    if (!r) return std::move(r).error();
    return {};
  });
  py_future coming(std::make_shared<pending_future<void>>(std::move(answer)), std::move(written),
                   std::move(sent.handle));
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

}  // namespace

void add_computation(nb::module_& m) {
  add_node(m);
  nb::class_<computation>(m, "Computation",
                          "A computation on tensors, traced from a Python function by\n"
                          "troupe.dnn.computation, for device.compute.")
      .def("__str__", &computation::to_string)
      .def("__repr__",
           [](const computation& c) { return "Computation(\"" + c.to_string() + "\")"; })
      .def("__eq__",
           [](const computation& c, nb::handle other) {
             return nb::isinstance<computation>(other) && nb::cast<const computation&>(other) == c;
           })
      .def_prop_ro("inputs", &computation::inputs, "How many there are.")
      .def_prop_ro("outputs", &computation::outputs, "How many there are.");
  m.def("_trace_computation", &trace);
  m.def("_node", &apply, nb::arg("name"), nb::arg("operands"));
  m.def("_node_cast", [](nb::handle x, nb::handle type) {
    const dtype to = dtype_from(type);
    return with_failures([&] { return py_node{nodes::cast(needed(x), to)}; });
  });
  m.def("_node_reduce", [](const std::string& how, nb::handle x, nb::handle axis) {
    return with_failures(
        [&] { return py_node{nodes::reduce(reductions().at(how), needed(x), axes_from(axis))}; });
  });
  m.def("_node_norm", &norm, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(),
        nb::arg());
  m.def("_node_transpose", [](nb::handle x, const std::vector<std::int64_t>& order) {
    return with_failures([&] { return py_node{nodes::transpose(needed(x), order)}; });
  });
  m.def("_node_convolution", [](nb::handle x, nb::handle w, nb::handle stride, nb::handle dilation,
                                nb::handle padding, std::int64_t groups) {
    return with_failures([&] {
      return py_node{nodes::convolution(needed(x), needed(w),
                                        {.stride = axes_from(stride),
                                         .dilation = axes_from(dilation),
                                         .padding = axes_from(padding),
                                         .groups = groups})};
    });
  });
  m.def("_compute", &compute, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg());
}

}  // namespace troupe::python
