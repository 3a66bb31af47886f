#pragma once

#include "operations.hpp"

#include <troupe/fault.hpp>
#include <troupe/graph.hpp>
#include <troupe/troupe.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

/// A device whose worker is this program, with tensors of i64.
class graph_fixture : public ::testing::Test {
 protected:
  using numbers = std::vector<std::int64_t>;

  /// True if a GPU's stand-in serves the devices, whose calls return before the work is done.
  static bool on_queues() { return queues() != nullptr; }
  static device_config config() {
    return {.backend = backend_kind::cpu,
            .memory_limit_bytes = std::uint64_t{64} << 20,
            .lane_threads = 2,
            .restarts = {.restarts = 1'000'000},
            .backoff = {.initial = std::chrono::nanoseconds(0)},
            .fault_injection = true,
            .backend_path = on_queues() ? queues() : "",
            .own_operations = &add_operations};
  }
  any_tensor make(const numbers& content) {
    any_tensor t = gpu_.tensor<std::int64_t>({static_cast<std::int64_t>(content.size())}).value();
    set(t, content);
    return t;
  }
  void set(const any_tensor& t, const numbers& content) { gpu_.copy(content, t).get(); }
  numbers content(const any_tensor& t) {
    numbers all(static_cast<std::size_t>(t.count()));
    gpu_.copy(t, all).get();
    return all;
  }
  /// The graph of what `record` adds.
  template <class Record>
  result<request_graph> recorded(Record&& record) {
    graph_recorder rec = gpu_.record("step");
    record(rec);
    return std::move(rec).finish();
  }
  /// The failure of recording it.
  template <class Record>
  error refused(Record&& record) {
    auto graph = recorded(std::forward<Record>(record));
    return graph ? error{} : std::move(graph).error();
  }
  [[nodiscard]] result<graph_replies> run(const request_graph& g,
                                          const std::vector<graph_argument>& arguments = {}) {
    auto done = gpu_.run(g, arguments);
    if (!done.wait_for(std::chrono::seconds(20))) {
      return error{.code = errc::timed_out, .message = "lost"};
    }
    return done.get_result();
  }
  /// The code of an outcome, and its text.
  static std::string text(const result<graph_replies>& outcome) {
    return outcome ? "done" : const_cast<result<graph_replies>&>(outcome).error().to_string();
  }
  static bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  }

  static const char* queues() { return std::getenv("TROUPE_TEST_PLUGIN"); }

  system system_;
  device gpu_ = system_.device(0, config());
};

}  // namespace troupe::test
