#include "libraries/dnn/requests/graph/inference.hpp"
#include "libraries/dnn/requests/graph/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

namespace troupe::dnn {
namespace {

void refuse(argument_checks& check, error why) {
  check.rule(false, why.code, [&] { return std::move(why.message); });
}

void check_graph(argument_checks& check, const graph& r) {
  if (auto valid = r.what.check(); !valid) return refuse(check, std::move(valid).error());
  const auto entries = r.what.entries();
  const auto forms = infer(r.what, entries, r.inputs, r.intermediate);
  if (!forms) return refuse(check, forms.error());
  const auto results = r.what.results();
  check.rule(r.outputs.size() == results.size(), errc::invalid_argument, [&] {
    return fmt::format("the computation has {} outputs, and {} are given", results.size(),
                       r.outputs.size());
  });
  if (!check.good()) return;
  for (std::size_t o = 0; o < results.size(); ++o) {
    const any_tensor& y = r.outputs[o];
    const auto& extents = (*forms)[results[o]].extents;
    check.rule(std::ranges::equal(y.extents(), extents), errc::shape_mismatch, [&] {
      return fmt::format("outputs[{}] is [{}] and {} is [{}]", o, fmt::join(y.extents(), ", "),
                         detail::expression_of(entries, r.what.constants(), results[o]),
                         fmt::join(extents, ", "));
    });
    check.rule(!is_complex(y.type()), errc::type_mismatch, [&] {
      return fmt::format("outputs[{}] is {}; computations are of real numbers", o,
                         to_string(y.type()));
    });
    const std::string name = fmt::format("outputs[{}]", o);
    for (std::size_t i = 0; i < r.inputs.size(); ++i) {
      if (y.overlaps(r.inputs[i]))
        check.apart({name, y}, {fmt::format("inputs[{}]", i), r.inputs[i]});
    }
    for (std::size_t i = 0; i < o; ++i) {
      if (y.overlaps(r.outputs[i]))
        check.apart({name, y}, {fmt::format("outputs[{}]", i), r.outputs[i]});
    }
  }
}

}  // namespace

void graph_run::describe(description<graph_run>& d) {
  d.about("How a graph was computed.");
  d.value("pieces", &graph_run::pieces, "requests that it was carried out as; 1 for a plan");
  d.value("by", &graph_run::by, "their names");
}

void graph::describe(description<graph>& d) {
  d.about("Computes a part of a network that the caller has written: outputs = what(inputs).",
          "cuDNN documentation, graph API");
  d.reads("inputs", &graph::inputs, {}, "what the computation reads");
  d.writes("outputs", &graph::outputs, {}, "results");
  d.derived(&graph::outputs, [](const graph& r) { return r.what.outputs_for(r.inputs); });
  d.group("what", &graph::what);
  d.value("intermediate", &graph::intermediate, "type of real values in memory between nodes");
  d.value("math", &graph::math, "arithmetic of products of f32");
  d.value("engine", &graph::engine, "how a GPU computes it");
  d.value("tuning", &graph::tuning, "how the engine of a plan is chosen");
  d.rule(
      "the computation is valid for these tensors, outputs have the extents of their nodes, and "
      "are apart from all others",
      check_graph);
}

}  // namespace troupe::dnn
