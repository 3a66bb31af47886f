// `with gpu.record("step") as graph:`, and `gpu.run(graph)`. troupe/methods/graphs.py has the rest.
#include "arguments/arguments.hpp"
#include "arguments/given.hpp"
#include "binding.hpp"
#include "device/device_handle.hpp"
#include "future.hpp"
#include "graph/recording.hpp"
#include "operations/python_operation.hpp"
#include "reply.hpp"
#include "tensor.hpp"

#include <optional>
#include <string>

namespace troupe::python {
namespace {

/// A graph, which is finished when it is first used.
class py_graph {
 public:
  py_graph(device_ref on, std::string name)
      : device_(std::move(on)),
        name_(std::move(name)),
        recording_(std::in_place, device_->device, name_) {}
  py_graph(const py_graph&) = delete;
  py_graph& operator=(const py_graph&) = delete;
  ~py_graph() { leave(true); }

  void enter() {
    if (!recording_ || was_entered_) refuse("it has been recorded");
    device_->queue->flush();
    recording_->begin();
    is_open_ = was_entered_ = true;
  }
  // After an exception there is no graph.
  void leave(bool failed) {
    if (!std::exchange(is_open_, false)) return;
    recording_->end();
    if (failed) recording_.reset();
  }

  [[nodiscard]] recording& open() {
    if (!recording_)
      refuse(made_ ? "it has been used: it cannot be changed" : "it was left by an exception");
    return *recording_;
  }
  [[nodiscard]] const request_graph& graph() {
    if (made_) return *made_;
    if (is_open_) refuse("it is being recorded");
    if (!was_entered_) refuse("it is empty: with graph: ...");
    made_ = value_of(std::move(open().recorder()).finish());
    recording_.reset();
    return *made_;
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[noreturn]] void refuse(std::string_view why) const {
    raise({.code = errc::invalid_argument, .message = "graph " + name_ + ": " + std::string(why)});
  }

  device_ref device_;
  std::string name_;
  std::optional<recording> recording_;
  std::optional<request_graph> made_;
  bool is_open_ = false;
  bool was_entered_ = false;
};

template <class Step>
void step(py_graph& g, Step&& take) {
  recording& of = g.open();
  take(of.recorder());
  of.expect_good();
}

any_tensor condition_given(nb::handle value, std::string_view what) {
  failed_operand failed;
  any_tensor t = tensor_given(value, what, failed);
  if (failed.why) raise(*failed.why);
  return t;
}

nb::object reply_of(const graph_replies& replies, nb::handle future) {
  if (!nb::isinstance<py_future>(future)) {
    refuse_given("the key of a reply", "the Future of a recorded request", future);
  }
  const reply_in_graph<any_reply> one = nb::inst_ptr<py_future>(future)->recorded();
  const any_reply reply = value_of(replies.find(one.request, one.type));
  if (python_operation_of(reply.type()) == nullptr) return object_of_reply(reply);
  auto value = value_in(reply);
  return value ? *std::move(value) : nb::none();
}

nb::object run(nb::handle device, py_graph& g, const nb::dict& tensors,
               std::optional<double> deadline, std::optional<double> run_limit, bool quarantine,
               std::uint64_t tag) {
  const device_ref& on = handle_of(device);
  std::vector<graph_argument> arguments;
  for (const auto& [name, value] : tensors) {
    const std::string parameter = shown_text(name);
    if (const auto number = scalar_from(value)) {
      arguments.push_back({parameter, *number});
      continue;
    }
    failed_operand failed;
    const any_tensor& view = tensor_given(value, parameter, failed);
    if (failed.why) return not_sent("graph.run", std::move(failed));
    arguments.push_back({parameter, view});
  }
  const request_graph& what = g.graph();
  if (recording* const outer = recording::on(on->device)) {
    outer->recorder().add(what, arguments);
    outer->expect_good();
    return nb::cast(py_future(make_ready_future(), nb::none()));
  }
  const request_options options{.deadline = duration_of(deadline),
                                .run_limit = duration_of(run_limit),
                                .quarantine = quarantine,
                                .tag = tag};
  py_future coming(send(*on, what, std::move(arguments), options));
  if (coming.done()) coming.raise_refusal();
  return nb::cast(std::move(coming));
}

nb::dict info(py_graph& g, nb::handle device) {
  const request_graph& what = g.graph();
  troupe::device& on = handle_of(device)->in_order();
  const auto how = value_of(without_gil([&] { return what.info(on).get_result(); }));
  nb::list segments;
  for (const graph::segment& one : how.segments) {
    nb::dict s;
    s["first"] = one.first;
    s["requests"] = one.requests;
    s["is_recorded"] = one.is_recorded;
    s["why"] = one.why;
    segments.append(std::move(s));
  }
  nb::dict all;
  all["segments"] = std::move(segments);
  all["runs"] = how.runs;
  all["recordings"] = how.recordings;
  all["launches"] = how.launches;
  all["variants"] = how.variants;
  all["operations"] = how.operations;
  all["bytes"] = how.bytes;
  all["why"] = how.why;
  return all;
}

void add_parameter(py_graph& g, const std::string& name, nb::handle of,
                   const std::optional<std::string>& field, nb::handle within) {
  if (field) {
    if (!within.is_none()) {
      raise({.code = errc::invalid_argument,
             .message = "parameter " + name + ": a number lies within no tensor"});
    }
    if (!nb::isinstance<py_future>(of)) {
      refuse_given("parameter: of", "the Future of a recorded request", of);
    }
    const std::uint64_t number = nb::inst_ptr<py_future>(of)->recorded().request;
    return step(g, [&](graph_recorder& r) { r.parameter(name, number, *field); });
  }
  const any_tensor t = condition_given(of, "parameter: of");
  if (within.is_none()) return step(g, [&](graph_recorder& r) { r.parameter(name, t); });
  const any_tensor whole = condition_given(within, "parameter: within");
  step(g, [&](graph_recorder& r) { r.parameter(name, t, whole); });
}

void add_parts(py_graph& g, nb::handle of, const std::string& field,
               const std::vector<nb::handle>& parts) {
  if (!nb::isinstance<py_future>(of)) {
    refuse_given("writes_only: of", "the Future of a recorded request", of);
  }
  std::vector<any_tensor> views;
  for (const nb::handle part : parts)
    views.push_back(condition_given(part, "writes_only: parts"));
  const std::uint64_t number = nb::inst_ptr<py_future>(of)->recorded().request;
  step(g, [&](graph_recorder& r) { r.writes_only(number, field, views); });
}

void add_bodies(nb::class_<py_graph>& c) {
  c.def("_begin_repeat",
        [](py_graph& g, nb::handle condition, std::int64_t at_most) {
          const any_tensor t = condition_given(condition, "repeat_while: condition");
          step(g, [&](graph_recorder& r) { r.begin_repeat(t, {.at_most = at_most}); });
        })
      .def("_begin_if",
           [](py_graph& g, nb::handle condition) {
             const any_tensor t = condition_given(condition, "run_if: condition");
             step(g, [&](graph_recorder& r) { r.begin_if(t); });
           })
      .def("_begin_choose",
           [](py_graph& g, nb::handle index) {
             const any_tensor t = condition_given(index, "choose: index");
             step(g, [&](graph_recorder& r) { r.begin_choose(t); });
           })
      .def("_next", [](py_graph& g) { step(g, [](graph_recorder& r) { r.next_body(); }); })
      .def("_end", [](py_graph& g) { step(g, [](graph_recorder& r) { r.end(); }); });
}

}  // namespace

nb::object object_of_replies(graph_replies replies) { return nb::cast(std::move(replies)); }

void add_graph(nb::module_& m) {
  nb::class_<graph_replies>(m, "GraphReplies", "The replies of one run of a graph.")
      .def("__getitem__", &reply_of);
  nb::class_<py_graph> c(m, "Graph",
                         "Requests that are sent as one: with gpu.record(\"step\") as graph: ...");
  add_bodies(c);
  c.def("__enter__",
        [](nb::object self) {
          nb::cast<py_graph&>(self).enter();
          return self;
        })
      .def(
          "__exit__",
          [](py_graph& g, nb::handle kind, nb::handle, nb::handle) { g.leave(!kind.is_none()); },
          nb::arg("kind").none(), nb::arg("value").none(), nb::arg("trace").none())
      .def(
          "parameter", &add_parameter, nb::arg("name"), nb::arg("of"),
          nb::arg("field") = nb::none(), nb::arg("within") = nb::none(),
          "Lets each run name another tensor instead of this one and of all views within it; or, "
          "with\n"
          "a field, another number for that field of a recorded request. A part of a tensor that "
          "the\n"
          "graph uses as a whole, too, is declared with within=whole: each run names another part.")
      .def("writes_only", &add_parts, nb::arg("of"), nb::arg("field"), nb::arg("parts"),
           "Says that a recorded request overwrites these parts of its tensor alone, as its "
           "indices\n"
           "on the device say. The program's word is not checked.")
      .def_prop_ro("name", &py_graph::name, "The name that it was recorded with.")
      .def_prop_ro(
          "requests", [](py_graph& g) { return g.graph().requests(); },
          "Each request as errors show it, by its number.")
      .def("__len__", [](py_graph& g) { return g.graph().size(); })
      .def(
          "dot", [](py_graph& g) { return g.graph().dot(); },
          "Its requests and what orders them, for Graphviz.")
      .def(
          "json", [](py_graph& g) { return g.graph().json(); }, "The same as JSON.")
      .def("info", &info, nb::arg("device"),
           "How the worker of a device runs it: what is recorded on a GPU, what is not and why.\n"
           "Waits for the runs before.")
      .def("__repr__", [](py_graph& g) { return "<troupe.Graph " + g.name() + ">"; });
  m.def("_record", [](nb::handle device, std::string name) {
    return new py_graph(handle_of(device), std::move(name));
  });
  m.def("_run_graph", &run);
}

}  // namespace troupe::python
