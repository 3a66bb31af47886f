// The cost of telemetry, and whether it tells the truth.

#include "telemetry.hpp"

#include "samples.hpp"

#include <troupe/device/device.hpp>
#include <troupe/device/request_tracer.hpp>
#include <troupe/lane/marker.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::bench {
namespace {

/// A system with one device on the CPU.
struct program {
  explicit program(std::uint32_t sample, std::shared_ptr<request_tracer> tracer = nullptr)
      : system({.metrics = {.sample = sample}}),
        gpu(system.device(0, {.backend = backend_kind::cpu, .tracer = std::move(tracer)})) {
    gpu.wait_until_ready().value();
  }

  void ask() const { gpu.ask(lane::marker{}).get(); }
  void ask_many() const {
    std::vector<future<void>> answers;
    answers.reserve(512);
    for (std::size_t i = 0; i < answers.capacity(); ++i)
      answers.push_back(gpu.ask(lane::marker{}));
    for (future<void>& one : answers)
      one.get();
  }

  troupe::system system;
  device gpu;
};

/// Takes both in turn; the ratio is the median of that of pairs.
template <class Work>
void compare(report& out, const std::string& name, const program& on, const program& off,
             target wanted, double per_run, int runs, Work&& work) {
  samples with;
  samples without;
  samples ratios;
  for (int turn = 0; turn < 60; ++turn) {
    samples a;
    samples b;
    for (int i = 0; i < runs; ++i) {
      a.take(1, [&] { work(on); });
      b.take(1, [&] { work(off); });
    }
    ratios.add(b.median() / a.median());
    with.add(a.median());
    without.add(b.median());
  }
  if (per_run == 1) {
    out.add({name, with.median() * 1e3, "ns", "no times", without.median() * 1e3, wanted,
             1 / ratios.median()});
  } else {
    out.add({name, per_run / with.median() * 1e6, "1/s", "no times",
             per_run / without.median() * 1e6, wanted, ratios.median()});
  }
}

/// The part of each request's time, from sending to its answer, that its parts add up to.
class parts_tracer final : public request_tracer {
 public:
  void after_completion(const traced_request& r, const request_times& t,
                        const error* /*failure*/) noexcept override {
    const std::chrono::duration<double> all = clock::now() - r.sent;
    const std::chrono::duration<double> parts =
        t.queue + t.launch + t.wake;  // on the CPU it runs in the launch
    const std::size_t at = taken_.load(std::memory_order_relaxed);
    if (at == found_.size()) return;
    found_[at] = parts / all;
    taken_.store(at + 1, std::memory_order_release);  // one thread at a time answers
  }
  [[nodiscard]] samples found() const {
    samples made;
    for (std::size_t i = 0; i < taken_.load(std::memory_order_acquire); ++i)
      made.add(found_[i]);
    return made;
  }

 private:
  std::vector<double> found_ = std::vector<double>(20'000);
  std::atomic<std::size_t> taken_{0};
};

void measure_parts(report& out) {
  const auto tracer = std::make_shared<parts_tracer>();
  const program all(1, tracer);
  for (int i = 0; i < 20'000; ++i)
    all.ask();
  out.add({"parts of a request's time, beside the whole, p50",
           tracer->found().median(),
           "",
           "",
           {},
           at_least(0.98)});
}

}  // namespace

void measure_asks(report& out) {
  const program off(0);
  for (const std::uint32_t sample : {64U, 1U}) {
    const program on(sample);
    const std::string which = sample == 1 ? ", times of all" : ", times of one in 64";
    const bool is_default = sample != 1;
    compare(out, "ask, empty" + which, on, off, ratio_at_most(is_default ? 1.1 : 2), 1, 1000,
            [](const program& p) { p.ask(); });
    compare(out, "pipelined asks" + which, on, off, ratio_at_least(is_default ? 0.98 : 0), 512, 10,
            [](const program& p) { p.ask_many(); });
  }
  measure_parts(out);
}

}  // namespace troupe::bench

// With an argument, that part alone: asks, counting or truth.
int main(int argc, char** argv) {
  using namespace troupe::bench;
  const std::string_view part = argc > 1 ? argv[1] : "";
  report out("telemetry: what it costs, and whether it tells the truth");
  if (part.empty() || part == "asks") measure_asks(out);
  if (part.empty() || part == "counting") measure_counting(out);
  if (part.empty() || part == "truth") measure_truth(out);
  return out.finish();
}
