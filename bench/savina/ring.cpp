// Thread ring: a token goes around.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t actors = 100;
constexpr std::int64_t hops = 500'000;

class node final : public troupe::actor {
 public:
  struct token {
    std::int64_t left;
  };
  explicit node(outcome* o) : outcome_(o) {}
  void handle(const troupe::actor_ref<node>& next) { next_ = next; }
  void handle(token t) {
    ++seen_;
    if (t.left == 0) return outcome_->set_value(seen_);
    next_.tell(token{t.left - 1});
  }

 private:
  outcome* outcome_;
  troupe::actor_ref<node> next_;
  std::int64_t seen_ = 0;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  const auto first = system.spawn<node>(&o);
  auto last = first;
  for (std::int64_t i = 1; i < actors; ++i) {
    const auto next = system.spawn<node>(&o);
    last.tell(next);
    last = next;
  }
  last.tell(first);
  first.tell(node::token{hops});
  return o.get_future().get();
}

struct state {
  std::int64_t seen = 0;
  caf::actor next;
};

caf::behavior caf_node(caf::stateful_actor<state>* self, outcome* o) {
  return {[=](const caf::actor& next) { self->state.next = next; },
          [=](std::int64_t left) {
            ++self->state.seen;
            if (left == 0) {
              o->set_value(self->state.seen);
            } else {
              self->send(self->state.next, left - 1);
            }
          }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  std::vector<caf::actor> all;
  for (std::int64_t i = 0; i < actors; ++i)
    all.push_back(s.system.spawn(caf_node, &o));
  for (std::size_t i = 0; i < all.size(); ++i)
    caf::anon_send(all[i], all[(i + 1) % all.size()]);
  caf::anon_send(all.front(), hops);
  const std::int64_t seen = o.get_future().get();
  for (const auto& one : all)
    caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  return seen;
}

}  // namespace

program ring() { return {"thread ring", hops / actors + 1, &by_troupe, &by_caf}; }

}  // namespace bench::savina
