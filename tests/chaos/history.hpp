#pragma once

#include "gpu/faults/fault_cases.hpp"
#include "gpu/faults/prober.hpp"
#include "gpu/faults/subject.hpp"
#include "hostile_worker.hpp"
#include "json_line.hpp"
#include "load.hpp"
#include "program.hpp"

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::chaos {

using gpu_test::fault_case;
using gpu_test::findings;
using gpu_test::holdings;
using gpu_test::json_line;
using gpu_test::prober;
using gpu_test::subject;

/// The parameters of a history. It ends with the first of its two limits.
struct history_config {
  std::string name = "history";  ///< begins the lines that it prints
  backend_kind backend = backend_kind::cpu;
  std::uint64_t seed = 1;
  std::chrono::milliseconds duration = std::chrono::seconds(300);
  std::uint64_t most_faults = UINT64_MAX;
  /// From one fault to the next; nothing leaves no more than a moment after the last one's standby.
  std::chrono::milliseconds interval = std::chrono::seconds(2);
  double rate = 1000;  ///< requests of each client in a second
  std::string json = "history.jsonl";
  bool appends = false;  ///< to `json`, which it else begins anew
  /// The faults, drawn at random; a case that is listed twice comes twice as often.
  std::vector<const fault_case*> cases{};
  /// Faults before growth is measured: caches and pools have their size by then.
  std::uint64_t settling_faults = 5;
  /// If workers must be hostile: tells them how to start. It outlives the history.
  start_board* board = nullptr;
};

/// The cases of a backend that a history can be made of: those that strike a device at work.
[[nodiscard]] std::vector<const fault_case*> cases_of_history(backend_kind backend);

/// A mixed load under random faults, every request of which is checked; see
/// tests/gpu/history_main.cpp.
class history {
 public:
  explicit history(const history_config& config);

  /// One JSON line for each fault and one for the whole. \returns the exit status
  [[nodiscard]] int run();

 private:
  using clock = std::chrono::steady_clock;

  /// Quantities that must not grow.
  struct level {
    holdings program{};
    std::uint64_t card_bytes = 0;
    std::uint64_t buffers = 0;
  };

  void strike(const fault_case& what);
  void injected(const fault_case& what, json_line& line);
  [[nodiscard]] future<void> ask(const fault_case& what, const any_tensor& output);
  void judge(const fault_case& what, result<void> outcome, const any_tensor& output);
  void start_badly(const fault_case& what);
  void strike_twice(const fault_case& what);
  [[nodiscard]] level measure();
  [[nodiscard]] bool grown();
  void compare(json_line& line);
  void amiss(std::string what) {
    if (miss_.empty()) miss_ = std::move(what);
  }
  int conclude(const findings& found, const prober::counts& probes);

  history_config config_;
  std::ofstream lines_;
  std::mt19937_64 random_;
  subject subject_;
  library_actor fault_lane_;
  std::optional<prober> prober_;
  std::map<std::string_view, int> struck_;
  std::uint64_t faults_ = 0;
  clock::time_point begin_;
  std::optional<level> before_;
  level after_;
  std::vector<double> next_ms_;
  std::string miss_;
};

}  // namespace troupe::chaos
