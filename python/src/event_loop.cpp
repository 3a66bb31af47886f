#include "event_loop.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace troupe::python {
namespace {

// Never destroyed: the interpreter may be gone by then.
struct names {
  PyObject* done = PyUnicode_InternFromString("done");
  PyObject* set_result = PyUnicode_InternFromString("set_result");
};
const names& interned() {
  static const names& all = *new names;
  return all;
}

nb::object get_running_loop() {
  static PyObject* const function =
      nb::module_::import_("asyncio").attr("get_running_loop").inc_ref().ptr();
  nb::object loop = nb::steal(PyObject_CallNoArgs(function));
  if (!loop.is_valid()) throw nb::python_error();
  return loop;
}

// One of each loop, for as long as the loop lives.
nb::object& known_loops() {
  static auto& map = *new nb::object(nb::module_::import_("weakref").attr("WeakKeyDictionary")());
  return map;
}

}  // namespace

std::shared_ptr<event_loop> event_loop::running() {
  // The loop asked for last, by address: most programs have one. The weak reference tells a new
  // loop at the address of one that is gone.
  static auto& last = *new std::weak_ptr<event_loop>;
  const nb::object loop = get_running_loop();
  if (auto same = last.lock()) {
    if (PyWeakref_GetObject(same->loop_.get().ptr()) == loop.ptr()) return same;
  }
  const nb::object known = known_loops().attr("get")(loop);
  std::shared_ptr<event_loop> found;
  if (known.is_none()) {
    found = std::make_shared<event_loop>(loop);
    auto* const kept = new std::shared_ptr<event_loop>(found);
    known_loops()[loop] = nb::capsule(
        kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<event_loop>*>(p); });
    loop.attr("add_reader")(found->descriptor_, nb::cpp_function([weak = std::weak_ptr(found)] {
                              if (const auto self = weak.lock()) self->deliver();
                            }));
  } else {
    found = *static_cast<std::shared_ptr<event_loop>*>(nb::cast<nb::capsule>(known).data());
  }
  last = found;
  return found;
}

event_loop::event_loop(nb::object loop)
    : loop_(nb::steal(PyWeakref_NewRef(loop.ptr(), nullptr))),
      create_future_(nb::object(loop.type().attr("create_future"))),
      descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

event_loop::~event_loop() {
  listener* one = heard_.exchange(nullptr, std::memory_order_acquire);
  while (one != nullptr)
    delete std::exchange(one, one->next);
  ::close(descriptor_);
}

nb::object event_loop::make_future() const {
  nb::object made = nb::steal(
      PyObject_CallOneArg(create_future_.get().ptr(), PyWeakref_GetObject(loop_.get().ptr())));
  if (!made.is_valid()) throw nb::python_error();
  return made;
}

void event_loop::push(std::unique_ptr<listener> heard) noexcept {
  listener* const one = heard.release();
  listener* before = heard_.load(std::memory_order_relaxed);
  do {
    one->next = before;
  } while (!heard_.compare_exchange_weak(before, one, std::memory_order_release,
                                         std::memory_order_relaxed));
  if (before != nullptr) return;
  const std::uint64_t count = 1;
  (void)!::write(descriptor_, &count, sizeof(count));
}

void event_loop::deliver() {
  std::uint64_t count = 0;
  (void)!::read(descriptor_, &count, sizeof(count));
  listener* newest = heard_.exchange(nullptr, std::memory_order_acquire);
  listener* in_order = nullptr;
  while (newest != nullptr) {
    listener* const next = newest->next;
    newest->next = in_order;
    in_order = std::exchange(newest, next);
  }
  while (in_order != nullptr) {
    const std::unique_ptr<listener> one(std::exchange(in_order, in_order->next));
    static_cast<loop_listener&>(*one).wake();
  }
}

void loop_listener::hear(std::unique_ptr<listener> self) noexcept {
  const std::shared_ptr<event_loop> loop = loop_;
  loop->push(std::move(self));
}

void loop_listener::wake() {
  const nb::object waiting = waiting_.take();
  const nb::object done = nb::steal(PyObject_CallMethodNoArgs(waiting.ptr(), interned().done));
  if (done.is_valid() && done.is(Py_False)) {
    const nb::object set =
        nb::steal(PyObject_CallMethodOneArg(waiting.ptr(), interned().set_result, Py_None));
    if (set.is_valid()) return;
  }
  // The loop was closed while its futures wait: the error has no receiver.
  PyErr_Clear();
}

}  // namespace troupe::python
