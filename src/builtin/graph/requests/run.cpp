#include <troupe/graph/run.hpp>

namespace troupe::graph {
namespace {

template <class Run>
void describe_run(description<Run>& d) {
  d.value("label", static_cast<std::string Run::*>(&run::label), "name of the graph");
  d.value("digest", static_cast<std::vector<std::int64_t> Run::*>(&run::digest),
          "SHA-256 of the definition")
      .range(run::digest_words, run::digest_words);
  d.reads("definition", &run::definition, {d.size("bytes")}, "what was recorded").in_host_memory();
  // Outputs come first: the check of inputs looks at them, see `overwrites_first`. Requests of the
  // graph may read a view that it has written under another shape.
  d.writes("writes", &run::writes, {}, "views that the graph overwrites").may_repeat();
  d.updates("updates", &run::updates, {}, "views that it reads and writes, or may leave alone")
      .may_repeat();
  d.reads("reads", &run::reads, {}, "views that are read before the graph writes them");
  d.value("values", static_cast<std::vector<scalar> Run::*>(&run::values), "values of parameters");
  d.value("stepped", static_cast<bool Run::*>(&run::stepped), "waits for each request");
  d.writes("results", &run::results, {d.size("replies"), run::row_bytes}, "replies of the requests")
      .in_host_memory()
      .optional();
  d.same_type({&run::definition, &run::results}, {dtype::u8});
  d.layouts(layout::packed, {&run::definition, &run::results});
}

}  // namespace

void run::describe(description<run>& d) {
  d.about("Runs a recorded list of requests as one.");
  describe_run(d);
}

void run_conditional::describe(description<run_conditional>& d) {
  d.about("Runs a recorded list of requests as one, and waits for some of them.");
  describe_run(d);
}

}  // namespace troupe::graph
