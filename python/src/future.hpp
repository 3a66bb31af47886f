#pragma once

#include "answer.hpp"

#include <troupe/device/library_actor.hpp>

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// The `Future` of Python: what is to come, for any number of threads and tasks. With the GIL.
class py_future {
 public:
  /// `written`: what a request without a reply answers, the tensor or tensors that it writes.
  py_future(std::shared_ptr<pending_answer> pending, nb::object written, request_handle sent = {})
      : pending_(std::move(pending)), value_(std::move(written)), sent_(std::move(sent)) {}
  template <class T>
  explicit py_future(future<T> f, nb::object written = nb::none())
      : py_future(std::make_shared<pending_future<T>>(std::move(f)), std::move(written)) {}
  ~py_future();
  py_future(py_future&&) = default;

  /// Keeps `source` until the answer has come, whatever becomes of this object.
  void keep(nb::object source) { kept_ = std::move(source); }

  [[nodiscard]] bool done();
  /// Blocks, without the GIL. Throws the failure, or TimeoutError.
  [[nodiscard]] nb::object result(std::optional<double> timeout);
  [[nodiscard]] nb::object exception(std::optional<double> timeout);
  /// Asks for the request not to be run. False once there is an answer.
  bool cancel();
  /// The value. Throws the failure. Precondition: done.
  [[nodiscard]] nb::object value() const;

  /// Throws a failure that was found before anything was sent, which the caller's line is to show.
  /// Precondition: done.
  void raise_refusal() const;

  [[nodiscard]] pending_answer& pending() const noexcept { return *pending_; }

 private:
  void wait(std::optional<double> timeout);

  std::shared_ptr<pending_answer> pending_;  // null once the answer is taken
  bool taking_ = false;
  nb::object value_;
  std::optional<error> failure_;
  request_handle sent_;
  nb::object kept_;
};

/// Lets go of what was kept for answers that nobody waits for. Now and then, with the GIL.
void release_kept();

}  // namespace troupe::python
