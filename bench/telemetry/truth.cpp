#include "process_figures.hpp"
#include "samples.hpp"
#include "telemetry.hpp"
#include "telemetry/client.hpp"

#include <troupe/device/device.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/telemetry/serve.hpp>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>

namespace troupe::bench {
namespace {

using namespace std::chrono_literals;

struct served {
  served()
      : gpu(system.device(0, {.backend = backend_kind::cpu,
                              .standby = true,
                              .restarts = {.restarts = 1'000'000},
                              .backoff = {.initial = 0ns}})),
        shown(telemetry::serve(system, {.socket = false}).value()) {
    gpu.wait_until_ready().value();
  }

  [[nodiscard]] bool is_ready() const { return test::ask(shown.port(), "/readyz").status == 200; }
  void kill() const {
    if (const auto worker = gpu.worker_pid()) ::kill(*worker, SIGKILL);
  }

  troupe::system system;
  device gpu;
  telemetry::server shown;
};

void add_both(report& out, const std::string& name, samples& found, const std::string& unit,
              double scale, target wanted) {
  out.add({name + ", p50", found.median() * scale, unit});
  out.add({name + ", p99", found.p99() * scale, unit, "", {}, wanted});
}

void measure_stops(report& out, served& s) {
  constexpr int stops = 200;
  samples took;
  int wrong = 0;
  for (int i = 0; i < stops; ++i) {
    s.gpu.stop();
    took.take(1, [&] { wrong += s.is_ready() ? 1 : 0; });
    s.gpu.restart().value();
    s.gpu.wait_until_ready().value();
  }
  add_both(out, "device has stopped: /readyz is 503", took, "ms", 1e-3, at_most(10));
  out.add({"200 stops: /readyz was 200 after it",
           static_cast<double>(wrong),
           "times",
           "",
           {},
           at_most(0)});
}

os::unique_fd stream_of(std::uint16_t port) {
  os::unique_fd made = test::connect_to(port);
  (void)test::put(made, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return made;
}

// Reads a stream of events. One read may bring several.
class event_reader {
 public:
  explicit event_reader(std::uint16_t port) : stream_(stream_of(port)) {}
  void skip_to(const std::string& text) {
    if (text_.find(text) == std::string::npos) text_ += test::take(stream_, text);
    text_.erase(0, text_.find(text) + text.size());
  }

 private:
  os::unique_fd stream_;
  std::string text_{};
};

void measure_events(report& out, const served& s) {
  event_reader stream(s.shown.port());
  samples took;
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(37 * i % 250));  // anywhere in a period
    const auto generation = s.gpu.generation();
    took.take(1, [&] {
      s.kill();
      stream.skip_to(R"("kind":"lost")");
    });
    while (s.gpu.generation() == generation)
      s.gpu.ask(lane::marker{}).get();
  }
  add_both(out, "SIGKILL to the event in a stream", took, "ms", 1e-3, at_most(300));
}

/// Requests go on beside it: each is answered, so a device that is not ready would be a lie.
void measure_readiness(report& out, const served& s) {
  std::atomic<bool> ends{false};
  std::atomic<std::uint64_t> failed{0};
  samples waits;
  std::jthread load([&] {
    while (!ends) {
      waits.take(1, [&] { failed += s.gpu.ask(lane::marker{}).get_result() ? 0 : 1; });
    }
  });
  int not_ready = 0;
  int looks = 0;
  pid_t killed = 0;
  for (int kills = 0; kills < 200; ++looks) {
    const auto worker = s.gpu.worker_pid();
    if (looks % 50 == 0 && worker && *worker != killed) {
      ::kill(killed = *worker, SIGKILL);
      ++kills;
    }
    not_ready += s.is_ready() ? 0 : 1;
  }
  ends = true;
  load.join();
  const std::string name = std::to_string(looks) + " looks at /readyz beside 200 kills: ";
  out.add({name + "503", static_cast<double>(not_ready), "times", "", {}, at_most(0)});
  out.add({name + "asks that failed", static_cast<double>(failed), "", "", {}, at_most(0)});
  out.add({name + "longest ask", waits.percentile(1) / 1e3, "ms"});
}

/// How many of 100 000 asks take more than 100 us, with ten scrapes a second and without.
/// A reader of the stream of events stays connected.
void measure_delays(report& out, const served& s) {
  const auto slow = [&] {
    int found = 0;
    for (int i = 0; i < 100'000; ++i) {
      const auto begin = clock::now();
      s.gpu.ask(lane::marker{}).get();
      found += clock::now() - begin > 100us ? 1 : 0;
    }
    return static_cast<double>(found);
  };
  samples with;
  samples without;
  double resident = 0;
  const os::unique_fd reader = stream_of(s.shown.port());
  for (int turn = 0; turn < 12; ++turn) {
    if (turn == 2) resident = resident_kib();  // all that grows once has grown
    (void)::recv(reader.get(), nullptr, 1 << 24, MSG_TRUNC | MSG_DONTWAIT);  // reads it away
    without.add(slow());
    std::jthread scrapes([&](const std::stop_token& end) {
      while (!end.stop_requested()) {
        (void)test::ask(s.shown.port(), "/metrics");
        std::this_thread::sleep_for(100ms);
      }
    });
    with.add(slow());
  }
  out.add({"100 000 asks beside ten scrapes a second: above 100 us", with.median(), "asks",
           "without scrapes", without.median()});
  out.add({"growth over 2 000 000 asks, with a reader and scrapes",
           resident_kib() - resident,
           "KiB",
           "",
           {},
           at_most(256)});
}

}  // namespace

void measure_truth(report& out) {
  served s;
  measure_delays(out, s);
  measure_stops(out, s);
  measure_events(out, s);
  measure_readiness(out, s);
}

}  // namespace troupe::bench
