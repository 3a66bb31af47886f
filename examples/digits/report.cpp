#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace digits {
namespace {

using namespace std::chrono_literals;

constexpr double least_accuracy = 0.98;

double accuracy(const tally& answers) {
  if (answers.answers == 0) return 0;
  return static_cast<double>(answers.correct) / static_cast<double>(answers.answers);
}

/// The value below which a share `q` of the sorted values lies.
float quantile(const std::vector<float>& sorted, double q) {
  if (sorted.empty()) return 0;
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(q * last)];
}

/// How the request that carried a fault may fail.
bool as_promised(const injected_fault& fault) {
  if (!fault.fails_a_request) return !fault.error;
  if (!fault.error) return false;
  return fault.error->code == troupe::errc::device_fault;
}

void print_faults(const std::vector<injected_fault>& faults) {
  fmt::print("\n{:<17}{:<20}{:>12}{:>18}{:>16}\n", "fault", "its request", "generation",
             "next generation", "next answer");
  for (const injected_fault& fault : faults) {
    const std::string_view outcome = fault.error             ? to_string(fault.error->code)
                                     : fault.fails_a_request ? "answered"
                                                             : "(from outside)";
    fmt::print("{:<17}{:<20}{:>12}{:>18}{:>16}\n", fault.name, outcome, fault.failover.generation,
               milliseconds(fault.failover.to_generation), milliseconds(fault.failover.to_answer));
  }
}

}  // namespace

screen::screen()
    : terminal_(::isatty(STDOUT_FILENO) == 1), start_(std::chrono::steady_clock::now()) {}

std::string screen::elapsed() const {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now() - start_;
  return fmt::format("{:6.2f} s", since.count());
}

void screen::live(std::string_view line) {
  const std::scoped_lock guard(lock_);
  const auto now = std::chrono::steady_clock::now();
  if (terminal_) {
    fmt::print("\r\033[K{}", line);
  } else if (now - last_line_ >= 500ms) {
    last_line_ = now;
    fmt::print("{}\n", line);
  }
  std::fflush(stdout);
}

void screen::event(std::string_view line) {
  const std::scoped_lock guard(lock_);
  fmt::print("{}{}\n", terminal_ ? "\r\033[K" : "", line);
  std::fflush(stdout);
}

std::string milliseconds(const std::optional<std::chrono::duration<double, std::milli>>& time) {
  return time ? fmt::format("{:.1f} ms", time->count()) : "never";
}

std::vector<std::string> broken_promises(const findings& found) {
  std::vector<std::string> broken;
  const auto expect = [&broken](bool kept, std::string otherwise) {
    if (!kept) broken.push_back(std::move(otherwise));
  };
  const ledger::counts& requests = found.requests;
  const auto injected = std::count_if(found.faults.begin(), found.faults.end(),
                                      [](const auto& fault) { return fault.fails_a_request; });
  expect(requests.lost == 0, fmt::format("{} requests lost", requests.lost));
  expect(requests.in_flight() == 0, fmt::format("{} requests unaccounted", requests.in_flight()));
  expect(requests.failed == injected,
         fmt::format("{} requests failed, {} were injected", requests.failed, injected));
  for (const injected_fault& fault : found.faults) {
    expect(as_promised(fault),
           fmt::format("{}: {}", fault.name, fault.error ? fault.error->to_string() : "no error"));
    expect(fault.failover.to_answer.has_value(),
           fmt::format("{}: the service did not come back", fault.name));
  }
  expect(found.answers.unlike_host == 0,
         fmt::format("{} answers differ from the host's own", found.answers.unlike_host));
  expect(found.answers.answers >= static_cast<std::int64_t>(found.images),
         fmt::format("only {} of {} images classified", found.answers.answers, found.images));
  expect(accuracy(found.answers) >= least_accuracy,
         fmt::format("accuracy {:.2f} %", 100 * accuracy(found.answers)));
  return broken;
}

int print_report(findings found) {
  std::vector<float>& latency = found.answers.latency_ms;
  std::sort(latency.begin(), latency.end());
  const ledger::counts& requests = found.requests;
  print_faults(found.faults);
  fmt::print("\n{:<14}{:.2f} %, each image against training images it is not among\n", "accuracy",
             100 * accuracy(found.answers));
  fmt::print("{:<14}{} classified, {} unlike the host's own answer\n", "images",
             found.answers.answers, found.answers.unlike_host);
  fmt::print("{:<14}{} sent, {} answered, {} failed, {} lost\n", "requests", requests.sent,
             requests.answered, requests.failed, requests.lost);
  fmt::print("{:<14}{:.0f} images/s over {:.1f} s, the faults included\n", "throughput",
             static_cast<double>(found.answers.answers) / found.duration.count(),
             found.duration.count());
  fmt::print("{:<14}p50 {:.2f} ms, p99 {:.2f} ms, longest {:.1f} ms\n\n", "latency",
             quantile(latency, 0.50), quantile(latency, 0.99), quantile(latency, 1.0));

  const std::vector<std::string> broken = broken_promises(found);
  for (const failed_request& failure :
       broken.empty() ? std::vector<failed_request>{} : found.failures) {
    fmt::print("failed: {}: {}\n", failure.who, failure.error.to_string());
  }
  for (const std::string& promise : broken)
    fmt::print("broken: {}\n", promise);
  if (!broken.empty()) {
    fmt::print("demo: FAILED, {} promises broken\n", broken.size());
    return 1;
  }
  fmt::print("demo: ok, {:.2f} % right, {} requests, {} failed as injected, 0 lost, {} failovers\n",
             100 * accuracy(found.answers), requests.sent, requests.failed, found.faults.size());
  return 0;
}

}  // namespace digits
