// Futures as operands: their tensors, and failures that they pass on.
#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "future.hpp"
#include "tensor.hpp"

#include <memory>
#include <string>
#include <utility>

namespace troupe::python {

nb::tuple py_future::names() const {
  nb::list all;
  if (written_.of != nullptr) {
    for (const argument_setter::argument& one : written_.of->all()) {
      if (one.result >= 0 && (written_.which >> one.result & 1) != 0)
        all.append(nb::handle(one.name));
    }
  }
  return nb::tuple(all);
}

nb::handle py_future::tensor(std::string_view name) const {
  const nb::object all = written();
  if (nb::isinstance<py_tensor>(all)) return written_.all;
  refuse_given(name,
               PyTuple_Check(all.ptr())
                   ? "a troupe.Tensor; this Future has several, and each is an attribute of it"
                   : "a troupe.Tensor; what this Future answers has to be awaited first",
               nb::find(this));
}

void py_future::is_read(std::string_view name, failed_operand& failed) {
  look();
  is_operand_ = true;
  if (whole_.is_valid()) nb::inst_ptr<py_future>(whole_)->is_operand_ = true;
  if (!done() || !failure_ || failed.why) return;
  auto cause = std::make_shared<error>(*failure_);
  // As for a request that was sent: beside the last failure of a chain only the first is kept.
  const error* const earlier = cause->cause.get();
  if (earlier != nullptr && earlier->code == errc::tainted_buffer && earlier->cause != nullptr) {
    cause->cause = earlier->cause;
  }
  const std::string_view writer = cause->request;
  failed.why =
      std::make_unique<error>(error{.code = errc::tainted_buffer,
                                    .message = std::string(name) + " is tainted: " +
                                               std::string(writer.substr(0, writer.find(' '))) +
                                               " has failed, which was to write it",
                                    .cause = std::move(cause)});
}

nb::handle tensor_of(nb::handle value, std::string_view name) {
  if (nb::isinstance<py_tensor>(value)) return value;
  if (nb::isinstance<py_future>(value)) return nb::inst_ptr<py_future>(value)->tensor(name);
  return {};
}

nb::handle operand_of(nb::handle value, std::string_view name, failed_operand& failed) {
  const nb::handle tensor = tensor_of(value, name);
  if (tensor.ptr() != value.ptr() && tensor.is_valid()) {
    nb::inst_ptr<py_future>(value)->is_read(name, failed);
  }
  return tensor;
}

const any_tensor& tensor_given(nb::handle value, std::string_view name, failed_operand& failed) {
  const nb::handle tensor = operand_of(value, name, failed);
  if (!tensor.is_valid()) refuse_given(name, "a troupe.Tensor", value);
  return nb::inst_ptr<py_tensor>(tensor)->view;
}

nb::object not_sent(std::string_view request, failed_operand failed, written_tensors written) {
  failed.why->request = request;
  auto pending =
      std::make_shared<pending_future<void>>(make_failed_future<void>(*std::move(failed.why)));
  return nb::cast(py_future(std::move(pending), std::move(written)));
}

nb::object not_sent(const any_request& request, failed_operand failed, written_tensors written) {
  value_of(request.type().validate(request.data()));
  return not_sent(request.type().name, std::move(failed), std::move(written));
}

}  // namespace troupe::python
