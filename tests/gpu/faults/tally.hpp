#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::gpu_test {

/// The trials of one kind of fault, added up from their lines.
class tally {
 public:
  explicit tally(std::string kind) : kind_(std::move(kind)) {}

  void add(const std::string& line);
  [[nodiscard]] int trials() const noexcept { return trials_; }
  /// How many of them the device had reported as done.
  [[nodiscard]] int passed_as_done() const noexcept { return passed_as_done_; }
  [[nodiscard]] const std::string& kind() const noexcept { return kind_; }
  /// The first promise that was broken; empty when none was.
  [[nodiscard]] const std::string& miss() const noexcept { return miss_; }

  /// One row of the table of all kinds.
  [[nodiscard]] std::string row();
  [[nodiscard]] static std::string head();

 private:
  std::string kind_;
  int trials_ = 0;
  int passed_as_done_ = 0;
  int survived_ = 0;
  int named_ = 0;
  int nameable_ = 0;
  std::int64_t lost_ = 0;
  std::int64_t duplicated_ = 0;
  std::int64_t wrong_ = 0;
  std::int64_t aborted_ = 0;
  std::int64_t requests_ = 0;
  std::vector<double> error_ms_;
  std::vector<double> next_ms_;
  std::vector<double> failover_ms_;
  std::string miss_;
};

}  // namespace troupe::gpu_test
