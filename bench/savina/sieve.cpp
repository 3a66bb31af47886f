// The sieve of Eratosthenes: a chain of actors, each with some primes that it filters by.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t end = 40'000;
constexpr std::size_t primes_each = 100;
constexpr std::int64_t primes_below_end = 4'203;

/// The primes of one actor.
struct filter {
  std::vector<std::int64_t> primes;

  [[nodiscard]] bool divides(std::int64_t n) const {
    for (const std::int64_t p : primes) {
      if (n % p == 0) return true;
    }
    return false;
  }
  [[nodiscard]] bool full() const { return primes.size() == primes_each; }
};

class filtering final : public troupe::actor {
 public:
  struct number {
    std::int64_t n;
  };
  struct last {
    std::int64_t primes;
  };
  explicit filtering(outcome* o) : outcome_(o) {}
  void handle(number m) {
    if (filter_.divides(m.n)) return;
    if (!filter_.full()) return filter_.primes.push_back(m.n);
    if (!next_) next_ = system().spawn<filtering>(outcome_);
    next_->tell(m);
  }
  void handle(last l) {
    const std::int64_t all = l.primes + static_cast<std::int64_t>(filter_.primes.size());
    if (!next_) return outcome_->set_value(all);
    next_->tell(last{all});
  }

 private:
  outcome* outcome_;
  filter filter_;
  std::optional<troupe::actor_ref<filtering>> next_;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  const auto first = system.spawn<filtering>(&o);
  for (std::int64_t n = 3; n < end; n += 2)
    first.tell(filtering::number{n});
  first.tell(filtering::last{1});  // that is 2
  return o.get_future().get();
}

using last_atom = caf::atom_constant<caf::atom("last")>;

struct state {
  filter mine;
  caf::actor next;
};

caf::behavior caf_filter(caf::stateful_actor<state>* self, outcome* o) {
  return {[=](std::int64_t n) {
            state& my = self->state;
            if (my.mine.divides(n)) return;
            if (!my.mine.full()) return my.mine.primes.push_back(n);
            if (!my.next) my.next = self->spawn(caf_filter, o);
            self->send(my.next, n);
          },
          [=](last_atom, std::int64_t primes) {
            state& my = self->state;
            const auto all = primes + static_cast<std::int64_t>(my.mine.primes.size());
            if (my.next) {
              self->send(my.next, last_atom::value, all);
            } else {
              o->set_value(all);
            }
            self->quit();
          }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  const caf::actor first = s.system.spawn(caf_filter, &o);
  for (std::int64_t n = 3; n < end; n += 2)
    caf::anon_send(first, n);
  caf::anon_send(first, last_atom::value, std::int64_t{1});
  return o.get_future().get();
}

}  // namespace

program sieve() { return {"sieve", primes_below_end, &by_troupe, &by_caf}; }

}  // namespace bench::savina
