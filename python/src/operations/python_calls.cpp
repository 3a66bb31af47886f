// Functions of Python as executors, in a worker.
#include "binding.hpp"
#include "operations/array_view.hpp"
#include "operations/bound_set.hpp"
#include "operations/cuda_driver.hpp"
#include "operations/python_operation.hpp"
#include "operations/result_check.hpp"
#include "reply.hpp"

#include <troupe/plugin/cuda.hpp>
#include <troupe/plugin/worker_entry.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

struct CUstream_st;

namespace troupe::python {
namespace {

// Set before any thread of a worker runs.
bool in_worker = false;
PyInterpreterState* interpreter = nullptr;
PyObject* call_when_started = nullptr;
// The present target of stderr, which the program can read, and its real target.
int output = -1;
int shown = -1;
std::atomic<off_t> output_shown{0};  // up to here

// One operation at a time. Python's own lock would let another begin whenever one lets go of it,
// and then both had begun when one ends their worker.
std::mutex& turns() {
  static std::mutex& one = *new std::mutex;
  return one;
}

// faulthandler's, which writes where each thread is.
void (*write_where)(int) = nullptr;

// The program waits for the last byte: nothing else tells when all is written.
void answer_where(int number) {
  constexpr char end_of_answer = '\x04';
  const int kept = errno;
  write_where(number);
  (void)!::write(output, &end_of_answer, 1);
  errno = kept;
}

void end_answers_to(int number) {
  struct sigaction action{};
  ::sigaction(number, nullptr, &action);
  write_where = action.sa_handler;
  action.sa_handler = &answer_where;
  ::sigaction(number, &action, nullptr);
}

// This thread's. Kept in a worker: making one for each call takes longer than the call.
thread_local PyThreadState* kept_state = nullptr;
thread_local PyGILState_STATE borrowed_state{};

struct gpu_place {
  int ordinal = -1;
  std::uintptr_t stream = 0;
};

// The driver's number of the device of this thread's current context; -1 without a context.
int current_gpu() {
  static auto* const get = of_driver<int(int*)>("cuCtxGetDevice");
  int ordinal = -1;
  return get != nullptr && get(&ordinal) == 0 ? ordinal : -1;
}

// Whether the context is lost, with which the process ends soon.
bool is_lost(std::uintptr_t stream) {
  static auto* const query = of_driver<int(std::uintptr_t)>("cuStreamQuery");
  constexpr int not_ready = 600;
  if (stream == 0 || query == nullptr) return false;
  const int code = query(stream);
  return code != 0 && code != not_ready;
}

gpu_place place_of(lane_context& where) {
  auto* const gpu = dynamic_cast<cuda::lane*>(&where);
  if (gpu == nullptr) return {};
  CUstream_st* const stream = gpu->stream();
  return {std::max(current_gpu(), 0), reinterpret_cast<std::uintptr_t>(stream)};
}

/// Makes the arguments of a call.
class argument_maker {
 public:
  argument_maker(const python_operation& op, gpu_place where) : op_(op), where_(where) {}

  nb::object of_view(array_view view, bool on_host = false) const {
    if (where_.ordinal >= 0 && !on_host) {
      view.ordinal = where_.ordinal;
      view.stream = where_.stream;
    }
    if (op_.convert != nullptr) {
      return nb::steal(PyObject_CallOneArg(op_.convert, object_of(view).ptr()));
    }
    return view.ordinal >= 0 ? object_of(view) : numpy_of(view);
  }
  nb::object of_tensor(const any_tensor& t, bool writes) const {
    if (t.null()) return nb::none();
    return of_view(array_view(t, t.address(), !writes), t.space() == memory_space::host);
  }
  nb::object of(const python_operation::argument& a, const void* request) const {
    const field_view& f = a.field;
    if (f.kind == field_kind::tensor) return of_tensor(f.in<any_tensor>(request), a.writes);
    if (f.kind != field_kind::tensors) return object_of_value(f, request);
    const auto& bound = *reinterpret_cast<const any_tensor*>(
        static_cast<const std::byte*>(request) + a.bound.value());
    if (!bound.null()) {
      return bound_views(bound, op_.convert,
                         [this](const array_view& view) { return of_view(view); });
    }
    nb::list all;
    for (const any_tensor& t : f.in<std::vector<any_tensor>>(request))
      all.append(of_tensor(t, false));
    return all;
  }

 private:
  const python_operation& op_;
  gpu_place where_;
};

void flush(const char* stream) {
  static PyObject* const name = PyUnicode_InternFromString("flush");
  PyObject* const to = PySys_GetObject(stream);
  if (to == nullptr || to == Py_None) return;
  const nb::object done = nb::steal(PyObject_CallMethodNoArgs(to, name));
  if (!done.is_valid()) PyErr_Clear();
}

// Shows the output of C code on stderr, except the last `keep` bytes. Stderr goes to a file of its
// own
// here, so that the last output becomes part of an error. Other threads append meanwhile, so the
// part
// already shown becomes a hole: cutting the file might lose their output.
void show_output(off_t keep) {
  static std::mutex& one_at_a_time = *new std::mutex;
  const std::lock_guard lock(one_at_a_time);
  const off_t end = ::lseek(output, 0, SEEK_END) - keep;
  off_t at = output_shown.load(std::memory_order_relaxed);
  std::array<char, 4096> piece;
  while (at < end) {
    const auto length = std::min<std::size_t>(piece.size(), static_cast<std::size_t>(end - at));
    const ssize_t got = ::pread(output, piece.data(), length, at);
    if (got <= 0 || ::write(shown, piece.data(), static_cast<std::size_t>(got)) < 0) break;
    at += got;
  }
  if (end <= output_shown.load(std::memory_order_relaxed)) return;
  (void)::fallocate(output, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end);
  output_shown.store(end, std::memory_order_relaxed);
}

void show_output_after_call(lane_context& where) {
  // Its length, which this system call tells the fastest.
  if (output < 0 || ::lseek(output, 0, SEEK_END) <= output_shown.load(std::memory_order_relaxed)) {
    return;
  }
  if (is_lost(place_of(where).stream)) return;
  const nb::gil_scoped_release others_run;
  show_output(0);
}

// A call that runs long, or a thread of C code between calls, is not to fill the memory with it.
void show_long_output() {
  constexpr off_t most_kept = off_t{1} << 20;
  constexpr off_t stays = off_t{64} << 10;
  ::prctl(PR_SET_NAME, "troupe-output");
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  // Nothing tells that memory has grown.
  for (;; std::this_thread::sleep_for(std::chrono::seconds(1))) {
    const off_t kept = ::lseek(output, 0, SEEK_END) - output_shown.load(std::memory_order_relaxed);
    if (kept > most_kept) show_output(stays);
  }
}

void check(const nb::object& o) {
  if (!o.is_valid()) throw nb::python_error();
}

nb::object call(const python_operation& op, const void* request, lane_context& where) {
  const gpu_place place = place_of(where);
  const argument_maker make(op, place);
  // One in front, which Python may use, and three for the function, its stream and its GPU.
  constexpr std::size_t before = 4;
  std::vector<nb::object> held;
  held.reserve(op.arguments.size() + 2);
  std::vector<PyObject*> values(op.arguments.size() + before);
  for (const python_operation::argument& a : op.arguments) {
    held.push_back(make.of(a, request));
    check(held.back());
    values[before + held.size() - 1] = held.back().ptr();
  }
  std::optional<result_check> results;
  if (result_check::enabled()) results.emplace(op, request, place.stream);
  nb::object answer;
  if (place.ordinal < 0 || op.on_stream == nullptr) {
    answer = nb::steal(PyObject_Vectorcall(op.function, values.data() + before,
                                           PY_VECTORCALL_ARGUMENTS_OFFSET, op.names));
  } else {
    values[1] = op.function;
    held.push_back(nb::int_(place.stream));
    values[2] = held.back().ptr();
    held.push_back(nb::int_(place.ordinal));
    values[3] = held.back().ptr();
    answer = nb::steal(PyObject_Vectorcall(op.on_stream, values.data() + 1,
                                           3 | PY_VECTORCALL_ARGUMENTS_OFFSET, op.names));
  }
  check(answer);
  if (results) results->expect_written();
  return answer;
}

// The bytes of an answer's arrays and texts, which pickling copies.
std::uint64_t bytes_in(nb::handle o, int depth = 3) {
  PyObject* const p = o.ptr();
  if (PyFloat_CheckExact(p) || PyLong_CheckExact(p)) return 0;
  if (PyUnicode_CheckExact(p)) return static_cast<std::uint64_t>(PyUnicode_GET_LENGTH(p));
  std::uint64_t all = 0;
  const bool is_tuple = PyTuple_CheckExact(p);
  if (is_tuple || PyList_CheckExact(p)) {
    for (Py_ssize_t i = 0; depth > 0 && i < Py_SIZE(p); ++i)
      all += bytes_in(is_tuple ? PyTuple_GET_ITEM(p, i) : PyList_GET_ITEM(p, i), depth - 1);
  } else if (PyDict_CheckExact(p)) {
    PyObject* value = nullptr;
    for (Py_ssize_t i = 0; depth > 0 && PyDict_Next(p, &i, nullptr, &value) != 0;)
      all += bytes_in(value, depth - 1);
  } else if (PyObject_CheckBuffer(p) != 0 && !PyObject_HasAttrString(p, "nbytes")) {
    all = PyObject_Size(p) < 0 ? 0 : static_cast<std::uint64_t>(PyObject_Size(p));
  } else if (PyObject* const bytes = PyObject_GetAttrString(p, "nbytes"); bytes != nullptr) {
    all = PyLong_Check(bytes) != 0 ? PyLong_AsUnsignedLongLong(bytes) : 0;
    Py_DECREF(bytes);
  }
  PyErr_Clear();
  return all;
}

result<void> put_answer(const python_operation& op, nb::handle answer, std::byte* reply) {
  if (answer.is_none() || op.type->described_reply == nullptr) return {};
  // The limit of replies, `wire::reply_heap_bytes`. A larger answer would be pickled for nothing,
  // and its copies may be what ends the worker.
  constexpr std::uint64_t most = std::uint64_t{64} << 20;
  if (const std::uint64_t bytes = bytes_in(answer); bytes > most) {
    return error{.code = errc::size_overflow,
                 .message = "the answer has " + std::to_string(bytes) + " bytes and may have " +
                            std::to_string(most) +
                            ": write large results to a tensor (troupe.Writes)"};
  }
  static PyObject* const dumps =
      nb::object(nb::module_::import_("pickle").attr("dumps")).release().ptr();
  const nb::object pickled = nb::steal(PyObject_CallOneArg(dumps, answer.ptr()));
  check(pickled);
  static const std::size_t offset = fields_of(*op.type->described_reply).front().offset;
  reinterpret_cast<std::string*>(reply + offset)
      ->assign(PyBytes_AS_STRING(pickled.ptr()),
               static_cast<std::size_t>(PyBytes_GET_SIZE(pickled.ptr())));
  return {};
}

}  // namespace

void take_python_turn(void*) {
  turns().lock();
  if (!in_worker) {
    borrowed_state = PyGILState_Ensure();
    return;
  }
  if (kept_state == nullptr) kept_state = PyThreadState_New(interpreter);
  PyEval_RestoreThread(kept_state);
}

void end_python_turn(void*) {
  if (in_worker) {
    (void)PyEval_SaveThread();
  } else {
    PyGILState_Release(borrowed_state);
  }
  turns().unlock();
}

error take_python_error() {
  error why{.code = errc::handler_failed, .message = "a Python exception"};
  if (PyErr_ExceptionMatches(PyExc_MemoryError) != 0) why.code = errc::out_of_memory;
  nb::python_error caught;
  try {
    const nb::object told = nb::module_::import_("troupe.tracebacks").attr("told")(caught.value());
    why.message = nb::cast<std::string>(told[1]);
    if (why.code == errc::handler_failed) {
      why.code_name = nb::cast<std::string>(told[0]);
      why.vendor_code = nb::cast<std::int64_t>(told[2]);
    }
  } catch (const std::exception&) {
    PyErr_Clear();
  }
  return why;
}

result<void> run_python(void* executor, const void* request, lane_context& where,
                        std::byte* reply) {
  const auto& op = *static_cast<const python_operation*>(executor);
  result<void> outcome;
  try {
    outcome = put_answer(op, call(op, request, where), reply);
  } catch (nb::python_error& raised) {
    raised.restore();
    outcome = take_python_error();
  } catch (const nb::builtin_exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  }
  // Its output arrives before its answer.
  flush("stdout");
  flush("stderr");
  show_output_after_call(where);
  return outcome;
}

namespace {

void add_in_worker(operation_table& table) {
  add_python_operations(table);
  if (call_when_started == nullptr) return;
  std::string why;
  {
    const nb::gil_scoped_acquire gil;
    why = nb::cast<std::string>(nb::handle(call_when_started)(current_gpu()));
  }
  if (!why.empty()) {
    throw failure({.code = errc::library_missing, .message = why});
  }
}

}  // namespace

bool is_worker() noexcept { return in_worker; }

void add_python_calls(nb::module_& m) {
  m.def("_run_worker", [](nb::object when_started, int output_to, int shown_to, int where) {
    in_worker = true;
    output = output_to;
    shown = shown_to;
    end_answers_to(where);
    interpreter = PyInterpreterState_Get();
    call_when_started = when_started.release().ptr();
    std::thread(&show_long_output).detach();
    const char* arguments[] = {"python", "--troupe-worker", nullptr};
    const gil_released released;
    (void)worker_entry(2, const_cast<char**>(arguments), &add_in_worker);
  });
}

}  // namespace troupe::python
