// The Savina programs with one thread and with two, beside the C++ Actor Framework: both sides in
// turn, in one run. Takes the beginning of a program's name, to run that one alone.
#include "savina.hpp"

#include "report.hpp"
#include "samples.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace bench::savina {
namespace {

using troupe::bench::at_least;
using troupe::bench::ratio_at_most;
using troupe::bench::report;
using troupe::bench::samples;

constexpr int runs = 5;

/// The time of all threads of the program so far.
std::chrono::microseconds processor_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto of = [](const timeval& t) {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

/// The runs of one side.
struct side {
  samples wall;
  samples processor;
  std::int64_t outcome = 0;

  void run(std::int64_t (*program)(int), int threads) {
    const auto used = processor_time();
    const auto begin = troupe::bench::clock::now();
    outcome = program(threads);
    wall.add(troupe::bench::clock::now() - begin);
    processor.add(processor_time() - used);
  }
};

class comparison {
 public:
  void run(const program& one, int threads) {
    const std::string name =
        fmt::format("{}, {} thread{}", one.name, threads, threads == 1 ? "" : "s");
    side ours;
    side caf;
    for (int i = 0; i < runs; ++i) {
      ours.run(one.troupe, threads);
      caf.run(one.caf, threads);
      if (ours.outcome == one.expected && caf.outcome == one.expected) continue;
      return report_.could_not_measure(name, fmt::format("{} and {} came of it, not {}",
                                                         ours.outcome, caf.outcome, one.expected));
    }
    const double wall = ours.wall.median();
    const double reference = caf.wall.median();
    report_.add({.name = name,
                 .value = wall / 1e3,
                 .unit = "ms",
                 .reference = "CAF 0.17.6",
                 .reference_value = reference / 1e3,
                 .target = ratio_at_most(1)});
    report_.add({.name = name + ", processor time",
                 .value = ours.processor.median() / 1e3,
                 .unit = "ms",
                 .reference = "CAF 0.17.6",
                 .reference_value = caf.processor.median() / 1e3});
    logarithms_ += std::log(reference / wall);
    ++rows_;
  }

  int finish() {
    report_.add({.name = "times as fast as CAF, geometric mean",
                 .value = std::exp(logarithms_ / std::max(rows_, 1)),
                 .unit = "",
                 .target = at_least(2.5)});
    return report_.finish();
  }

 private:
  report report_{"The Savina programs beside the C++ Actor Framework (CAF)"};
  double logarithms_ = 0;
  int rows_ = 0;
};

}  // namespace
}  // namespace bench::savina

int main(int argc, char** argv) {
  using namespace bench::savina;
  const std::string_view wanted = argc > 1 ? argv[1] : "";
  comparison both;
  for (const program& one :
       {ping_pong(), ask(), counting(), create(), throughput(), ring(), chameneos(), big(),
        dictionary(), bank(), reentrant_bank(), sieve(), fibonacci(), philosophers()}) {
    if (!one.name.starts_with(wanted)) continue;
    for (const int threads : {1, 2})
      both.run(one, threads);
  }
  return both.finish();
}
