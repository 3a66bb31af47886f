// One actor counts what another one sends.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t messages = 1'000'000;

struct increment {};
struct total {};
struct go {};

class counter final : public troupe::actor {
 public:
  void handle(increment) { ++count_; }
  std::int64_t handle(total) const { return count_; }

 private:
  std::int64_t count_ = 0;
};

class producer final : public troupe::actor {
 public:
  explicit producer(troupe::actor_ref<counter> to) : to_(std::move(to)) {}
  troupe::future<std::int64_t> handle(go) {
    for (std::int64_t i = 0; i < messages; ++i)
      to_.tell(increment{});
    return to_.ask(total{});
  }

 private:
  troupe::actor_ref<counter> to_;
};

std::int64_t by_troupe(int threads) {
  troupe::system system({.threads = threads});
  auto done = system.spawn<producer>(system.spawn<counter>()).ask(go{});
  (void)done.wait_for(std::chrono::hours(1));
  return done.get();
}

using increment_atom = caf::atom_constant<caf::atom("increment")>;
using total_atom = caf::atom_constant<caf::atom("total")>;

struct state {
  std::int64_t count = 0;
};

caf::behavior caf_counter(caf::stateful_actor<state>* self) {
  return {[self](increment_atom) { ++self->state.count; },
          [self](total_atom) { return self->state.count; }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  const caf::actor to = s.system.spawn(caf_counter);
  s.system.spawn([to, &o](caf::event_based_actor* self) {
    for (std::int64_t i = 0; i < messages; ++i)
      self->send(to, increment_atom::value);
    self->request(to, caf::infinite, total_atom::value).then([self, &o](std::int64_t n) {
      o.set_value(n);
      self->quit();
    });
  });
  return o.get_future().get();
}

}  // namespace

program counting() { return {"counting", messages, &by_troupe, &by_caf}; }

}  // namespace bench::savina
