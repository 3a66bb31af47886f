#pragma once

#include "failover.hpp"
#include "ledger.hpp"
#include "service.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace digits {

/// The demo's output while it runs: one live line, repainted on a terminal, printed now and then
/// elsewhere; and events above it. Shared by threads.
class screen {
 public:
  screen();

  /// Paints the live line, on a terminal at once, elsewhere at most twice a second.
  void live(std::string_view line);
  /// Prints a line that stays.
  void event(std::string_view line);
  /// Seconds since the start, as every line begins.
  [[nodiscard]] std::string elapsed() const;

 private:
  std::mutex lock_;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_line_;
};

/// "12.8 ms", or "never".
[[nodiscard]] std::string milliseconds(
    const std::optional<std::chrono::duration<double, std::milli>>& time);

/// Everything that the demo found out.
struct findings {
  std::size_t images = 0;
  std::chrono::duration<double> duration{};
  ledger::counts requests;
  std::vector<failed_request> failures;
  std::vector<injected_fault> faults;
  tally answers;
};

/// One sentence for each promise that was not kept; empty when all were.
[[nodiscard]] std::vector<std::string> broken_promises(const findings& found);

/// Prints the table and the verdict line; the program's exit status.
[[nodiscard]] int print_report(findings found);

}  // namespace digits
