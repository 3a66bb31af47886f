#include "device/completion/outcome_counts.hpp"
#include "samples.hpp"
#include "telemetry.hpp"

#include <troupe/telemetry/prometheus_text.hpp>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef TROUPE_HAVE_PROMETHEUS
#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#endif

namespace troupe::bench {
namespace {

constexpr std::size_t devices = 8;
constexpr std::size_t operations = 190;
constexpr int observed = 1'000'000;

/// Durations from 1 µs to 1 ms, as a loop without a branch makes them.
std::chrono::nanoseconds duration_of(int i) {
  return std::chrono::nanoseconds(1000 + (static_cast<std::uint32_t>(i) * 2654435761U >> 12));
}

/// Nanoseconds that each of `threads` threads takes for one call of `note(thread, duration)`, all
/// at the same time. The fastest turn counts, because nothing else has delayed it.
template <class Note>
double time_of(int threads, Note&& note) {
  double fastest = 1e9;
  for (int turn = 0; turn < 15; ++turn) {
    std::barrier begin(threads);
    std::vector<std::jthread> crowd;
    crowd.reserve(static_cast<std::size_t>(threads));
    std::vector<double> took(static_cast<std::size_t>(threads));
    for (int t = 0; t < threads; ++t) {
      crowd.emplace_back([&, t] {
        begin.arrive_and_wait();
        const auto from = clock::now();
        for (int i = 0; i < observed; ++i)
          note(t, duration_of(i));
        took[static_cast<std::size_t>(t)] =
            std::chrono::duration<double, std::nano>(clock::now() - from).count() / observed;
      });
    }
    crowd.clear();
    fastest = std::min(fastest, *std::ranges::max_element(took));
  }
  return fastest;
}

/// Operations that no library has.
class made_up {
 public:
  made_up() {
    for (std::size_t i = 0; i < operations; ++i)
      names_.push_back("library.operation_" + std::to_string(i));
    for (const std::string& name : names_) {
      request_type made;
      made.name = name;
      made.id = std::hash<std::string>{}(name);
      types_.push_back(made);
    }
  }
  [[nodiscard]] const std::vector<request_type>& types() const { return types_; }

 private:
  std::vector<std::string> names_;
  std::vector<request_type> types_;
};

#ifdef TROUPE_HAVE_PROMETHEUS
constexpr std::string_view peer = "prometheus-cpp";
const prometheus::Histogram::BucketBoundaries bounds{1e-5, 5e-5, 1e-4, 5e-4, 1e-3, 5e-3,
                                                     1e-2, 5e-2, 0.1,  0.5,  1,    10};

std::optional<double> their_time(int threads) {
  prometheus::Histogram theirs(bounds);
  return time_of(threads, [&](int /*thread*/, std::chrono::nanoseconds d) {
    theirs.Observe(std::chrono::duration<double>(d).count());
  });
}

std::optional<double> their_scrape(std::size_t series) {
  prometheus::Registry registry;
  auto& family = prometheus::BuildHistogram().Name("request_duration_seconds").Register(registry);
  const std::size_t each = bounds.size() + 3;
  for (std::size_t i = 0; i < series / each; ++i) {
    family.Add({{"device", "0"}, {"operation", "library.operation_" + std::to_string(i)}}, bounds)
        .Observe(2e-5);
  }
  auto& counters = prometheus::BuildCounter().Name("requests_total").Register(registry);
  for (std::size_t i = 0; i < series % each; ++i)
    counters.Add({{"device", "0"}, {"operation", std::to_string(i)}}).Increment();
  samples took;
  std::size_t bytes = 0;
  took.take(100,
            [&] { bytes += prometheus::TextSerializer().Serialize(registry.Collect()).size(); });
  return bytes == 0 ? std::nullopt : std::optional(took.median() / 1e3);
}
#else
constexpr std::string_view peer = "prometheus-cpp, not installed";
std::optional<double> their_time(int /*threads*/) { return std::nullopt; }
std::optional<double> their_scrape(std::size_t /*series*/) { return std::nullopt; }
#endif

}  // namespace

void measure_counting(report& out) {
  const made_up from;
  std::array<outcome_counts, devices> counts;
  // A device notes its requests from one thread at a time, so two threads are two devices.
  for (const int threads : {1, 2}) {
    const double ours = time_of(threads, [&](int thread, std::chrono::nanoseconds d) {
      counts[static_cast<std::size_t>(thread)].note_times(from.types()[0], d,
                                                          {.queue = d, .launch = d, .wake = d});
    });
    out.add({"note a duration and its five parts, " + std::to_string(threads) +
                 (threads == 1 ? " thread" : " threads"),
             ours, "ns", std::string(peer) + ", one histogram", their_time(threads),
             ratio_at_most(threads == 1 ? 1 : 0.2)});
  }

  for (outcome_counts& one : counts) {
    for (const request_type& type : from.types()) {
      one.note_done(type);
      one.note_failed(type, errc::timed_out);
      one.note_times(type, std::chrono::microseconds(20), {});
    }
  }
  telemetry::prometheus_text text;
  samples took;
  std::string last;
  took.take(100, [&] {
    telemetry_snapshot now;
    for (std::size_t i = 0; i < devices; ++i) {
      device_telemetry& one = now.devices.emplace_back();
      one.ordinal = static_cast<std::int32_t>(i);
      one.operations = counts[i].read().operations;
    }
    last = text.write(std::move(now));
  });
  std::size_t series = 0;
  for (std::size_t at = 0; at < last.size(); at = last.find('\n', at) + 1)
    series += last[at] == '#' ? 0U : 1U;
  out.add({"scrape, 8 devices and 190 operations, " + std::to_string(series) + " series",
           took.median() / 1e3, "ms", std::string(peer) + ", as many series", their_scrape(series),
           at_most(5)});
}

}  // namespace troupe::bench
