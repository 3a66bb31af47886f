// `device.map`, `rows` and `reduce`: allocate outputs, and send a function with its tensors.
#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "arguments/options.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "dtypes.hpp"
#include "elementwise/expression.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/request/catalogue.hpp>

#include <algorithm>
#include <string>
#include <string_view>

namespace troupe::python {
namespace {

namespace ew = elementwise;
using ew::function;
using ew::result_value;
using ew::value;

[[noreturn]] void refuse(const std::string& message) { throw nb::type_error(message.c_str()); }

/// The parsed arguments of `device.map`, `rows` and `reduce`.
class call {
 public:
  call(const device_ref& device, std::string_view name, const function& f, const nb::tuple& inputs)
      : device_(device), name_(name), what_(f) {
    take_inputs(f, inputs);
    for (const any_tensor& one : inputs_)
      broadcast(one);
  }

  /// Axes from the front; empty if they are invalid, which the request then reports.
  void set_axes(const std::vector<std::int64_t>& axes) {
    const auto rank = static_cast<std::int64_t>(extents_.size());
    for (const std::int64_t axis : axes) {
      const std::int64_t d = axis < 0 ? axis + rank : axis;
      if (d < 0 || d >= rank || is_row_axis(d)) return row_axes_.clear();
      row_axes_.push_back(d);
    }
  }
  /// `keepdims`: an output with one element for a row keeps the row's dimensions.
  void set_outputs(nb::handle out, nb::handle types, bool keepdims);

  [[nodiscard]] const std::vector<any_tensor>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] const std::vector<any_tensor>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] const function& what() const noexcept { return what_; }
  [[nodiscard]] bool has_failed_operand() const noexcept { return failed_.why != nullptr; }
  [[nodiscard]] failed_operand take_failed() noexcept { return std::move(failed_); }
  /// Sets the function of the outputs, if it is not the one of the inputs.
  void set_function(function f) { what_ = std::move(f); }
  /// The tensors of the future.
  [[nodiscard]] nb::object answer() const {
    if (answers_.size() == 1) return answers_[0];
    nb::list all;
    for (const nb::object& one : answers_)
      all.append(one);
    return nb::tuple(all);
  }

 private:
  void take_inputs(const function& f, const nb::tuple& inputs);
  void broadcast(const any_tensor& t);
  [[nodiscard]] bool is_row_axis(std::int64_t d) const noexcept {
    return std::ranges::find(row_axes_, d) != row_axes_.end();
  }
  [[nodiscard]] std::uint32_t repeated() const noexcept;
  [[nodiscard]] any_tensor with_row_axes(const any_tensor& t) const;
  [[nodiscard]] any_tensor without_row_axes(const any_tensor& t) const;
  void add_output(nb::handle out, std::optional<dtype> type, const ew::output_kind& kind,
                  bool keepdims);

  const device_ref& device_;
  std::string name_;
  function what_;
  std::vector<any_tensor> inputs_;
  std::vector<any_tensor> outputs_;
  std::vector<nb::object> answers_;
  std::vector<std::int64_t> extents_;
  std::vector<std::int64_t> row_axes_;
  failed_operand failed_;
};

// Numbers become constants of the function, and no inputs.
void call::take_inputs(const function& f, const nb::tuple& inputs) {
  const std::size_t count = nb::len(inputs);
  if (count != static_cast<std::size_t>(f.inputs())) {
    refuse(name_ + ": the function takes " + std::to_string(f.inputs()) + " inputs; " +
           std::to_string(count) + " are given");
  }
  std::vector<std::optional<result_value>> numbers;
  for (nb::handle one : inputs) {
    if (const nb::handle tensor = operand_of(one, "an input", failed_); tensor.is_valid()) {
      inputs_.push_back(nb::inst_ptr<py_tensor>(tensor)->view);
      numbers.emplace_back();
      continue;
    }
    numbers.push_back(number_from(one));
    if (numbers.back()) continue;
    std::string message = name_ + ": an input must be a troupe.Tensor or a number; it is a " +
                          shown_text(one.type().attr("__name__"));
    if (nb::hasattr(one, "shape")) {
      message += ", which the device does not have: copy it there with device.tensor(array)";
    }
    refuse(message);
  }
  if (inputs_.size() == count) return;
  what_ = with_failures([&] {
    return function::of(static_cast<int>(inputs_.size()), [&](std::span<const value> x) {
      std::vector<result_value> all;
      std::size_t next = 0;
      for (const auto& number : numbers)
        all.push_back(number ? *number : result_value(x[next++]));
      return f(all);
    });
  });
}

// The request refuses shapes that cannot be broadcast.
void call::broadcast(const any_tensor& t) {
  const auto rank = static_cast<std::size_t>(t.rank());
  if (rank > extents_.size()) extents_.insert(extents_.begin(), rank - extents_.size(), 1);
  for (std::size_t d = 0; d < rank; ++d) {
    std::int64_t& extent = extents_[extents_.size() - rank + d];
    if (extent == 1) extent = t.extent(static_cast<int>(d));
  }
}

std::uint32_t call::repeated() const noexcept {
  std::uint32_t made = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto missing = static_cast<std::int64_t>(extents_.size()) - inputs_[i].rank();
    const bool one = std::ranges::all_of(row_axes_, [&](std::int64_t d) {
      return d < missing || inputs_[i].extent(static_cast<int>(d - missing)) == 1;
    });
    if (one) made |= 1U << i;
  }
  return made;
}

any_tensor call::with_row_axes(const any_tensor& t) const {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  int next = 0;
  for (std::size_t d = 0; d < extents_.size(); ++d) {
    const bool is_row = is_row_axis(static_cast<std::int64_t>(d));
    extents.push_back(is_row ? 1 : t.extent(next));
    strides.push_back(is_row ? 1 : t.stride(next));
    if (!is_row) ++next;
  }
  return value_of(t.as_strided(shape(std::span(extents)), strides));
}

any_tensor call::without_row_axes(const any_tensor& t) const {
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  for (int d = 0; d < t.rank(); ++d) {
    if (is_row_axis(d)) continue;
    extents.push_back(t.extent(d));
    strides.push_back(t.stride(d));
  }
  return value_of(t.as_strided(shape(std::span(extents)), strides));
}

void call::add_output(nb::handle out, std::optional<dtype> type, const ew::output_kind& kind,
                      bool keepdims) {
  const bool reduces = kind.same_for_row && !row_axes_.empty();
  if (!out.is_none()) {
    const nb::handle tensor = tensor_of(out, "out");
    if (!tensor.is_valid()) {
      refuse(name_ +
             ": out must be a troupe.Tensor, or a tuple with one for each output; it is a " +
             shown_text(out.type().attr("__name__")));
    }
    const any_tensor& view = nb::inst_ptr<py_tensor>(tensor)->view;
    const bool removed =
        reduces && !keepdims &&
        static_cast<std::size_t>(view.rank()) + row_axes_.size() == extents_.size();
    outputs_.push_back(removed ? with_row_axes(view) : view);
    answers_.push_back(nb::borrow(tensor));
    return;
  }
  std::vector<std::int64_t> extents = extents_;
  if (reduces) {
    for (const std::int64_t d : row_axes_)
      extents[static_cast<std::size_t>(d)] = 1;
  }
  outputs_.push_back(
      value_of(device_->device.allocate(type.value_or(kind.type), shape(std::span(extents)))));
  const any_tensor& view = outputs_.back();
  answers_.push_back(
      nb::cast(py_tensor{reduces && !keepdims ? without_row_axes(view) : view, device_}));
}

void call::set_outputs(nb::handle out, nb::handle types, bool keepdims) {
  std::vector<dtype> of_inputs;
  of_inputs.reserve(inputs_.size());
  for (const any_tensor& one : inputs_)
    of_inputs.push_back(one.type());
  const auto kinds = value_of(what_.outputs_for(of_inputs, repeated()));
  const auto is_list = [](nb::handle one) {
    return PyTuple_Check(one.ptr()) || PyList_Check(one.ptr());
  };
  const auto count_of = [&](nb::handle list, const char* which) {
    if (nb::len(list) == kinds.size()) return;
    refuse(name_ + ": the function has " + std::to_string(kinds.size()) + " outputs; " + which +
           " has " + std::to_string(nb::len(list)));
  };
  if (is_list(out)) {
    count_of(out, "out");
  } else if (!out.is_none() && kinds.size() != 1) {
    refuse(name_ + ": the function has " + std::to_string(kinds.size()) +
           " outputs: out must be a tuple of as many tensors");
  }
  if (is_list(types)) count_of(types, "dtype");
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const nb::object one = is_list(out) ? nb::object(out[i]) : nb::borrow(out);
    const nb::object type = is_list(types) ? nb::object(types[i]) : nb::borrow(types);
    add_output(one, type.is_none() ? std::nullopt : std::optional(dtype_from(type)), kinds[i],
               keepdims);
  }
}

std::vector<std::int64_t> axes_from(nb::handle axis) {
  if (const auto one = integer_from(axis)) return {*one};
  return integers_given("axis", axis);
}

ew::reduction reduction_from(nb::handle name) {
  const argument_setter& setter = setter_for(request_type_of<ew::reduce>());
  any_request request(request_type_of<ew::reduce>());
  const nb::object op = nb::steal(PyUnicode_InternFromString("op"));
  failed_operand none;
  setter.set(request, *setter.find(op.ptr()), name, none);
  return static_cast<const ew::reduce*>(request.data())->op;
}

function identity(std::size_t inputs) {
  return with_failures([&] {
    return function::of(static_cast<int>(inputs), [](std::span<const value> x) {
      return std::vector<result_value>(x.begin(), x.end());
    });
  });
}

template <class R>
nb::object send(const device_ref& device, call& made, R wanted, const request_options& options) {
  static const argument_setter* setter = nullptr;  // under the GIL
  if (setter == nullptr) setter = &setter_for(request_type_of<R>());
  any_request request(request_type_of<R>());
  auto& r = *static_cast<R*>(request.data());
  r = std::move(wanted);
  r.inputs = made.inputs();
  r.outputs = made.outputs();
  if constexpr (requires { r.what; }) r.what = made.what();
  if (made.has_failed_operand())
    return not_sent(request, made.take_failed(), {.all = made.answer(), .of = setter});
  const library_actor actor = device->device.library("elementwise");
  sent_request sent = python::send(*device, actor, std::move(request), options);
  py_future coming(std::make_shared<pending_future<any_reply>>(std::move(sent.answer)),
                   {.all = made.answer(), .of = setter}, std::move(sent.handle));
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

}  // namespace

void add_elementwise_requests(nb::module_& m) {
  m.def(
      "_map",
      [](nb::handle device, const function& f, const nb::tuple& inputs, nb::handle out,
         nb::handle types, const nb::dict& options) {
        const device_ref& on = handle_of(device);
        call made(on, ew::map::name, f, inputs);
        made.set_outputs(out, types, true);
        return send(on, made, ew::map{}, options_from(ew::map::name, options));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
  m.def(
      "_rows",
      [](nb::handle device, const function& f, const nb::tuple& inputs, nb::handle axis,
         bool keepdims, nb::handle out, nb::handle types, const nb::dict& options) {
        const device_ref& on = handle_of(device);
        ew::rows wanted{.axes = axes_from(axis)};
        call made(on, ew::rows::name, f, inputs);
        made.set_axes(wanted.axes);
        made.set_outputs(out, types, keepdims);
        return send(on, made, std::move(wanted), options_from(ew::rows::name, options));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(),
      nb::arg());
  m.def(
      "_reduce",
      [](nb::handle device, nb::handle op, const nb::tuple& inputs, const function* before,
         const function* after, nb::handle axis, bool keepdims, nb::handle out, nb::handle types,
         const nb::dict& options) {
        const device_ref& on = handle_of(device);
        const std::size_t count = nb::len(inputs);
        call made(on, ew::reduce::name, before != nullptr ? *before : identity(count), inputs);
        ew::reduce wanted{.inputs = made.inputs(), .op = reduction_from(op)};
        // Tensors that no function takes are reduced as they are, complex ones too.
        if (before != nullptr || wanted.inputs.size() != count) wanted.before = made.what();
        if (after != nullptr) wanted.after = *after;
        if (!axis.is_none()) {
          wanted.axes = axes_from(axis);
          if (wanted.axes.empty()) refuse("elementwise.reduce: axis is empty; None means all");
        }
        const ew::rows as_rows = value_of(ew::rows_of(wanted));
        made.set_function(as_rows.what);
        made.set_axes(as_rows.axes);
        made.set_outputs(out, types, keepdims);
        return send(on, made, std::move(wanted), options_from(ew::reduce::name, options));
      },
      nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(),
      nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg());
}

}  // namespace troupe::python
