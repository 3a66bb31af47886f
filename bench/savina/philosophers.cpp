// Dining philosophers: an arbitrator gives the forks out, or says no, and is asked again.
#include "savina.hpp"

#include <array>

namespace bench::savina {
namespace {

constexpr std::int64_t philosophers_count = 20;
constexpr std::int64_t meals_each = 5'000;

class table {
 public:
  bool take(std::int64_t who) {
    if (taken_[left(who)] || taken_[right(who)]) return false;
    taken_[left(who)] = taken_[right(who)] = true;
    return true;
  }
  void put_back(std::int64_t who) { taken_[left(who)] = taken_[right(who)] = false; }

 private:
  static std::size_t left(std::int64_t who) { return static_cast<std::size_t>(who); }
  static std::size_t right(std::int64_t who) {
    return static_cast<std::size_t>((who + 1) % philosophers_count);
  }
  std::array<bool, philosophers_count> taken_{};
};

class philosopher;

class arbitrator final : public troupe::actor {
 public:
  struct hungry {
    std::int64_t who;
    troupe::actor_ref<philosopher> from;
  };
  struct full {
    std::int64_t who;
  };
  struct leaves {};
  explicit arbitrator(outcome* o) : outcome_(o) {}
  void handle(const hungry& h);
  void handle(full f) {
    table_.put_back(f.who);
    ++meals_;
  }
  void handle(leaves) {
    if (++left_ == philosophers_count) outcome_->set_value(meals_);
  }

 private:
  outcome* outcome_;
  table table_;
  std::int64_t meals_ = 0;
  std::int64_t left_ = 0;
};

class philosopher final : public troupe::actor {
 public:
  struct go {};
  struct eat {};
  struct denied {};
  philosopher(std::int64_t who, troupe::actor_ref<arbitrator> a)
      : who_(who), arbitrator_(std::move(a)) {}
  void handle(go) { ask(); }
  void handle(denied) { ask(); }
  void handle(eat) {
    arbitrator_.tell(arbitrator::full{who_});
    if (++meals_ < meals_each) return ask();
    arbitrator_.tell(arbitrator::leaves{});
  }

 private:
  void ask() { arbitrator_.tell(arbitrator::hungry{who_, reference(this)}); }
  std::int64_t who_;
  troupe::actor_ref<arbitrator> arbitrator_;
  std::int64_t meals_ = 0;
};

void arbitrator::handle(const hungry& h) {
  if (table_.take(h.who)) {
    h.from.tell(philosopher::eat{});
  } else {
    h.from.tell(philosopher::denied{});
  }
}

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  const auto a = system.spawn<arbitrator>(&o);
  for (std::int64_t i = 0; i < philosophers_count; ++i)
    system.spawn<philosopher>(i, a).tell(philosopher::go{});
  return o.get_future().get();
}

using denied_atom = caf::atom_constant<caf::atom("denied")>;
using eat_atom = caf::atom_constant<caf::atom("eat")>;
using full_atom = caf::atom_constant<caf::atom("full")>;
using go_atom = caf::atom_constant<caf::atom("go")>;
using hungry_atom = caf::atom_constant<caf::atom("hungry")>;
using leaves_atom = caf::atom_constant<caf::atom("leaves")>;

struct arbitrator_state {
  table forks;
  std::int64_t meals = 0;
  std::int64_t left = 0;
};

caf::behavior caf_arbitrator(caf::stateful_actor<arbitrator_state>* self, outcome* o) {
  return {[=](hungry_atom, std::int64_t who, const caf::actor& from) {
            if (self->state.forks.take(who)) {
              self->send(from, eat_atom::value);
            } else {
              self->send(from, denied_atom::value);
            }
          },
          [=](full_atom, std::int64_t who) {
            self->state.forks.put_back(who);
            ++self->state.meals;
          },
          [=](leaves_atom) {
            if (++self->state.left < philosophers_count) return;
            o->set_value(self->state.meals);
            self->quit();
          }};
}

struct philosopher_state {
  std::int64_t meals = 0;
};

caf::behavior caf_philosopher(caf::stateful_actor<philosopher_state>* self, std::int64_t who,
                              const caf::actor& a) {
  const auto ask = [=] {
    self->send(a, hungry_atom::value, who, caf::actor_cast<caf::actor>(self));
  };
  return {[=](go_atom) { ask(); }, [=](denied_atom) { ask(); },
          [=](eat_atom) {
            self->send(a, full_atom::value, who);
            if (++self->state.meals < meals_each) return ask();
            self->send(a, leaves_atom::value);
            self->quit();
          }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  const auto a = s.system.spawn(caf_arbitrator, &o);
  for (std::int64_t i = 0; i < philosophers_count; ++i)
    caf::anon_send(s.system.spawn(caf_philosopher, i, a), go_atom::value);
  return o.get_future().get();
}

}  // namespace

program philosophers() {
  return {"dining philosophers", philosophers_count * meals_each, &by_troupe, &by_caf};
}

}  // namespace bench::savina
