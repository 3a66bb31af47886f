// The cost of an idle device on a GPU, the cost of a lost worker, and the remains of many.
// `bench_gpu_idle [WORKERS]` loses that many, 200 by default.

#include "count_argument.hpp"
#include "death_watch.hpp"
#include "idle_figures.hpp"
#include "process_figures.hpp"
#include "questions.hpp"

#include <troupe/fault/inject.hpp>
#include <troupe/lane/launch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace troupe;
using namespace troupe::bench;
using namespace std::chrono_literals;

device open(troupe::system& system, bool standby) {
  device gpu = system.device(0, {.backend = backend_kind::cuda,
                                 .standby = standby,
                                 .restarts = {.restarts = 1'000'000},
                                 .backoff = {.initial = 0ns},
                                 .fault_injection = true});
  wait_until_settled(gpu, standby);
  return gpu;
}

// Loss ------------------------------------------------------------------------------------------

void measure_failover(report& out, const device& gpu, questions& asked, bool standby, int trials,
                      double at_most_ms) {
  samples since_kill;
  samples since_death;
  samples hand_over;
  int blamed = 0;
  for (int i = 0; i < trials; ++i) {
    wait_until_settled(gpu, standby);
    (void)asked.ask();
    const auto generation = gpu.generation();
    const pid_t worker = gpu.worker_pid().value();
    death_watch watch(worker);
    const auto killed = clock::now();
    ::kill(worker, SIGKILL);
    blamed += ask_until_replaced(gpu, asked, generation);
    const auto answered = clock::now();
    since_kill.add(answered - killed);
    since_death.add(std::max(answered - watch.seen(), clock::duration::zero()));
    hand_over.add(gpu.health().last_failover);
  }
  const std::string how = standby ? ", with standby" : ", without standby";
  const auto add = [&](const std::string& name, samples& times, std::optional<target> aim) {
    out.add({name + how + ", p50", times.median() / 1e3, "ms", "", {}, aim});
    out.add({name + how + ", p99", times.p99() / 1e3, "ms", "", {}, aim});
  };
  add("SIGKILL to the next correct answer", since_kill, std::nullopt);
  add("death of the worker to the next correct answer", since_death, at_most(at_most_ms));
  add("first sign that the device had to hand-over", hand_over, std::nullopt);
  out.add({"questions that went down with their worker" + how, static_cast<double>(blamed), ""});
}

// Leaks -----------------------------------------------------------------------------------------

class losses {
 public:
  losses(const device& gpu, questions& asked)
      : gpu_(gpu), asked_(asked), room_(gpu_.tensor<float>({4096}).value()) {}

  /// Loses one worker, each time in the next of four ways, and waits until the next answers and has
  /// a standby behind it.
  void one() {
    const auto generation = gpu_.generation();
    switch (count_++ % 4) {
      case 0:
        ::kill(gpu_.worker_pid().value(), SIGKILL);
        break;
      case 1:
        for (int i = 0; i < 200; ++i)
          (void)gpu_.tell(lane::launch{});
        ::kill(gpu_.worker_pid().value(), SIGKILL);
        break;
      case 2:
        inject(fault::kind::segmentation_fault);
        break;
      default:
        inject(fault::kind::abort);
        break;
    }
    (void)ask_until_replaced(gpu_, asked_, generation);
    wait_until_settled(gpu_, true);
  }

 private:
  void inject(fault::kind what) {
    // Each names other memory, because the same request would soon be in quarantine.
    const std::int64_t place = count_ % room_.count();
    const auto outcome =
        gpu_.ask(fault::inject{.what = what, .target = room_.slice(0, place, place + 1).value()})
            .get_result();
    if (outcome) throw std::runtime_error("an injected fault was answered as success");
  }

  device gpu_;
  questions& asked_;
  tensor<float> room_;
  int count_ = 0;
};

struct footprint {
  std::optional<double> device_mib = device_memory_mib();
  double resident = resident_kib();
  std::size_t descriptors = open_descriptors();
  std::size_t threads = running_threads();
  std::size_t children = child_processes();
};

/// The footprint once dead workers are reaped and their memory is given back.
footprint settled(const footprint* before) {
  const auto give_up = clock::now() + 10s;
  for (;;) {
    footprint now;
    const bool grown = before != nullptr &&
                       (now.device_mib > before->device_mib || now.children > before->children ||
                        now.descriptors > before->descriptors);
    if (!grown || clock::now() > give_up) return now;
    std::this_thread::sleep_for(100ms);
  }
}

void measure_leaks(report& out, const device& gpu, questions& asked, int workers) {
  losses lose(gpu, asked);
  for (int i = 0; i < 20; ++i)
    lose.one();  // caches and pools reach their size
  std::this_thread::sleep_for(1s);
  const footprint before = settled(nullptr);
  for (int i = 0; i < workers; ++i)
    lose.one();
  const footprint after = settled(&before);
  const std::string name = fmt::format("growth over {} lost workers: ", workers);
  const auto growth = [](auto now, auto then) {
    return static_cast<double>(now) - static_cast<double>(then);
  };
  if (before.device_mib && after.device_mib) {
    out.add({name + "device memory",
             growth(*after.device_mib, *before.device_mib),
             "MiB",
             "",
             {},
             at_most(0)});
  } else {
    out.could_not_measure(name + "device memory", "nvidia-smi does not answer");
  }
  // A page more or less is the allocator's own business.
  out.add({name + "resident memory",
           growth(after.resident, before.resident),
           "KiB",
           "",
           {},
           at_most(1024)});
  out.add({name + "descriptors",
           growth(after.descriptors, before.descriptors),
           "",
           "",
           {},
           at_most(0)});
  out.add({name + "threads", growth(after.threads, before.threads), "", "", {}, at_most(0)});
  out.add({name + "processes", growth(after.children, before.children), "", "", {}, at_most(0)});
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<int> workers = count_argument(argc, argv, 200, "WORKERS");
  if (!workers) return 2;
  report out("gpu_idle: an idle device, lost workers, and what they leave behind");
  const int trials = std::min(*workers, 50);
  section(out, "with standby", [&] {
    troupe::system system;
    const device gpu = open(system, true);
    questions asked(gpu);
    section(out, "idle", [&] {
      for (int i = 0; i < 100; ++i)
        (void)asked.ask();
      measure_idle(out, gpu, 0.5);
    });
    section(out, "failover with standby",
            [&] { measure_failover(out, gpu, asked, true, trials, 3); });
    section(out, "leaks", [&] { measure_leaks(out, gpu, asked, *workers); });
  });
  section(out, "without standby", [&] {
    troupe::system system;
    const device gpu = open(system, false);
    questions asked(gpu);
    measure_failover(out, gpu, asked, false, std::min(trials, 20), 400);
  });
  return out.finish();
}
