// A digit-recognition service on a device whose worker dies three times while clients are asking:
// killed from outside, crashed by a request (on a GPU: by a kernel that writes to an illegal
// address), and hung by another. Nothing is lost.
//
//   digits FILE [SECONDS]

#include "dataset.hpp"
#include "failover.hpp"
#include "ledger.hpp"
#include "report.hpp"
#include "service.hpp"

#include <troupe/troupe.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace digits {
namespace {

using namespace std::chrono_literals;

constexpr int clients = 4;
constexpr int in_flight_each = 4;

void paint(const std::stop_token& stop, screen& out, service& running, const ledger& requests,
           const troupe::device& device) {
  while (!stop.stop_requested()) {
    const service::pulse pulse = running.take_pulse();
    const ledger::counts counts = requests.count();
    out.live(
        fmt::format("{}  {:>8} images  {:>8} requests  {:>3} in flight  generation {}  {:.2f} ms",
                    out.elapsed(), pulse.answers, counts.answered, counts.in_flight(),
                    device.generation(), pulse.latency_ms));
    std::this_thread::sleep_for(100ms);
  }
}

/// The three faults, a quarter of the time apart.
std::vector<injected_fault> run_faults(screen& out, troupe::device& device, ledger& requests,
                                       failover_clock& failovers,
                                       std::chrono::duration<double> quarter) {
  std::vector<injected_fault> faults;
  const auto event = [&out](std::string_view what) {
    out.event(fmt::format("{}  {}", out.elapsed(), what));
  };
  const auto inject = [&](std::string_view what, const auto& fault) {
    std::this_thread::sleep_for(quarter);
    event(what);
    const failover_clock::reading& failover = faults.emplace_back(fault()).failover;
    event(fmt::format("generation {} after {}, next answer after {}", failover.generation,
                      milliseconds(failover.to_generation), milliseconds(failover.to_answer)));
  };
  inject("SIGKILL to the worker", [&] { return kill_worker(device, failovers); });
  inject(on_gpu(device) ? "a kernel writes to an illegal address" : "a request crashes the worker",
         [&] { return crash_worker(device, requests, failovers); });
  inject("a request runs beyond its limit",
         [&] { return hang_worker(device, requests, failovers); });
  std::this_thread::sleep_for(quarter);
  return faults;
}

int run(const std::string& path, std::chrono::duration<double> duration) {
  const dataset all = read_dataset(path).value();
  ledger requests;
  failover_clock failovers;
  troupe::system system;
  troupe::device device = system.device(0, troupe::device_config{.fault_injection = true});
  device.watch_generation([&failovers](std::optional<std::uint64_t> generation) {
    if (generation) failovers.ready(*generation, std::chrono::steady_clock::now());
  });

  service digits_service(device, all, requests, failovers);
  screen out;
  const troupe::device_description& is = device.description();
  out.event(is.uuid.empty() ? fmt::format("on the {}", is.name)
                            : fmt::format("on {}, {}, GPU {}, {}", is.name, is.architecture,
                                          is.ordinal, is.uuid));
  out.event(fmt::format("{} images; {} clients, {} classifications in flight each", all.size(),
                        clients, in_flight_each));
  const auto start = std::chrono::steady_clock::now();
  digits_service.start(clients, in_flight_each);
  std::vector<injected_fault> faults;
  {
    const std::jthread painter(
        [&](const std::stop_token& stop) { paint(stop, out, digits_service, requests, device); });
    faults = run_faults(out, device, requests, failovers, duration / 4);
  }
  tally answers = digits_service.stop();
  out.event(fmt::format("{}  done", out.elapsed()));
  return print_report({.images = all.size(),
                       .duration = std::chrono::steady_clock::now() - start,
                       .requests = requests.count(),
                       .failures = requests.failures(),
                       .faults = std::move(faults),
                       .answers = std::move(answers)});
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  const double seconds = argc > 2 ? std::strtod(argv[2], nullptr) : 6;
  if (argc < 2 || argc > 3 || !(seconds > 0)) {
    fmt::print(stderr, "usage: digits FILE [SECONDS]\n");
    return 2;
  }
  try {
    return digits::run(argv[1], std::chrono::duration<double>(seconds));
  } catch (const troupe::failure& failure) {
    fmt::print("demo: FAILED, {}\n", failure.what());
    return 1;
  }
}
