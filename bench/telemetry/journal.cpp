// The cost of a journal: for the sender of a request, for a whole request, and for data.

#include "report.hpp"

#include <troupe/journal/replay.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/telemetry/request_journal.hpp>
#include <troupe/troupe.hpp>

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using clock_type = std::chrono::steady_clock;

constexpr int requests = 512;  // fewer than the mailbox holds, so that no sender waits
constexpr int turns = 60;
constexpr std::size_t copied = std::size_t{64} << 20;

std::string path_of_journal() {
  return (std::filesystem::temp_directory_path() / fmt::format("troupe-bench-{}", ::getpid()))
      .string();
}

double thread_nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

/// A device of a system of its own, with a journal or without.
class one {
 public:
  explicit one(std::shared_ptr<request_journal> journal)
      : journal_(std::move(journal)), gpu_(device_with(journal_)) {
    gpu_.wait_until_ready().value();
    x_ = gpu_.tensor<float>({64}).value();
    for (int i = 0; i < 3; ++i)
      (void)turn();
  }

  struct times {
    double sender = 1e18;  // processor time of a tell
    double whole = 1e18;   // wall time of a request, many in a row
  };
  /// Nanoseconds a request.
  times turn() {
    const auto begin = clock_type::now();
    const double from = thread_nanoseconds();
    for (int i = 0; i < requests; ++i)
      gpu_.tell(memory::fill{.to = x_, .value = i}).value();
    const double to = thread_nanoseconds();
    gpu_.ask(memory::fill{.to = x_, .value = 0}).get();
    const std::chrono::duration<double, std::nano> all = clock_type::now() - begin;
    return {(to - from) / requests, all.count() / requests};
  }
  /// Gigabytes a second into the device and, with a journal, into its file.
  double copy(std::vector<float>& numbers) {
    auto t = gpu_.tensor<float>({static_cast<std::int64_t>(numbers.size())}).value();
    gpu_.copy(numbers, t).get();
    const auto begin = clock_type::now();
    double bytes = 0;
    for (int i = 0; i < 8; ++i) {
      // Each block has other bytes than any before.
      for (std::size_t k = 0; k < numbers.size(); k += 1024)
        numbers[k] += 1;
      gpu_.copy(numbers, t).get();
      bytes += static_cast<double>(numbers.size() * sizeof(float));
    }
    if (journal_) journal_->flush();
    return bytes / std::chrono::duration<double, std::nano>(clock_type::now() - begin).count();
  }

 private:
  device device_with(const std::shared_ptr<request_journal>& journal) {
    device_config config;
    config.journal = journal;
    config.full = when_full::wait;
    return system_.device(0, config);
  }

  troupe::system system_;
  std::shared_ptr<request_journal> journal_;
  device gpu_;
  tensor<float> x_;
};

void best(one::times& of, const one::times& now) {
  of.sender = std::min(of.sender, now.sender);
  of.whole = std::min(of.whole, now.whole);
}

}  // namespace

int main() {
  report found("journal");
  const std::string path = path_of_journal();
  {
    one without(nullptr);
    one with(request_journal::open(path, {.data = journal_options::stored::frames,
                                          .behind = journal_options::when_behind::wait})
                 .value());
    one::times off;
    one::times on;
    for (int i = 0; i < turns; ++i) {
      best(off, without.turn());
      best(on, with.turn());
    }
    found.add({.name = "journal, frames only: more processor time of the sender",
               .value = (on.sender - off.sender) / 1000,
               .unit = "us",
               .target = at_most(0.1)});
    found.add({.name = "journal, frames only: a request, many in a row",
               .value = on.whole / 1000,
               .unit = "us",
               .reference = "without",
               .reference_value = off.whole / 1000});
  }
  std::filesystem::remove(path);
  {
    std::vector<float> numbers(copied / sizeof(float));
    std::iota(numbers.begin(), numbers.end(), 0.F);
    one without(nullptr);
    const auto journal =
        request_journal::open(path, {.behind = journal_options::when_behind::wait}).value();
    one with(journal);
    const double off = without.copy(numbers);
    const double on = with.copy(numbers);
    found.add({.name = "journal, contents: copies in, until they are in the file",
               .value = on,
               .unit = "GB/s",
               .reference = "without",
               .reference_value = off,
               .target = at_least(2)});
  }
  std::filesystem::remove(path);
  return found.finish();
}
