#pragma once

#include "process_figures.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>

#include <unistd.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::bench {

/// The processor time of an idle device with a standby, in percent of one processor.
inline void measure_idle(report& out, const device& gpu, double at_most_percent) {
  using namespace std::chrono_literals;
  std::this_thread::sleep_for(1s);  // spinning threads have stopped by then
  const std::vector<std::pair<std::string, pid_t>> processes = {
      {"program", ::getpid()},
      {"worker", gpu.worker_pid().value()},
      {"standby", gpu.health().standby_pid.value()}};
  std::vector<std::chrono::nanoseconds> before;
  before.reserve(processes.size());
  for (const auto& [name, pid] : processes)
    before.push_back(processor_time(pid).value());
  const auto begin = clock::now();
  std::this_thread::sleep_for(5s);
  const std::chrono::duration<double> spent = clock::now() - begin;
  double all = 0;
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const auto& [name, pid] = processes[i];
    const std::chrono::duration<double> used = processor_time(pid).value() - before[i];
    const double percent = used / spent * 100;
    all += percent;
    out.add({"idle for 5 s, processor time of the " + name, percent, "% core"});
  }
  out.add({"idle for 5 s, processor time of all", all, "% core", "", {}, at_most(at_most_percent)});
}

}  // namespace troupe::bench
