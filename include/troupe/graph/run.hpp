#pragma once

#include <troupe/request/request.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::graph {

/// Runs the requests of a `request_graph` in their order, as one request. Programs do not send it
/// themselves: `device::run` does.
///
/// \errors the first failure of a request in it, whose message names that request;
/// `protocol_violation` for a definition whose digest is another; `library_missing`
struct run {
  using reply = void;
  static constexpr std::string_view name = "graph.run";

  std::string label{};  ///< the graph's name
  std::vector<std::int64_t> digest{};
  any_tensor definition{};  ///< bytes in host memory
  /// Each view that the requests use, once, with the role that the whole graph has on it.
  std::vector<any_tensor> reads{};
  std::vector<any_tensor> writes{};
  std::vector<any_tensor> updates{};
  std::vector<scalar> values{};  ///< for the value parameters, in order
  /// On a GPU the worker waits for each request, so that a fault shows which one it was.
  bool stepped = false;
  any_tensor results{};  ///< a row of bytes in host memory for each reply; null without replies

  static constexpr std::int64_t digest_words = 4;
  static constexpr std::int64_t row_bytes = 512;  ///< for each reply

  TROUPE_EXPORT static void describe(description<run>& d);
};

/// The same for a graph with conditions, or one that is stepped: the worker waits for the GPU.
struct run_conditional : run {
  using reply = void;
  static constexpr std::string_view name = "graph.run_conditional";

  TROUPE_EXPORT static void describe(description<run_conditional>& d);
};

}  // namespace troupe::graph
