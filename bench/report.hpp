#pragma once

#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

/// One measured number beside what it is measured against.
struct measurement {
  std::string name;                         ///< what was measured, with its parameters
  double value = 0;                         ///< in `unit`
  std::string unit;                         ///< "us", "1/s", "GiB/s", …
  std::string reference{};                  ///< the floor or the peer; "" when there is none
  std::optional<double> reference_value{};  ///< in the same unit
};

/// What a benchmark found: prints each line as it comes, and at the end writes the file that
/// `./dev bench` asked for (`TROUPE_BENCH_JSON`), a list of
/// `{name, value, unit, reference, reference_value, ratio}`; ratio is value / reference_value.
class report {
 public:
  /// Prints the title and the table's head.
  explicit report(const std::string& title);

  /// Prints one line of the table and keeps it.
  void add(measurement m);

  /// Writes the JSON file where one is asked for. The benchmark's exit status: 0, or 1 when the
  /// file could not be written or nothing was measured.
  [[nodiscard]] int finish() const;

 private:
  std::vector<measurement> lines_;
};

}  // namespace troupe::bench
