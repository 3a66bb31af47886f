#pragma once

#include "answer.hpp"
#include "sending/sending.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::python {

namespace nb = nanobind;

class argument_setter;

/// The tensors that a request writes: one, a tuple of them, or null. They are there as soon as the
/// request is sent, so they can be operands of the next one.
struct written_tensors {
  nb::object all{};
  const argument_setter* of = nullptr;  ///< knows their names; null if they have none
  std::uint64_t which = 0;              ///< a bit for each of its results that is among them
};

/// The request that writes an operand has failed, which keeps the reader from being sent.
struct failed_operand {
  std::unique_ptr<error> why;
};

/// The `Future` of Python: a coming value, for any number of threads and tasks. With the GIL.
class py_future {
 public:
  /// `written`: the answer of a request without a reply.
  py_future(std::shared_ptr<pending_answer> pending, written_tensors written, sent_handle sent = {})
      : pending_(std::move(pending)), written_(std::move(written)), sent_(std::move(sent)) {}
  /// `value`: the answer of what has none itself.
  template <class T>
  explicit py_future(future<T> f, nb::object value = nb::none())
      : pending_(std::make_shared<pending_future<T>>(std::move(f))), value_(std::move(value)) {}
  /// A part of what another future writes: a tensor, or a view of it.
  py_future(nb::object whole, nb::object part)
      : pending_(nb::inst_ptr<py_future>(whole)->pending_),
        looked_at_(true),  // the whole says what there is to be said
        written_{.all = std::move(part)},
        whole_(std::move(whole)) {}
  /// Warns of a failure that was not looked at.
  ~py_future();
  py_future(py_future&& other) noexcept
      : pending_(std::move(other.pending_)),
        taking_(other.taking_),
        looked_at_(std::exchange(other.looked_at_, true)),
        value_(std::move(other.value_)),
        written_(std::move(other.written_)),
        whole_(std::move(other.whole_)),
        failure_(std::move(other.failure_)),
        sent_(std::move(other.sent_)),
        kept_(std::move(other.kept_)) {}

  /// Keeps `source` until the answer has come, whatever becomes of this object.
  void keep(nb::object source) { kept_ = std::move(source); }

  [[nodiscard]] bool done();
  /// Blocks, without the GIL. Throws the failure, or TimeoutError.
  [[nodiscard]] nb::object result(std::optional<double> timeout);
  [[nodiscard]] nb::object exception(std::optional<double> timeout);
  [[nodiscard]] bool cancelled();
  /// For `repr`: its request and its state.
  [[nodiscard]] std::string shown();
  /// Has the request not run. False if it had begun, or there is none.
  bool cancel();
  /// The same without waiting for the outcome.
  void withdraw();
  /// Nothing is to be said of its failure.
  void look() noexcept;
  /// The value. Throws the failure. Precondition: done.
  [[nodiscard]] nb::object value();

  /// Throws a failure that was found before anything was sent, which the caller's line is to show.
  /// Precondition: done.
  void raise_refusal();

  /// The request in the graph that it was recorded in, if it was.
  [[nodiscard]] reply_in_graph<any_reply> recorded() const noexcept { return sent_.recorded; }
  [[nodiscard]] pending_answer& pending() const noexcept { return *pending_; }

  /// The tensor that it stands for, which it keeps. Throws TypeError if it has none, or no single
  /// one. `name` is for messages.
  [[nodiscard]] nb::handle tensor(std::string_view name) const;
  /// It is the operand of a request that reads it, whose failure tells of its own from now on.
  void is_read(std::string_view name, failed_operand& failed);
  [[nodiscard]] nb::object written() const {
    return written_.all.is_valid() ? written_.all : nb::none();
  }
  /// The names of what it stands for, in the order of its result.
  [[nodiscard]] nb::tuple names() const;

 private:
  void wait(std::optional<double> timeout);
  [[nodiscard]] bool part_done();

  std::shared_ptr<pending_answer> pending_;  // null once the answer is taken
  bool taking_ = false;
  bool looked_at_ = false;   // nothing is to be said of its failure
  bool is_operand_ = false;  // of a request, whose failure tells of this one
  nb::object value_;         // null if the written tensors are the answer
  written_tensors written_;
  nb::object whole_;  // the future of which this is a part
  std::optional<error> failure_;
  sent_handle sent_;
  nb::object kept_;
};

/// The tensor object that an argument is, or stands for if it is a future; null for anything else.
[[nodiscard]] nb::handle tensor_of(nb::handle value, std::string_view name);
/// The same for one that is read.
[[nodiscard]] nb::handle operand_of(nb::handle value, std::string_view name,
                                    failed_operand& failed);
/// The same where only a tensor will do: its view.
[[nodiscard]] const any_tensor& tensor_given(nb::handle value, std::string_view name,
                                             failed_operand& failed);

/// The future of a request that is not sent. It fails as if it had been sent, and has the tensors
/// that it would have written: callers see the same, whenever the operand failed.
[[nodiscard]] nb::object not_sent(std::string_view request, failed_operand failed,
                                  written_tensors written = {});
/// The same once its arguments are checked, which are refused at the call in any case.
[[nodiscard]] nb::object not_sent(const any_request& request, failed_operand failed,
                                  written_tensors written);

/// Releases objects kept for answers without waiters. Now and then, with the GIL.
void release_kept();

}  // namespace troupe::python
