#pragma once

#include <troupe/request/request.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::graph {

/// Requests of a graph, one after the other in one body, that the worker runs in the same way.
struct segment {
  std::int64_t first = 0;     ///< the number of the first request
  std::int64_t requests = 0;  ///< how many; a condition counts as one
  /// True if they can be recorded: as one CUDA graph, from the second run on.
  bool is_recorded = false;
  std::string why{};  ///< why they are called one by one

  TROUPE_EXPORT static void describe(description<segment>& d);
};

/// How the worker in service runs a graph on one lane.
struct graph_info {
  std::vector<segment> segments{};  ///< on a GPU
  std::int64_t runs = 0;            ///< since this worker or lane first met it
  std::int64_t recordings = 0;      ///< how often a segment was recorded
  std::int64_t launches = 0;        ///< how often a recorded segment was launched
  std::int64_t variants = 0;    ///< sets of tensors and values with recordings of their own, now
  std::int64_t operations = 0;  ///< kernels and copies in all recordings, now
  /// Memory of the device that the recordings there are now took when they were made: the driver's,
  /// outside `memory_limit_bytes`. Other work of the device at that moment may count, too.
  std::int64_t bytes = 0;
  std::string why{};  ///< why nothing is recorded, if that is so

  TROUPE_EXPORT static void describe(description<graph_info>& d);
};

/// Asks how a graph is run on this lane. Programs use `device::info`.
///
/// Reads and writes nothing.
struct info {
  using reply = graph_info;
  static constexpr std::string_view name = "graph.info";

  std::string label{};  ///< the graph's name
  std::vector<std::int64_t> digest{};

  TROUPE_EXPORT static void describe(description<info>& d);
};

}  // namespace troupe::graph
