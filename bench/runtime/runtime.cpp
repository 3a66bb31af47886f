// The actor runtime against the C++ Actor Framework, in one run on one machine.

#include "runtime.hpp"

#include "report.hpp"

#include <troupe/core/system.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {
namespace {

using clock = std::chrono::steady_clock;

struct item {
  std::int64_t n;
};
struct total {};
struct token {
  std::int64_t left;
};

class sink final : public troupe::actor {
 public:
  void handle(item m) { sum_ += m.n; }
  std::int64_t handle(total) const { return sum_; }

 private:
  std::int64_t sum_ = 0;
};

struct link {
  troupe::any_actor_ref next;
};

class ring_node final : public troupe::actor {
 public:
  explicit ring_node(std::shared_ptr<std::atomic<bool>> done) : done_(std::move(done)) {}
  void handle(const link& m) { next_ = troupe::actor_ref<ring_node>(m.next.cell()); }
  void handle(token t) {
    if (t.left == 0) {
      done_->store(true);
    } else {
      next_.tell(token{t.left - 1});
    }
  }

 private:
  std::shared_ptr<std::atomic<bool>> done_;
  troupe::actor_ref<ring_node> next_;
};

double per_second(std::int64_t count, clock::duration spent) {
  return static_cast<double>(count) / std::chrono::duration<double>(spent).count();
}

double tell_rate(int producers, troupe::spawn_options options) {
  troupe::system system;
  auto target = system.spawn<sink>(std::move(options));
  const std::int64_t each = messages / producers;
  const auto begin = clock::now();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(producers));
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&target, each] {
      for (std::int64_t i = 0; i < each; ++i)
        target.tell(item{1});
    });
  }
  for (auto& t : threads)
    t.join();
  const std::int64_t counted = target.ask(total{}).get();
  const auto spent = clock::now() - begin;
  if (counted != each * producers) fmt::print(stderr, "lost messages: {}\n", counted);
  return per_second(counted, spent);
}

round_trip ask_round_trip(troupe::spawn_options options) {
  troupe::system system;
  auto target = system.spawn<sink>(std::move(options));
  std::vector<double> micros;
  micros.reserve(round_trips);
  for (int i = 0; i < round_trips; ++i) {
    const auto begin = clock::now();
    (void)target.ask(total{}).get();
    micros.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
  }
  return percentiles(std::move(micros));
}

double ring_rate() {
  troupe::system system;
  auto done = std::make_shared<std::atomic<bool>>(false);
  std::vector<troupe::actor_ref<ring_node>> nodes;
  nodes.reserve(ring_size);
  for (int i = 0; i < ring_size; ++i)
    nodes.push_back(system.spawn<ring_node>(done));
  for (int i = 0; i < ring_size; ++i) {
    nodes[static_cast<std::size_t>(i)].tell(
        link{nodes[static_cast<std::size_t>((i + 1) % ring_size)]});
  }
  const auto begin = clock::now();
  nodes[0].tell(token{ring_hops});
  while (!done->load())
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  return per_second(ring_hops, clock::now() - begin);
}

}  // namespace

round_trip percentiles(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[samples.size() * 99 / 100]};
}

double best_of(int times, const std::function<double()>& measure) {
  double best = 0;
  for (int i = 0; i < times; ++i)
    best = std::max(best, measure());
  return best;
}

figures measure_troupe() {
  const troupe::spawn_options pooled{};
  const troupe::spawn_options pinned{.run_by = troupe::dispatcher::pinned};
  figures f;
  f.tell = best_of(repeats, [&] { return tell_rate(1, pooled); });
  f.tell_detached = best_of(repeats, [&] { return tell_rate(1, pinned); });
  f.tell_four = best_of(repeats, [&] { return tell_rate(4, pooled); });
  f.tell_four_detached = best_of(repeats, [&] { return tell_rate(4, pinned); });
  f.ask = ask_round_trip(pooled);
  f.ask_detached = ask_round_trip(pinned);
  f.ring = best_of(repeats, ring_rate);
  return f;
}

}  // namespace bench

int main() {
  const bench::figures ours = bench::measure_troupe();
  const bench::figures caf = bench::measure_caf();
  const auto quicker = [](const bench::round_trip& a, const bench::round_trip& b) {
    return a.median <= b.median ? a : b;
  };
  const bench::round_trip our_ask = quicker(ours.ask, ours.ask_detached);
  const bench::round_trip caf_ask = quicker(caf.ask, caf.ask_detached);
  troupe::bench::report report("The actor runtime beside the C++ Actor Framework (CAF)");
  const auto add = [&](std::string name, double value, std::string unit, double reference) {
    const bool compared = reference > 0;
    report.add({.name = std::move(name),
                .value = value,
                .unit = std::move(unit),
                .reference = compared ? "CAF 0.17.6" : "",
                .reference_value = compared ? std::optional(reference) : std::nullopt});
  };
  add("tell, 1 producer to 1 actor", std::max(ours.tell, ours.tell_detached) / 1e6, "M/s",
      std::max(caf.tell, caf.tell_detached) / 1e6);
  add("tell, 4 producers to 1 actor", std::max(ours.tell_four, ours.tell_four_detached) / 1e6,
      "M/s", std::max(caf.tell_four, caf.tell_four_detached) / 1e6);
  add("ask round trip from a thread, p50", our_ask.median, "us", caf_ask.median);
  add("ask round trip from a thread, p99", our_ask.p99, "us", caf_ask.p99);
  add("token around a ring of 1000 actors", ours.ring / 1e6, "M hops/s", caf.ring / 1e6);
  fmt::print(
      "Troupe pooled / pinned: tell {:.1f} / {:.1f}, four {:.1f} / {:.1f} M/s, "
      "ask {:.2f} / {:.2f} us\n",
      ours.tell / 1e6, ours.tell_detached / 1e6, ours.tell_four / 1e6,
      ours.tell_four_detached / 1e6, ours.ask.median, ours.ask_detached.median);
  return report.finish();
}
