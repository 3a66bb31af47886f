// How soon a device on a GPU serves again after a kernel of its own has faulted: one request at a
// time, with a standby. `bench_gpu_faults [TRIALS]` injects each kind that often, 20 times by
// default.

#include "count_argument.hpp"
#include "questions.hpp"

#include <troupe/ops/fault/inject.hpp>

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

namespace {

using namespace troupe;
using namespace troupe::bench;
using namespace std::chrono_literals;

struct fault_case {
  fault::kind what;
  double at_most_ms;  // from sending the fault to the next correct answer
};

constexpr auto hang_deadline = 50ms;
// The driver itself takes 100 to 150 ms to tell of an access that no mapping allows.
constexpr fault_case cases[] = {
    {fault::kind::trap, 30},
    {fault::kind::failed_assertion, 30},
    {fault::kind::stack_overflow, 30},
    {fault::kind::unmapped_address, 160},
    {fault::kind::misaligned_address, 160},
    {fault::kind::write_frozen, 160},
    {fault::kind::hang, 60},
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
                 {.deadline = hangs ? std::optional<std::chrono::nanoseconds>(hang_deadline)
                                    : std::nullopt})
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

void measure(report& out, const device& gpu, questions& asked, faults& injected,
             const fault_case& one, int trials) {
  samples named;
  samples answered;
  samples hand_over;
  for (int i = 0; i < trials; ++i) {
    wait_until_settled(gpu, true);
    (void)asked.ask();
    const auto generation = gpu.generation();
    const auto sent = clock::now();
    injected.inject(one.what);
    named.add(clock::now() - sent);
    (void)ask_until_replaced(gpu, asked, generation);
    answered.add(clock::now() - sent);
    hand_over.add(gpu.health().last_failover);
  }
  const auto add = [&](const std::string& name, samples& times, std::optional<target> aim) {
    const std::string what = fmt::format("{}, {}", fault::to_string(one.what), name);
    out.add({what + ", p50", times.median() / 1e3, "ms", "", {}, aim});
    out.add({what + ", p99", times.p99() / 1e3, "ms", "", {}, aim});
  };
  add("its error", named, std::nullopt);
  add("next correct answer", answered, at_most(one.at_most_ms));
  // The first sign of a hang is its deadline, which its own target has in it.
  const bool hangs = one.what == fault::kind::hang;
  add("first sign to hand-over", hand_over, hangs ? std::nullopt : std::optional(at_most(3)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<int> trials = count_argument(argc, argv, 20, "TRIALS");
  if (!trials) return 2;
  report out("gpu_faults: from a kernel's fault to the next correct answer");
  section(out, "everything", [&] {
    troupe::system system;
    const device gpu = system.device(0, {.backend = backend_kind::cuda,
                                         .restarts = {.restarts = 1'000'000},
                                         .backoff = {.initial = 0ns},
                                         .fault_injection = true});
    wait_until_settled(gpu, true);
    questions asked(gpu);
    faults injected(gpu);
    for (const fault_case& one : cases) {
      section(out, std::string(fault::to_string(one.what)),
              [&] { measure(out, gpu, asked, injected, one, *trials); });
    }
  });
  return out.finish();
}
