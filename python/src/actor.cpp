// Actors written in Python, in the same tree as all others: the runtime supervises, times and
// delivers; Python has the handlers. troupe/actors.py defines handlers and how they run.
#include "answer.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "future.hpp"

#include <troupe/core/actor.hpp>
#include <troupe/core/task.hpp>

#include <memory>
#include <string>

namespace troupe::python {
namespace {

/// A call of a handler: its name and arguments, as a tuple.
struct call {
  std::shared_ptr<carried_object> what;  ///< shared by the ticks of a timer
};

error error_from_exception(nb::handle exception) {
  const nb::object fields =
      nb::module_::import_("troupe.actors").attr("error_fields")(nb::borrow(exception));
  const std::string code = shown_text(fields[0]);
  error made{.code = errc::handler_failed,
             .message = shown_text(fields[1]),
             .code_name = shown_text(fields[2]),
             .vendor_code = nb::cast<std::int64_t>(fields[3])};
  for (int number = 1; number <= static_cast<int>(errc::system_error); ++number) {
    if (to_string(static_cast<errc>(number)) == code) made.code = static_cast<errc>(number);
  }
  // Only of this kind: see `troupe.HandlerFailed`.
  if (made.code != errc::handler_failed) made.code_name.clear();
  return made;
}

// Calls a function of `troupe.actors`. A thread that Python ends within it stops before it unwinds
// what holds Python's objects.
void call_python(const char* function, nb::object a, nb::object b, nb::object c) {
  PyObject* const arguments[] = {a.ptr(), b.ptr(), c.ptr()};
  const nb::object called = nb::module_::import_("troupe.actors").attr(function);
  const nb::object nothing = nb::steal(
      unless_python_ends([&] { return PyObject_Vectorcall(called.ptr(), arguments, 3, nullptr); }));
  if (!nothing.is_valid()) throw nb::python_error();
}

/// Python's place for the outcome of a handler, on any thread.
struct py_reply {
  promise<carried_object> to;
};

/// A Python actor's state. It belongs to the C++ actor, whose incarnation it outlives by the
/// references that Python keeps.
struct py_context {
  class python_actor* actor = nullptr;  ///< null once the incarnation is gone
  std::weak_ptr<system_handle> system;
};

struct behaviour {
  carried_object make;
  std::weak_ptr<system_handle> system;
  troupe::supervision supervision;
};

class python_actor final : public actor {
 public:
  explicit python_actor(std::shared_ptr<behaviour> b) : behaviour_(std::move(b)) {}
  ~python_actor() override {
    if (python_ends()) return;
    with_gil([this] {
      if (context_) context_->actor = nullptr;
    });
  }

  task<carried_object> handle(call c) {
    promise<carried_object> to;
    future<carried_object> outcome = to.get_future();
    with_gil([&] { begin(*c.what, std::move(to)); });
    co_return co_await std::move(outcome);
  }
  void handle(const terminated& one) {
    with_gil([&] {
      guarded([&] {
        call_python("tell_terminated", nb::borrow(instance_.get()),
                    nb::int_(static_cast<std::uint64_t>(one.id)),
                    one.reason ? exception_for(*one.reason) : nb::none());
      });
    });
  }

  // For the context, whose caller holds the GIL.
  using actor::spawn;
  using actor::stop;
  using actor::unwatch;
  using actor::watch;
  [[nodiscard]] actor_ref<python_actor> self() noexcept { return reference(this); }
  timer send_later(std::chrono::nanoseconds delay, bool repeats, call c) {
    return repeats ? every(this, delay, std::move(c)) : after(this, delay, std::move(c));
  }

 protected:
  void pre_start() override {
    with_gil([&] { guarded([&] { construct("pre_start", nb::none()); }); });
  }
  void post_restart(const error& reason) override {
    with_gil([&] { guarded([&] { construct("post_restart", exception_for(reason)); }); });
  }
  void post_stop() noexcept override { leave("post_stop", nullptr); }
  void pre_restart(const error& reason) noexcept override { leave("pre_restart", &reason); }
  [[nodiscard]] troupe::supervision supervise() const override { return behaviour_->supervision; }

 private:
  // A Python exception is a failure of the actor.
  template <class F>
  static void guarded(F&& f) {
    try {
      f();
    } catch (nb::python_error& e) {
      throw failure(error_from_exception(e.value()));
    }
  }
  void construct(const char* hook, nb::object argument) {
    context_ = new py_context{this, behaviour_->system};
    context_object_ = carried_object(nb::cast(context_, nb::rv_policy::take_ownership));
    instance_ = carried_object(behaviour_->make.get()(context_object_.get()));
    call_hook(hook, std::move(argument));
  }
  void call_hook(const char* hook, nb::object argument) {
    call_python("call_hook", nb::borrow(instance_.get()), nb::str(hook), std::move(argument));
  }
  void leave(const char* hook, const error* reason) noexcept {
    if (python_ends()) return;
    with_gil([&] {
      if (!instance_.get().is_valid()) return;
      try {
        call_hook(hook, reason != nullptr ? exception_for(*reason) : nb::none());
      } catch (nb::python_error& e) {
        e.discard_as_unraisable("an actor's hook");
      }
    });
  }
  void begin(carried_object& what, promise<carried_object> to) {
    guarded([&] {
      call_python("deliver", nb::borrow(instance_.get()), nb::borrow(what.get()),
                  nb::cast(py_reply{std::move(to)}));
    });
  }

  std::shared_ptr<behaviour> behaviour_;
  py_context* context_ = nullptr;  // owned by `context_object_`
  carried_object context_object_;
  carried_object instance_;
};

struct py_actor_ref {
  actor_ref<python_actor> to;
};

// Supervision
// ---------------------------------------------------------------------------------------

// A decider has no state, so there is one for each directive.
template <directive D>
directive always(const error&) noexcept {
  return D;
}

troupe::supervision supervision_from(nb::handle options) {
  troupe::supervision s;
  const auto text = [&](const char* name) { return nb::cast<std::string>(options[name]); };
  const std::string strategy_name = text("strategy");
  s.strategy = strategy_name == "one_for_all"    ? strategy::one_for_all
               : strategy_name == "rest_for_one" ? strategy::rest_for_one
                                                 : strategy::one_for_one;
  const std::string decision = text("on_failure");
  s.decider = decision == "resume"     ? &always<directive::resume>
              : decision == "restart"  ? &always<directive::restart>
              : decision == "stop"     ? &always<directive::stop>
              : decision == "escalate" ? &always<directive::escalate>
                                       : &default_decider;
  const auto seconds = [&](const char* name) {
    return *duration_of(given<double>(name, "a number of seconds", options[name]));
  };
  s.budget.restarts = given<std::int32_t>("restarts", "an integer", options["restarts"]);
  s.budget.window = seconds("window");
  s.backoff.initial = seconds("backoff");
  return s;
}

struct spawn_request {
  std::shared_ptr<behaviour> how;
  spawn_options options;
};
spawn_request spawn_request_from(const std::weak_ptr<system_handle>& system, nb::handle make,
                                 nb::handle options) {
  spawn_request made{std::make_shared<behaviour>(), {}};
  made.how->make = carried_object(nb::borrow(make));
  made.how->system = system;
  made.how->supervision = supervision_from(options["supervision"]);
  made.options.name = given<std::string>("name", "a str", options["name"]);
  made.options.mailbox.capacity =
      given<std::int64_t>("capacity", "an integer", options["capacity"]);
  if (given<bool>("own_thread", "True or False", options["own_thread"])) {
    made.options.run_by = dispatcher::pinned;
  }
  return made;
}

python_actor& living(const py_context& c) {
  if (c.actor == nullptr) throw nb::value_error("this incarnation of the actor has ended");
  return *c.actor;
}

}  // namespace

nb::object spawn_at_root(const system_ref& system, nb::handle make, nb::handle options) {
  spawn_request request = spawn_request_from(system, make, options);
  try {
    return nb::cast(py_actor_ref{without_gil([&] {
      return system->system.spawn<python_actor>(std::move(request.options), request.how);
    })});
  } catch (const failure& why) {
    raise(why.error());
  }
}

void add_actor(nb::module_& m) {
  nb::class_<py_reply>(m, "_Reply")
      .def(
          "set",
          [](py_reply& r, nb::object value) {
            carried_object carried(std::move(value));
            without_gil([&] { r.to.set_value(std::move(carried)); });
          },
          nb::arg("value").none())
      .def("fail", [](py_reply& r, nb::handle exception) {
        error why = error_from_exception(exception);
        without_gil([&] { r.to.set_error(std::move(why)); });
      });
  nb::class_<timer>(m, "Timer", "A message that comes later, or again and again.")
      .def(
          "cancel", [](timer& t) { t.cancel(); },
          "No further message comes, unless one is in the mailbox already.");
  nb::class_<py_actor_ref>(m, "_ActorRef")
      .def(
          "ask",
          [](const py_actor_ref& r, nb::handle what, std::optional<double> timeout) {
            call c{std::make_shared<carried_object>(nb::borrow(what))};
            ask_options options;
            if (timeout) options.timeout = *duration_of(timeout);
            return py_future(without_gil([&] {
              return timeout ? r.to.ask(std::move(c), options) : r.to.ask(std::move(c));
            }));
          },
          nb::arg("what"), nb::arg("timeout") = nb::none())
      .def("tell",
           [](const py_actor_ref& r, nb::handle what) {
             call c{std::make_shared<carried_object>(nb::borrow(what))};
             return without_gil([&] { return r.to.tell(std::move(c)); });
           })
      .def("stop",
           [](const py_actor_ref& r, bool after_mailbox) {
             if (after_mailbox) {
               r.to.stop_after_mailbox();
             } else {
               r.to.stop();
             }
           })
      .def("when_terminated",
           [](const py_actor_ref& r) {
             // With the reason, as an exception or None.
             return py_future(r.to.when_terminated().then([](terminated t) {
               return with_gil([&] {
                 return carried_object(t.reason ? exception_for(*t.reason) : nb::none());
               });
             }));
           })
      .def_prop_ro("path", [](const py_actor_ref& r) { return r.to.path(); })
      .def_prop_ro("id",
                   [](const py_actor_ref& r) { return static_cast<std::uint64_t>(r.to.id()); })
      .def_prop_ro("stopped", [](const py_actor_ref& r) { return r.to.stopped(); })
      .def_prop_ro("load", [](const py_actor_ref& r) { return r.to.load(); })
      .def("__eq__", [](const py_actor_ref& a, nb::handle b) {
        return nb::isinstance<py_actor_ref>(b) && nb::inst_ptr<py_actor_ref>(b)->to == a.to;
      });
  nb::class_<py_context>(m, "_Context")
      .def("reference", [](const py_context& c) { return py_actor_ref{living(c).self()}; })
      .def("spawn",
           [](const py_context& c, nb::handle make, nb::handle options) {
             spawn_request request = spawn_request_from(c.system, make, options);
             python_actor& parent = living(c);
             return py_actor_ref{without_gil([&] {
               return parent.spawn<python_actor>(std::move(request.options), request.how);
             })};
           })
      .def("stop", [](const py_context& c) { living(c).stop(); })
      .def("send_later",
           [](const py_context& c, double delay, bool repeats, nb::handle what) {
             return living(c).send_later(*duration_of(delay), repeats,
                                         call{std::make_shared<carried_object>(nb::borrow(what))});
           })
      .def("watch", [](const py_context& c,
                       const py_actor_ref& other) { living(c).watch(c.actor, other.to); })
      .def("unwatch",
           [](const py_context& c, const py_actor_ref& other) { living(c).unwatch(other.to); });
}

}  // namespace troupe::python
