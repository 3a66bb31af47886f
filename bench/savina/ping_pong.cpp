// Two actors with one message between them.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t moves = 500'000;

class player final : public troupe::actor {
 public:
  struct ball {
    std::int64_t left;
    troupe::actor_ref<player> from;
  };
  explicit player(outcome* o) : outcome_(o) {}
  void handle(ball b) {
    ++seen_;
    if (b.left == 0) return outcome_->set_value(2 * seen_ - 1);
    b.from.tell(ball{b.left - 1, reference(this)});
  }

 private:
  outcome* outcome_;
  std::int64_t seen_ = 0;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  const auto one = system.spawn<player>(&o);
  const auto other = system.spawn<player>(&o);
  one.tell(player::ball{moves, other});
  return o.get_future().get();
}

struct state {
  std::int64_t seen = 0;
};

caf::behavior caf_player(caf::stateful_actor<state>* self, outcome* o) {
  return {[=](std::int64_t left, const caf::actor& from) {
    ++self->state.seen;
    if (left == 0) {
      o->set_value(2 * self->state.seen - 1);
    } else {
      self->send(from, left - 1, caf::actor_cast<caf::actor>(self));
    }
  }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  auto one = s.system.spawn(caf_player, &o);
  auto other = s.system.spawn(caf_player, &o);
  caf::anon_send(one, moves, other);
  const std::int64_t seen = o.get_future().get();
  caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(other, caf::exit_reason::user_shutdown);
  return seen;
}

}  // namespace

program ping_pong() { return {"ping-pong", moves + 1, &by_troupe, &by_caf}; }

}  // namespace bench::savina
