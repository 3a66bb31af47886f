// Each of many actors asks one of the others, at random, and then the next one.
#include "savina.hpp"

#include <atomic>

namespace bench::savina {
namespace {

constexpr std::int64_t actors = 120;
constexpr std::int64_t each = 2'000;

class peer final : public troupe::actor {
 public:
  using peers = std::vector<troupe::actor_ref<peer>>;
  struct ping {
    troupe::actor_ref<peer> from;
  };
  struct pong {};
  peer(std::int64_t number, std::atomic<std::int64_t>* left, outcome* o)
      : random_(number), left_(left), outcome_(o) {}
  void handle(peers all) {
    all_ = std::move(all);
    handle(pong{});
  }
  void handle(const ping& p) { p.from.tell(pong{}); }
  void handle(pong) {
    if (sent_ == each) {
      if (left_->fetch_sub(1) == 1) outcome_->set_value(sent_);
      return;
    }
    ++sent_;
    all_[static_cast<std::size_t>(random_.below(actors))].tell(ping{reference(this)});
  }

 private:
  random_numbers random_;
  std::atomic<std::int64_t>* left_;
  outcome* outcome_;
  peers all_;
  std::int64_t sent_ = 0;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{actors};
  troupe::system system({.threads = threads});
  peer::peers all;
  for (std::int64_t i = 0; i < actors; ++i)
    all.push_back(system.spawn<peer>(i, &left, &o));
  for (const auto& one : all)
    one.tell(all);
  return o.get_future().get();
}

using ping_atom = caf::atom_constant<caf::atom("ping")>;
using pong_atom = caf::atom_constant<caf::atom("pong")>;

struct state {
  random_numbers random{0};
  std::vector<caf::actor> all;
  std::int64_t sent = 0;
};

caf::behavior caf_peer(caf::stateful_actor<state>* self, std::int64_t number,
                       std::atomic<std::int64_t>* left, outcome* o) {
  self->state.random = random_numbers(number);
  const auto next = [=] {
    state& my = self->state;
    if (my.sent == each) {
      if (left->fetch_sub(1) == 1) o->set_value(my.sent);
      return;
    }
    ++my.sent;
    self->send(my.all[static_cast<std::size_t>(my.random.below(actors))], ping_atom::value,
               caf::actor_cast<caf::actor>(self));
  };
  return {[=](const std::vector<caf::actor>& all) {
            self->state.all = all;
            next();
          },
          [=](ping_atom, const caf::actor& from) { self->send(from, pong_atom::value); },
          [=](pong_atom) { next(); }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{actors};
  caf_system s(threads);
  std::vector<caf::actor> all;
  for (std::int64_t i = 0; i < actors; ++i)
    all.push_back(s.system.spawn(caf_peer, i, &left, &o));
  for (const auto& one : all)
    caf::anon_send(one, all);
  const std::int64_t sent = o.get_future().get();
  for (const auto& one : all)
    caf::anon_send_exit(one, caf::exit_reason::user_shutdown);
  return sent;
}

}  // namespace

program big() { return {"big", each, &by_troupe, &by_caf}; }

}  // namespace bench::savina
