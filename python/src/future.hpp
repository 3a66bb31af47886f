#pragma once

#include "answer.hpp"
#include "sending/sending.hpp"

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

/// The `Future` of Python: a coming value, for any number of threads and tasks. With the GIL.
class py_future {
 public:
  /// `written`: the answer of a request without a reply, the tensor or tensors that it writes.
  py_future(std::shared_ptr<pending_answer> pending, nb::object written, sent_handle sent = {})
      : pending_(std::move(pending)), value_(std::move(written)), sent_(std::move(sent)) {}
  template <class T>
  explicit py_future(future<T> f, nb::object written = nb::none())
      : py_future(std::make_shared<pending_future<T>>(std::move(f)), std::move(written)) {}
  /// Warns of a failure that was not looked at.
  ~py_future();
  py_future(py_future&& other) noexcept
      : pending_(std::move(other.pending_)),
        taking_(other.taking_),
        looked_at_(std::exchange(other.looked_at_, true)),
        value_(std::move(other.value_)),
        failure_(std::move(other.failure_)),
        sent_(std::move(other.sent_)),
        kept_(std::move(other.kept_)) {}

  /// Keeps `source` until the answer has come, whatever becomes of this object.
  void keep(nb::object source) { kept_ = std::move(source); }

  [[nodiscard]] bool done();
  /// Blocks, without the GIL. Throws the failure, or TimeoutError.
  [[nodiscard]] nb::object result(std::optional<double> timeout);
  [[nodiscard]] nb::object exception(std::optional<double> timeout);
  /// Has the request not run. False if it had begun, or there is none.
  bool cancel();
  /// The same without waiting for the outcome.
  void withdraw();
  /// Nothing is to be said of its failure.
  void look() noexcept { looked_at_ = true; }
  /// The value. Throws the failure. Precondition: done.
  [[nodiscard]] nb::object value();

  /// Throws a failure that was found before anything was sent, which the caller's line is to show.
  /// Precondition: done.
  void raise_refusal();

  [[nodiscard]] pending_answer& pending() const noexcept { return *pending_; }

 private:
  void wait(std::optional<double> timeout);

  std::shared_ptr<pending_answer> pending_;  // null once the answer is taken
  bool taking_ = false;
  bool looked_at_ = false;  // nothing is to be said of its failure
  nb::object value_;
  std::optional<error> failure_;
  sent_handle sent_;
  nb::object kept_;
};

/// Releases objects kept for answers without waiters. Now and then, with the GIL.
void release_kept();

}  // namespace troupe::python
