#pragma once

#include <troupe/device/graph_recorder.hpp>
#include <troupe/request/any_request.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe::conformance {

/// Compares what a request does with what it does in a graph: called, recorded, and launched, each
/// time on the content that it had before. The content after the last run is left for the test,
/// which compares it with its reference.
class recorded_check {
 public:
  explicit recorded_check(const device& on) : device_(on) {}

  void add(const any_tensor& memory) { memory_.push_back(memory); }
  /// Memory of earlier tests is not used any more.
  void clear() { memory_.clear(); }

  /// Keeps the content of all memory, before the request runs.
  void save();
  /// Once it has run. `actor` runs it by itself. `reply`: the bytes of a plain reply.
  void run(const any_request& request, const library_actor& actor,
           std::span<const std::byte> reply);

  /// Prints which operations were recorded, and why others were not.
  static void print_summary();

 private:
  using contents = std::vector<std::vector<std::byte>>;

  void restore();
  [[nodiscard]] contents all();
  /// `varies`: runs of its graph differ among themselves.
  void blame(const any_request& request, const library_actor& actor, const contents& expected,
             bool varies, bool is_to_blame);
  /// True if it was recorded.
  bool note(const request_type& type, const request_graph& graph, bool on_gpu);
  [[nodiscard]] bool is_within_memory(const any_request& request) const;

  device device_;
  std::vector<any_tensor> memory_;
  std::vector<any_tensor> saved_;
  any_tensor scratch_;
};

}  // namespace troupe::conformance
