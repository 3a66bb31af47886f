// Chameneos meet in pairs at a mall and change their colours.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t creatures = 100;
constexpr std::int64_t meetings = 200'000;

std::int64_t complement(std::int64_t a, std::int64_t b) { return a == b ? a : 3 - a - b; }

class chameneo;

class mall final : public troupe::actor {
 public:
  struct arrival {
    std::int64_t colour;
    troupe::actor_ref<chameneo> who;
  };
  struct count {
    std::int64_t n;
  };
  explicit mall(outcome* o) : outcome_(o) {}
  void handle(arrival a);
  void handle(count c) {
    sum_ += c.n;
    if (++ended_ == creatures) outcome_->set_value(sum_);
  }

 private:
  outcome* outcome_;
  std::optional<troupe::actor_ref<chameneo>> waits_;
  std::int64_t left_ = meetings;
  std::int64_t sum_ = 0;
  std::int64_t ended_ = 0;
};

class chameneo final : public troupe::actor {
 public:
  struct go {};
  struct change {
    std::int64_t colour;
  };
  struct end {};
  chameneo(std::int64_t colour, troupe::actor_ref<mall> at)
      : colour_(colour), mall_(std::move(at)) {}
  void handle(go) { arrive(); }
  void handle(mall::arrival other) {
    colour_ = complement(colour_, other.colour);
    other.who.tell(change{colour_});
    met();
  }
  void handle(change c) {
    colour_ = c.colour;
    met();
  }
  void handle(end) { mall_.tell(mall::count{met_}); }

 private:
  void arrive() { mall_.tell(mall::arrival{colour_, reference(this)}); }
  void met() {
    ++met_;
    arrive();
  }
  std::int64_t colour_;
  troupe::actor_ref<mall> mall_;
  std::int64_t met_ = 0;
};

void mall::handle(arrival a) {
  if (left_ == 0) {
    a.who.tell(chameneo::end{});
  } else if (!waits_) {
    waits_ = std::move(a.who);
  } else {
    --left_;
    const auto first = *std::exchange(waits_, std::nullopt);
    first.tell(std::move(a));
  }
}

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  const auto at = system.spawn<mall>(&o);
  for (std::int64_t i = 0; i < creatures; ++i)
    system.spawn<chameneo>(i % 3, at).tell(chameneo::go{});
  return o.get_future().get();
}

using arrival_atom = caf::atom_constant<caf::atom("arrival")>;
using change_atom = caf::atom_constant<caf::atom("change")>;
using count_atom = caf::atom_constant<caf::atom("count")>;
using end_atom = caf::atom_constant<caf::atom("end")>;
using go_atom = caf::atom_constant<caf::atom("go")>;

struct mall_state {
  std::int64_t left = meetings;
  caf::actor waits;  // not the first member: CAF would make it from the actor itself
  std::int64_t sum = 0;
  std::int64_t ended = 0;
};

caf::behavior caf_mall(caf::stateful_actor<mall_state>* self, outcome* o) {
  return {[=](arrival_atom, std::int64_t colour, const caf::actor& who) {
            mall_state& my = self->state;
            if (my.left == 0) {
              self->send(who, end_atom::value);
            } else if (!my.waits) {
              my.waits = who;
            } else {
              --my.left;
              self->send(std::exchange(my.waits, nullptr), arrival_atom::value, colour, who);
            }
          },
          [=](count_atom, std::int64_t n) {
            self->state.sum += n;
            if (++self->state.ended < creatures) return;
            o->set_value(self->state.sum);
            self->quit();
          }};
}

struct chameneo_state {
  std::int64_t colour = 0;
  std::int64_t met = 0;
};

caf::behavior caf_chameneo(caf::stateful_actor<chameneo_state>* self, std::int64_t colour,
                           const caf::actor& at) {
  self->state.colour = colour;
  const auto arrive = [=] {
    self->send(at, arrival_atom::value, self->state.colour, caf::actor_cast<caf::actor>(self));
  };
  return {[=](go_atom) { arrive(); },
          [=](arrival_atom, std::int64_t other, const caf::actor& who) {
            self->state.colour = complement(self->state.colour, other);
            self->send(who, change_atom::value, self->state.colour);
            ++self->state.met;
            arrive();
          },
          [=](change_atom, std::int64_t now) {
            self->state.colour = now;
            ++self->state.met;
            arrive();
          },
          [=](end_atom) {
            self->send(at, count_atom::value, self->state.met);
            self->quit();
          }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  const auto at = s.system.spawn(caf_mall, &o);
  for (std::int64_t i = 0; i < creatures; ++i)
    caf::anon_send(s.system.spawn(caf_chameneo, i % 3, at), go_atom::value);
  return o.get_future().get();
}

}  // namespace

program chameneos() { return {"chameneos", 2 * meetings, &by_troupe, &by_caf}; }

}  // namespace bench::savina
