// The time until a device on a GPU serves again after one of its kernels has faulted: one request
// at
// a time, with a standby; and the effect of the same fault on processes that use CUDA alone.
// `bench_gpu_faults [TRIALS]` injects each kind that often, 20 times by default.

#include "count_argument.hpp"
#include "gpu/raw/raw_fault.hpp"
#include "questions.hpp"

#include <troupe/fault/inject.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace troupe;
using namespace troupe::bench;
using namespace std::chrono_literals;

struct fault_case {
  fault::kind what;
  double at_most_ms;  // from sending the fault to the next correct answer
  // Measured in plain CUDA, too, so long after the fault before: the driver tells of an address
  // fault a third sooner where another one was half a second ago, and Troupe's come alone.
  std::optional<std::chrono::milliseconds> plain_pause;
};

constexpr auto hang_limit = 50ms;
// The driver itself takes some 140 ms to tell of an access that no mapping allows.
constexpr fault_case cases[] = {
    {fault::kind::trap, 30, 0ms},
    {fault::kind::failed_assertion, 30, 0ms},
    {fault::kind::stack_overflow, 30, 0ms},
    {fault::kind::unmapped_address, 160, 1s},
    {fault::kind::misaligned_address, 160, 1s},
    {fault::kind::write_frozen, 160, std::nullopt},
    {fault::kind::hang, 60, std::nullopt},
};

/// Requests that fault, no two of which are the same: twice the same would be in quarantine.
class faults {
 public:
  explicit faults(const device& gpu)
      : gpu_(gpu),
        frozen_(gpu_.tensor<float>({1 << 20}, initial::zero).value()),
        outputs_(gpu_.tensor<float>({4096}).value()) {
    gpu_.freeze(frozen_).get();
  }

  /// Throws unless it was answered as the fault of a device.
  void inject(fault::kind what) {
    const std::int64_t place = next_++ % outputs_.count();
    const any_tensor target =
        what == fault::kind::write_frozen ? any_tensor(frozen_) : any_tensor();
    const bool hangs = what == fault::kind::hang;
    const auto outcome =
        gpu_.library("fault")
            .ask(fault::inject{.what = what,
                               .target = target,
                               .output = outputs_.slice(0, place, place + 1).value()},
                 {.run_limit =
                      hangs ? std::optional<std::chrono::nanoseconds>(hang_limit) : std::nullopt})
            .get_result();
    if (outcome) throw std::runtime_error("an injected fault was answered as success");
    if (outcome.error().code != errc::device_fault) throw failure(outcome.error());
  }

 private:
  device gpu_;
  tensor<float> frozen_;
  tensor<float> outputs_;
  std::int64_t next_ = 0;
};

/// Times, and those of plain CUDA that they are told beside.
struct beside {
  samples times;
  samples plain;
  std::string reference;
};

void add(report& out, const std::string& what, beside& of, std::optional<target> aim) {
  const auto line = [&](const std::string& name, double value, double (samples::*take)()) {
    measurement m{what + name, value / 1e3, "ms", of.reference, {}, aim};
    if (!of.plain.empty()) m.reference_value = (of.plain.*take)() / 1e3;
    out.add(std::move(m));
  };
  line(", p50", of.times.median(), &samples::median);
  line(", p99", of.times.p99(), &samples::p99);
}

/// The first signs of one kind of fault under CUDA alone: an Xid event or the driver's error. No
/// supervisor can know sooner. Measured before a device of Troupe exists, so that there are two
/// contexts, as later: a third one would make the GPU stand still for longer.
samples measure_plain(report& out, raw::faulting_processes& processes, const fault_case& one,
                      int trials) {
  beside told;
  beside event;
  beside pause;
  samples first_sign;
  for (int i = 0; i < trials; ++i) {
    std::this_thread::sleep_for(*one.plain_pause);
    const raw::fault_cost cost = processes.fault(one.what);
    told.times.add(cost.told * 1e3);
    pause.times.add(cost.pause * 1e3);
    if (cost.event) event.times.add(*cost.event * 1e3);
    first_sign.add(std::min(cost.told, cost.event.value_or(cost.told)) * 1e3);
  }
  const std::string name = fmt::format("{} in plain CUDA", fault::to_string(one.what));
  add(out, name + ", its error", told, std::nullopt);
  if (!event.times.empty()) add(out, name + ", its Xid event", event, std::nullopt);
  add(out, name + ", pause of another process", pause, std::nullopt);
  return first_sign;
}

void measure(report& out, const device& gpu, questions& asked, faults& injected,
             const fault_case& one, const samples& first_sign, int trials) {
  const std::string reference = first_sign.empty() ? "" : "first sign in plain CUDA";
  beside named{.times = {}, .plain = first_sign, .reference = reference};
  beside answered = named;
  beside hand_over;
  for (int i = 0; i < trials; ++i) {
    wait_until_settled(gpu, true);
    (void)asked.ask();
    const auto generation = gpu.generation();
    const auto sent = clock::now();
    injected.inject(one.what);
    named.times.add(clock::now() - sent);
    (void)ask_until_replaced(gpu, asked, generation);
    answered.times.add(clock::now() - sent);
    hand_over.times.add(gpu.health().last_failover);
  }
  const std::string what(fault::to_string(one.what));
  add(out, what + ", its error", named, std::nullopt);
  add(out, what + ", next correct answer", answered, at_most(one.at_most_ms));
  // The first sign of a hang is its run limit, which its own target has in it.
  const bool hangs = one.what == fault::kind::hang;
  add(out, what + ", first sign to hand-over", hand_over,
      hangs ? std::nullopt : std::optional(at_most(3)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<int> trials = count_argument(argc, argv, 20, "TRIALS");
  if (!trials) return 2;
  report out("gpu_faults: from a kernel's fault to the next correct answer");
  std::array<samples, std::size(cases)> plain;
  section(out, "plain CUDA", [&] {
    raw::faulting_processes processes;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (!cases[i].plain_pause) continue;
      plain[i] = measure_plain(out, processes, cases[i], *trials);
    }
  });
  section(out, "everything", [&] {
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda,
                                         .restarts = {.restarts = 1'000'000},
                                         .backoff = {.initial = 0ns},
                                         .fault_injection = true});
    wait_until_settled(gpu, true);
    questions asked(gpu);
    faults injected(gpu);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      section(out, std::string(fault::to_string(cases[i].what)),
              [&] { measure(out, gpu, asked, injected, cases[i], plain[i], *trials); });
    }
  });
  return out.finish();
}
