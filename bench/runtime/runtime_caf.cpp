// The same measurements with the C++ Actor Framework.

#include "runtime.hpp"

#ifdef TROUPE_HAVE_CAF

#include <caf/all.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace bench {
namespace {

using clock = std::chrono::steady_clock;
using item_atom = caf::atom_constant<caf::atom("item")>;
using total_atom = caf::atom_constant<caf::atom("total")>;

caf::behavior sink(caf::stateful_actor<std::int64_t>* self) {
  self->state = 0;
  return {[self](item_atom, std::int64_t n) { self->state += n; },
          [self](total_atom) { return self->state; }};
}

struct ring_state {
  caf::actor next;
};

caf::behavior ring_node(caf::stateful_actor<ring_state>* self, std::atomic<bool>* done) {
  return {[self](const caf::actor& next) { self->state.next = next; },
          [self, done](std::int64_t left) {
            if (left == 0) {
              done->store(true);
            } else {
              self->send(self->state.next, left - 1);
            }
          }};
}

template <caf::spawn_options Options>
double tell_rate(int producers) {
  caf::actor_system_config config;
  caf::actor_system system(config);
  auto target = system.spawn<Options>(sink);
  const std::int64_t each = messages / producers;
  const auto begin = clock::now();
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(producers));
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&target, each] {
      for (std::int64_t i = 0; i < each; ++i) {
        caf::anon_send(target, item_atom::value, std::int64_t{1});
      }
    });
  }
  for (auto& t : threads)
    t.join();
  caf::scoped_actor self(system);
  std::int64_t counted = 0;
  self->request(target, caf::infinite, total_atom::value)
      .receive([&](std::int64_t n) { counted = n; }, [](const caf::error&) {});
  const std::chrono::duration<double> spent = clock::now() - begin;
  caf::anon_send_exit(target, caf::exit_reason::user_shutdown);
  return static_cast<double>(counted) / spent.count();
}

template <caf::spawn_options Options>
round_trip ask_round_trip() {
  caf::actor_system_config config;
  caf::actor_system system(config);
  auto target = system.spawn<Options>(sink);
  std::vector<double> micros;
  {
    caf::scoped_actor self(system);
    for (int i = 0; i < round_trips; ++i) {
      const auto begin = clock::now();
      self->request(target, caf::infinite, total_atom::value)
          .receive([](std::int64_t) {}, [](const caf::error&) {});
      micros.push_back(std::chrono::duration<double, std::micro>(clock::now() - begin).count());
    }
  }
  caf::anon_send_exit(target, caf::exit_reason::user_shutdown);
  return percentiles(std::move(micros));
}

double ring_rate() {
  caf::actor_system_config config;
  caf::actor_system system(config);
  std::atomic<bool> done{false};
  std::vector<caf::actor> nodes;
  nodes.reserve(ring_size);
  for (int i = 0; i < ring_size; ++i)
    nodes.push_back(system.spawn(ring_node, &done));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    caf::anon_send(nodes[i], nodes[(i + 1) % nodes.size()]);
  }
  const auto begin = clock::now();
  caf::anon_send(nodes[0], ring_hops);
  while (!done.load())
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  const std::chrono::duration<double> spent = clock::now() - begin;
  for (auto& n : nodes)
    caf::anon_send_exit(n, caf::exit_reason::user_shutdown);
  return static_cast<double>(ring_hops) / spent.count();
}

}  // namespace

figures measure_caf() {
  figures f;
  f.tell = best_of(repeats, [] { return tell_rate<caf::no_spawn_options>(1); });
  f.tell_detached = best_of(repeats, [] { return tell_rate<caf::detached>(1); });
  f.tell_four = best_of(repeats, [] { return tell_rate<caf::no_spawn_options>(4); });
  f.tell_four_detached = best_of(repeats, [] { return tell_rate<caf::detached>(4); });
  f.ask = ask_round_trip<caf::no_spawn_options>();
  f.ask_detached = ask_round_trip<caf::detached>();
  f.ring = best_of(repeats, ring_rate);
  return f;
}

}  // namespace bench

#else

namespace bench {

figures measure_caf() { return {}; }

}  // namespace bench

#endif
