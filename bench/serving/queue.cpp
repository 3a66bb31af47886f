// The queue of a serving program: the time that an item costs it, from the door to its answer.
#include "report.hpp"

#include <troupe/serving/batch_queue.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace {

using namespace std::chrono_literals;
using troupe::bench::at_most;
using troupe::bench::report;
using namespace troupe::serving;

/// Microseconds an item, in batches of 32 while `waiting` others wait. The fastest turn counts,
/// because nothing else has delayed it.
double time_of_item(std::int64_t waiting, std::uint64_t tenants, bool deadlines) {
  batch_queue queue({.queue = {.items = 1 << 20, .device_time = 1h}});
  time_point now{1h};
  std::uint64_t count = 0;
  const auto admit = [&] {
    ++count;
    const auto verdict = queue.admit({.cost = static_cast<std::int64_t>(1 + count % 16),
                                      .bytes = 64,
                                      .tenant = count * 7 % tenants,
                                      .deadline = deadlines ? now + 1h : time_point::max()},
                                     now);
    if (!verdict) std::abort();
  };
  for (std::int64_t i = 0; i < waiting; ++i)
    admit();
  double fastest = 1e9;
  for (int turn = 0; turn < 20; ++turn) {
    constexpr int batches = 100;
    const auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < batches; ++i) {
      for (int j = 0; j < 32; ++j)
        admit();
      const auto plan = queue.next(now);
      now += 1ms;
      queue.finish(plan->id, now, run_end::answered);
      (void)queue.take_ended();
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - from;
    fastest = std::min(fastest, took.count() / (batches * 32));
  }
  return fastest;
}

}  // namespace

int main() {
  report out("serving: the queue's time for an item, in batches of 32");
  const auto row = [&](const std::string& name, double us) {
    out.add({name, us, "us", "", {}, at_most(2)});
  };
  row("one tenant, none waits", time_of_item(0, 1, false));
  row("one tenant, 4 000 wait", time_of_item(4000, 1, false));
  row("64 tenants, 4 000 wait, deadlines", time_of_item(4000, 64, true));
  row("4 096 tenants, 8 000 wait, deadlines", time_of_item(8000, 4096, true));
  return out.finish();
}
