#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

/// The target of a number.
struct target {
  enum class subject : std::uint8_t { value, ratio };
  subject what = subject::value;
  bool at_most = true;  ///< else at least
  double limit = 0;
};
[[nodiscard]] constexpr target at_most(double limit) {
  return {target::subject::value, true, limit};
}
[[nodiscard]] constexpr target at_least(double limit) {
  return {target::subject::value, false, limit};
}
[[nodiscard]] constexpr target ratio_at_most(double limit) {
  return {target::subject::ratio, true, limit};
}
[[nodiscard]] constexpr target ratio_at_least(double limit) {
  return {target::subject::ratio, false, limit};
}

/// One measured number beside its reference.
struct measurement {
  std::string name;                         ///< the measured quantity, with its parameters
  double value = 0;                         ///< in `unit`
  std::string unit;                         ///< "us", "1/s", "GiB/s", …
  std::string reference{};                  ///< the floor or the peer; "" if there is none
  std::optional<double> reference_value{};  ///< in the same unit
  std::optional<bench::target> target{};
  /// Given if it is known better than from `value` and `reference_value`: a mean of pairs.
  std::optional<double> ratio{};
};

/// The findings of a benchmark: prints each line as it comes, and writes the file that
/// `./dev bench` asked for (`TROUPE_BENCH_JSON`), a list of `{name, value, unit, reference,
/// reference_value, ratio}`; ratio is value / reference_value, or the mean of pairs.
/// A line with a target also has `target` ("ratio <= 1.1") and `met`, true or false.
class report {
 public:
  /// Prints the title and the table's head.
  explicit report(const std::string& title);

  /// Prints one line of the table and keeps it.
  void add(measurement m);

  /// Notes that something could not be measured, and why; the benchmark then ends with status 1.
  void could_not_measure(const std::string& name, const std::string& why);

  /// Says how many targets are missed, and writes the JSON file where one is asked for. The
  /// benchmark's exit status: 0, missed targets or not, and 1 when something could not be measured
  /// or the file not be written.
  [[nodiscard]] int finish() const;

 private:
  [[nodiscard]] bool write() const;

  std::vector<measurement> lines_;
  bool incomplete_ = false;
};

}  // namespace troupe::bench
