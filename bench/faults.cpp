// The cost of a lost worker.

#include "process_figures.hpp"
#include "report.hpp"
#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using namespace std::chrono_literals;

device_config unlimited(bool standby) {
  return {.standby = standby,
          .restarts = {.restarts = 1'000'000},
          .backoff = {.initial = 0ns},
          .fault_injection = true};
}

void wait_for_standby(const device& gpu) {
  while (!gpu.health().standby_ready)
    std::this_thread::sleep_for(1ms);
}

void measure_failover(report& out, device gpu, bool standby) {
  const std::string how = standby ? ", with standby" : ", without standby";
  samples killed;
  samples device_time;
  for (int i = 0; i < 200; ++i) {
    if (standby) wait_for_standby(gpu);
    killed.take(1, [&] {
      const auto generation = gpu.generation();
      ::kill(gpu.worker_pid().value(), SIGKILL);
      do {
        gpu.ask(lane::marker{}).get();
      } while (gpu.generation() == generation);
    });
    device_time.add(gpu.health().last_failover);
  }
  out.add({"SIGKILL to the next generation's answer" + how + ", p50", killed.median() / 1e3, "ms"});
  out.add({"SIGKILL to the next generation's answer" + how + ", p99", killed.p99() / 1e3, "ms"});
  out.add({"first sign to hand-over" + how + ", p50", device_time.median() / 1e3, "ms"});
  out.add({"first sign to hand-over" + how + ", p99", device_time.p99() / 1e3, "ms"});
}

// A thousand requests in flight, of which one crashes.
void measure_losses(report& out, const device& gpu) {
  std::vector<future<void>> answers;
  answers.reserve(1000);
  for (int i = 0; i < 1000; ++i) {
    answers.push_back(
        i == 500 ? gpu.library("lane").ask(fault::inject{.what = fault::kind::segmentation_fault})
                 : gpu.library("lane").ask(lane::marker{}));
  }
  double answered = 0;
  double failed = 0;
  for (future<void>& one : answers) {
    if (!one.wait_for(10s)) continue;
    (one.get_result() ? answered : failed) += 1;
  }
  out.add({"1 000 in flight, one crashes: answered", answered, "requests", "promised", 999});
  out.add({"1 000 in flight, one crashes: failed", failed, "requests", "promised", 1});
  out.add({"1 000 in flight, one crashes: lost", 1000 - answered - failed, "requests"});
}

void measure_leaks(report& out, device gpu) {
  constexpr int restarts = 200;
  const auto restart = [&](int times) {
    for (int i = 0; i < times; ++i) {
      wait_for_standby(gpu);
      const auto generation = gpu.generation();
      ::kill(gpu.worker_pid().value(), SIGKILL);
      while (gpu.generation() == generation)
        gpu.ask(lane::marker{}).get();
    }
    wait_for_standby(gpu);
  };
  restart(20);  // caches and pools reach their size
  struct footprint {
    double descriptors = static_cast<double>(open_descriptors());
    double threads = static_cast<double>(running_threads());
    double processes = static_cast<double>(child_processes());
    double shared = resident_shared_kib();
    double resident = resident_kib();
  };
  const footprint before;
  restart(restarts);
  const footprint after;
  const std::string name = "growth over 200 restarts: ";
  out.add({name + "descriptors", after.descriptors - before.descriptors, ""});
  out.add({name + "threads", after.threads - before.threads, ""});
  out.add({name + "processes, dead ones too", after.processes - before.processes, ""});
  out.add({name + "shared memory", after.shared - before.shared, "KiB"});
  out.add({name + "resident memory", after.resident - before.resident, "KiB"});
}

}  // namespace

int main() {
  report out("faults: what a lost worker costs");
  troupe::system system;
  device gpu = system.device(0, unlimited(true));
  gpu.wait_until_ready().value();
  measure_failover(out, gpu, true);
  measure_losses(out, gpu);
  measure_leaks(out, gpu);
  gpu.stop();
  device alone = system.device(0, unlimited(false));  // in its place: there may be one GPU
  alone.wait_until_ready().value();
  measure_failover(out, alone, false);
  return out.finish();
}
