#pragma once

#include "fault_cases.hpp"
#include "gpu/ledger.hpp"
#include "neighbour.hpp"
#include "prober.hpp"
#include "subject.hpp"

#include <troupe/telemetry/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::gpu_test {

/// The effects of one fault.
struct trial_report {
  std::string kind{};
  int trial = 0;
  std::uint64_t seed = 0;
  bool one_lane = false;  ///< the load, the questions and the fault share one lane
  bool survived = false;
  std::optional<bool> named{};          ///< nothing where no request is to blame
  std::string code{};                   ///< of the injected request
  bool passed_as_done = false;          ///< the device had reported it as done
  std::optional<double> error_ms{};     ///< from the launch of the fault until its request failed
  std::optional<double> next_ms{};      ///< from there until the first right answer after the fault
  std::optional<double> failover_ms{};  ///< as the device's health says
  findings load{};
  prober::counts probes{};
  bool intact = false;            ///< the frozen tensor and the untouched one
  std::optional<bool> tainted{};  ///< what the injected request was to write, as promised
  std::uint64_t new_workers = 0;
  std::string fault{};  ///< the kind that the telemetry counts it as; the last of several
  std::optional<std::int64_t> card_growth_bytes{};  ///< against before the first fault
  std::optional<double> neighbour_ms{};             ///< the longest that one of its requests took
  std::string miss{};  ///< the first promise that was broken; empty when none was

  [[nodiscard]] std::string json(std::string_view backend) const;
};

/// Faults of one kind, one after the other, on a device of their own.
class trials {
 public:
  /// Throws `failure` where the device does not work.
  trials(const fault_case& what, backend_kind backend, std::uint64_t seed);

  /// The defect before the first fault or after the last, else nothing.
  [[nodiscard]] std::optional<std::string> begin();
  [[nodiscard]] std::optional<std::string> end();

  [[nodiscard]] trial_report run(int number);

 private:
  using clock = std::chrono::steady_clock;

  /// An injected request, and how it ended.
  struct injected {
    struct outcome {
      std::optional<error> why;
      clock::time_point at;
    };
    std::shared_ptr<outcome> end = std::make_shared<outcome>();
    future<void> done;
    any_tensor output;
  };

  [[nodiscard]] future<void> ask(const library_actor& where, const any_tensor& output);
  [[nodiscard]] injected inject(const any_tensor& output);
  void await(trial_report& report, injected& request, errc expected);
  void strike(trial_report& report);
  void strike_by_request(trial_report& report);
  void strike_during_recovery(trial_report& report);
  void strike_thrice(trial_report& report);
  void strike_recorded(trial_report& report);
  void start_load();
  void check_answers(trial_report& report);
  void check_workers(trial_report& report);
  void check_events(trial_report& report);
  void check_memory(trial_report& report);

  const fault_case& case_;
  backend_kind backend_;
  std::uint64_t seed_;
  std::optional<neighbour> neighbour_;
  subject subject_;
  library_actor fault_lane_;
  library_actor probe_lane_;
  library_actor spare_lane_;
  std::optional<prober> prober_;
  std::optional<std::uint64_t> card_before_;

  // The current trial's.
  bool one_lane_ = false;
  std::uint64_t generation_ = 0;     // before the fault
  std::uint64_t unexplained_ = 0;    // likewise
  std::uint64_t last_event_ = 0;     // likewise
  std::vector<fault_count> faults_;  // likewise
  std::uint64_t workers_expected_ = 0;
  std::uint64_t workers_allowed_ = 0;
  clock::time_point struck_;
  clock::time_point ended_;  // when the first injected request failed
  any_tensor output_;        // of an injected request that ended a worker
};

}  // namespace troupe::gpu_test
