#include <troupe/graph/run.hpp>
#include <troupe/request/argument_checks.hpp>

namespace troupe::graph {

void run::describe(description<run>& d) {
  d.about("Runs a recorded list of requests as one.");
  d.value("label", &run::label, "name of the graph");
  d.value("digest", &run::digest, "SHA-256 of the definition").range(digest_words, digest_words);
  d.reads("definition", &run::definition, {d.size("bytes")}, "what was recorded").in_host_memory();
  d.reads("reads", &run::reads, {}, "views that are read before the graph writes them");
  // Requests of the graph may read a view that it has written under another shape.
  d.writes("writes", &run::writes, {}, "views that the graph overwrites").may_repeat();
  d.updates("updates", &run::updates, {}, "views that it reads and writes, or may leave alone")
      .may_repeat();
  d.writes("results", &run::results, {d.size("replies"), row_bytes}, "replies of the requests")
      .in_host_memory()
      .optional();
  d.same_type({&run::definition, &run::results}, {dtype::u8});
  d.layouts(layout::packed, {&run::definition, &run::results});
}

}  // namespace troupe::graph
