#include <troupe/graph/info.hpp>
#include <troupe/graph/run.hpp>

namespace troupe::graph {

void segment::describe(description<segment>& d) {
  d.value("first", &segment::first, "number of the first request");
  d.value("requests", &segment::requests, "how many");
  d.value("is_recorded", &segment::is_recorded, "whether they can be recorded");
  d.value("why", &segment::why, "why they are called one by one");
}

void graph_info::describe(description<graph_info>& d) {
  d.groups("segments", &graph_info::segments, "requests that are run in the same way");
  d.value("runs", &graph_info::runs, "since this worker first met it");
  d.value("recordings", &graph_info::recordings, "how often a segment was recorded");
  d.value("launches", &graph_info::launches, "how often a recorded segment was launched");
  d.value("variants", &graph_info::variants, "sets of tensors and values with own recordings");
  d.value("operations", &graph_info::operations, "kernels and copies in all recordings");
  d.value("bytes", &graph_info::bytes, "memory of the device that the recordings took");
  d.value("why", &graph_info::why, "why nothing is recorded");
}

void info::describe(description<info>& d) {
  d.about("Tells how the worker runs a graph on this lane.");
  d.value("label", &info::label, "name of the graph");
  d.value("digest", &info::digest, "SHA-256 of the definition")
      .range(run::digest_words, run::digest_words);
}

}  // namespace troupe::graph
