#include "future.hpp"

#include "arguments/arguments.hpp"
#include "binding.hpp"
#include "event_loop.hpp"
#include "operations/python_operation.hpp"
#include "reply.hpp"
#include "sending/unretrieved.hpp"
#include "tensor.hpp"

#include <troupe/device/unretrieved.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <string>
#include <string_view>
#include <thread>

namespace troupe::python {
namespace {

using clock = std::chrono::steady_clock;

// How long a thread waits before it looks whether a signal (Ctrl-C) has come.
constexpr std::chrono::milliseconds between_signals{50};

std::atomic<listener*> kept_for_nobody{nullptr};

// For a future that was dropped before it was ready: reports its failure, and holds the source of a
// copy. The thread that completes the copy does not wait for the GIL: the next thread that holds it
// releases the source.
class kept_listener final : public listener {
 public:
  // The answer `of` lives during the call.
  kept_listener(const pending_answer& of, bool looked_at, nb::object source)
      : of_(of), looked_at_(looked_at), source_(std::move(source)) {}
  void hear(std::unique_ptr<listener> self) noexcept override {
    if (const error* const why = of_.failure(); why != nullptr && !looked_at_) {
      note_unretrieved(*why);
    }
    listener* const one = self.release();
    one->next = kept_for_nobody.load(std::memory_order_relaxed);
    while (!kept_for_nobody.compare_exchange_weak(one->next, one, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
    }
  }

 private:
  const pending_answer& of_;
  const bool looked_at_;
  carried_object source_;
};

// Futures that were dropped as operands of other requests. Their failures are told by those, so
// nothing may hear of them as dropped. Each new one has two others looked at, so that there are no
// more than requests in flight. With the GIL.
void keep_unheard(std::shared_ptr<pending_answer> one) {
  static auto& all = *new std::deque<std::shared_ptr<pending_answer>>;
  for (int i = 0; i < 2 && !all.empty(); ++i) {
    std::shared_ptr<pending_answer> first = std::move(all.front());
    all.pop_front();
    if (!first->ready()) all.push_back(std::move(first));
  }
  all.push_back(std::move(one));
}

// The value, where an answer has one; else `otherwise`, which also says whose tensor is mapped.
nb::object object_of(answer a, nb::object otherwise) {
  if (auto* const reply = std::get_if<any_reply>(&a)) {
    if (reply->data() == nullptr) return otherwise;
    if (python_operation_of(reply->type()) == nullptr) return object_of_reply(*reply);
    // A Python function need not have a result.
    auto value = value_in(*reply);
    return value ? *std::move(value) : std::move(otherwise);
  }
  if (auto* const mapped = std::get_if<mapped_tensor>(&a)) {
    return nb::cast(py_mapped_tensor(std::move(*mapped), *nb::inst_ptr<py_tensor>(otherwise)));
  }
  if (auto* const object = std::get_if<carried_object>(&a)) return object->take();
  if (auto* const replies = std::get_if<graph_replies>(&a)) {
    return object_of_replies(std::move(*replies));
  }
  return otherwise;
}

// A future of the running loop that is done once the answer has come. Precondition: not done.
nb::object future_of_loop(const py_future& of) {
  const std::shared_ptr<event_loop> loop = event_loop::running();
  nb::object waiting = loop->make_future();
  of.pending().listen(std::make_unique<loop_listener>(loop, waiting));
  return waiting;
}

// The iterator of `await`: yields a future of the loop once, and ends with the value.
class awaiting {
 public:
  awaiting(nb::object owner, py_future& of) : owner_(std::move(owner)), of_(&of) {}

  // Null: it has ended, by StopIteration or the failure.
  PyObject* next() {
    if (of_->done()) {
      stop_with(of_->value());
      return nullptr;
    }
    nb::object waiting = future_of_loop(*of_);
    // The future's own `__await__` would set this for the task.
    waiting.attr("_asyncio_future_blocking") = true;
    return waiting.release().ptr();
  }
  void cancelled() { of_->withdraw(); }

 private:
  static void stop_with(const nb::object& value) {
    const nb::object stop = nb::steal(PyObject_CallOneArg(PyExc_StopIteration, value.ptr()));
    PyErr_SetObject(PyExc_StopIteration, stop.ptr());
  }

  nb::object owner_;
  py_future* of_;
};

// Futures in the order in which they become ready, for `as_completed`.
class arrivals {
 public:
  void add(nb::object future) {
    py_future& of = *nb::inst_ptr<py_future>(future);
    if (of.done()) {
      queue_->put(std::make_unique<arrival>(queue_, std::move(future)));
    } else {
      of.pending().listen(std::make_unique<arrival>(queue_, std::move(future)));
    }
  }
  // None once `timeout` has passed.
  nb::object next(std::optional<double> timeout) {
    const clock::time_point end =
        timeout ? clock::now() + *duration_of(timeout) : clock::time_point::max();
    for (;;) {
      const clock::time_point now = clock::now();
      const auto until = std::min(end, now + between_signals);
      if (auto one = without_gil([&] { return queue_->take(until); })) {
        return static_cast<arrival&>(*one).future();
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (now >= end) return nb::none();
    }
  }

 private:
  struct ready_queue {
    void put(std::unique_ptr<listener> one) {
      {
        const std::lock_guard lock(mutex);
        ready.push_back(std::move(one));
      }
      changed.notify_one();
    }
    std::unique_ptr<listener> take(clock::time_point until) {
      std::unique_lock lock(mutex);
      if (!changed.wait_until(lock, until, [&] { return !ready.empty(); })) return nullptr;
      auto one = std::move(ready.front());
      ready.pop_front();
      return one;
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::unique_ptr<listener>> ready;
  };
  class arrival final : public listener {
   public:
    arrival(std::shared_ptr<ready_queue> to, nb::object future) noexcept
        : to_(std::move(to)), future_(std::move(future)) {}
    void hear(std::unique_ptr<listener> self) noexcept override {
      const std::shared_ptr<ready_queue> to = to_;
      to->put(std::move(self));
    }
    [[nodiscard]] nb::object future() { return future_.take(); }

   private:
    std::shared_ptr<ready_queue> to_;
    carried_object future_;
  };

  std::shared_ptr<ready_queue> queue_ = std::make_shared<ready_queue>();
};

PyObject* await_slot(PyObject* self) {
  return guarded([&] {
    py_future& of = *nb::inst_ptr<py_future>(self);
    return nb::cast(awaiting(nb::borrow(self), of)).release().ptr();
  });
}
PyObject* next_slot(PyObject* self) {
  return guarded([&] { return nb::inst_ptr<awaiting>(self)->next(); });
}

PyType_Slot future_slots[] = {{Py_am_await, reinterpret_cast<void*>(&await_slot)}, {0, nullptr}};
PyType_Slot awaiting_slots[] = {{Py_tp_iter, reinterpret_cast<void*>(&PyObject_SelfIter)},
                                {Py_tp_iternext, reinterpret_cast<void*>(&next_slot)},
                                {0, nullptr}};

}  // namespace

void release_kept() {
  listener* one = kept_for_nobody.exchange(nullptr, std::memory_order_acquire);
  while (one != nullptr)
    delete std::exchange(one, one->next);
}

py_future::~py_future() {
  if (failure_ && !looked_at_) warn_unretrieved(*failure_);
  if (!pending_ || whole_.is_valid()) return;
  if (pending_->ready()) {
    const error* const why = pending_->failure();
    if (why != nullptr && !looked_at_) warn_unretrieved(*why);
  } else if (is_operand_ && !kept_.is_valid() && !pending_->attached()) {
    keep_unheard(std::move(pending_));
  } else if (kept_.is_valid() || pending_->attached()) {
    pending_->listen(std::make_unique<kept_listener>(*pending_, looked_at_, std::move(kept_)));
  }
}

bool py_future::part_done() {
  py_future& all = *nb::inst_ptr<py_future>(whole_);
  if (!all.done()) return false;
  failure_ = all.failure_;
  pending_.reset();
  return true;
}

bool py_future::done() {
  if (whole_.is_valid()) return part_done();
  if (!pending_) return true;
  // Making Python objects may let other threads in.
  if (taking_ || !pending_->ready()) return false;
  taking_ = true;
  answer a = pending_->take();
  const auto* const reply = std::get_if<any_reply>(&a);
  std::string request = reply != nullptr && reply->data() != nullptr
                            ? std::string(reply->type().name)
                            : std::string();
  if (auto* const why = std::get_if<error>(&a)) {
    failure_ = std::move(*why);
    value_.reset();
  } else {
    try {
      value_ = object_of(std::move(a), std::move(value_));
    } catch (nb::python_error& raised) {
      // As where this program lacks the module of a class that an operation has returned.
      raised.restore();
      failure_ = take_python_error();
      constexpr std::string_view what = "its result cannot be unpickled here: ";
      failure_->message.insert(0, what);
      if (failure_->vendor_code != 0) failure_->vendor_code += std::ssize(what);
      failure_->request = std::move(request);
      value_.reset();
    }
  }
  pending_.reset();
  kept_.reset();
  return true;
}

void py_future::wait(std::optional<double> timeout) {
  const clock::time_point end =
      timeout ? clock::now() + *duration_of(timeout) : clock::time_point::max();
  while (!done()) {
    // Another thread that waits for the same answer may take it.
    const std::shared_ptr<pending_answer> pending = pending_;
    const clock::time_point now = clock::now();
    if (now >= end) {
      PyErr_Format(PyExc_TimeoutError, "the future is not ready after %R s; the request goes on",
                   nb::cast(*timeout).ptr());
      throw nb::python_error();
    }
    if (taking_ || (whole_.is_valid() && nb::inst_ptr<py_future>(whole_)->taking_)) {
      without_gil([] { std::this_thread::yield(); });
    } else {
      (void)pending->wait_until(std::min(end, now + between_signals));
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

void py_future::look() noexcept {
  looked_at_ = true;
  if (whole_.is_valid()) nb::inst_ptr<py_future>(whole_)->look();
}

nb::object py_future::value() {
  look();
  if (failure_) raise(*failure_);
  return value_.is_valid() ? value_ : written();
}

void py_future::raise_refusal() {
  if (!failure_ || failure_->code >= errc::unsupported) return;
  looked_at_ = true;
  raise(*failure_);
}

bool py_future::cancelled() { return done() && failure_ && failure_->code == errc::cancelled; }

std::string py_future::shown() {
  std::string text = "<troupe.Future";
  const py_future& all = whole_.is_valid() ? *nb::inst_ptr<py_future>(whole_) : *this;
  if (all.written_.of != nullptr) text += " of " + std::string(all.written_.of->request());
  if (!done()) return text + ", pending>";
  if (!failure_) return text + ", done>";
  return text + (cancelled() ? ", " : ", failed: ") + std::string(to_string(failure_->code)) + ">";
}

nb::object py_future::result(std::optional<double> timeout) {
  wait(timeout);
  return value();
}

nb::object py_future::exception(std::optional<double> timeout) {
  wait(timeout);
  look();
  return failure_ ? exception_for(*failure_) : nb::none();
}

bool py_future::cancel() {
  look();
  if (whole_.is_valid()) return nb::inst_ptr<py_future>(whole_)->cancel();
  return !done() && without_gil([&] { return sent_.cancel_and_wait(); });
}

void py_future::withdraw() {
  look();
  if (whole_.is_valid()) return nb::inst_ptr<py_future>(whole_)->withdraw();
  if (!done()) without_gil([&] { sent_.cancel(); });
}

void add_future(nb::module_& m) {
  on_unretrieved_failure(&note_unretrieved);
  nb::class_<py_future>(
      m, "Future", nb::type_slots(future_slots),
      "A future answer, which can be awaited in asyncio, or waited for.\n\n"
      "Any number of threads and tasks may wait for the same one. Dropping it neither\n"
      "waits for the request nor cancels it.")
      .def(
          "result", &py_future::result, nb::arg("timeout") = nb::none(),
          "Waits for the answer and returns it. Other threads run meanwhile; Ctrl-C interrupts.\n\n"
          "timeout is in seconds. Raises the request's troupe.Failure, or TimeoutError.")
      .def("exception", &py_future::exception, nb::arg("timeout") = nb::none(),
           "Waits, and returns the request's failure instead of raising it; None if it succeeded.")
      .def("done", &py_future::done, "True once there is an answer or a failure.")
      .def("cancelled", &py_future::cancelled, "True once cancel() has kept it from running.")
      .def("__repr__", &py_future::shown)
      .def("_in_loop", [](const py_future& f) { return future_of_loop(f); })
      .def("_look", &py_future::look)
      .def_prop_ro("_written", [](const py_future& f) { return f.written(); })
      .def_prop_ro("_names", &py_future::names)
      .def("_part",
           [](nb::handle self, nb::object part) {
             return nb::cast(py_future(nb::borrow(self), std::move(part)));
           })
      .def("cancel", &py_future::cancel,
           "Cancels a request that has not begun: it fails with troupe.Cancelled. Returns False "
           "for\n"
           "one that has begun or ended, which is not affected, and for what is no request. One\n"
           "that is in a GPU's stream has begun.");
  nb::class_<awaiting>(m, "_Awaiting", nb::type_slots(awaiting_slots))
      .def("send",
           [](nb::handle self, nb::handle) {
             nb::object next = nb::steal(next_slot(self.ptr()));
             if (!next.is_valid()) throw nb::python_error();
             return next;
           })
      .def(
          "throw",
          [](awaiting& self, nb::object type, nb::object value, nb::object trace) -> nb::object {
            self.cancelled();
            if (PyExceptionInstance_Check(type.ptr())) {
              PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(type.ptr())), type.ptr());
            } else {
              PyErr_SetObject(type.ptr(), value.ptr());
            }
            (void)trace;
            throw nb::python_error();
          },
          nb::arg("type"), nb::arg("value") = nb::none(), nb::arg("traceback") = nb::none())
      .def("close", [](awaiting&) {});
  nb::class_<arrivals>(m, "_Arrivals")
      .def(nb::init<>())
      .def("add", &arrivals::add)
      .def("next", &arrivals::next, nb::arg("timeout").none());
}

}  // namespace troupe::python
