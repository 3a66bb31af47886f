// Fibonacci numbers by a tree of actors, each for one addition.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t which = 22;
constexpr std::int64_t its_value = 17'711;

class adder final : public troupe::actor {
 public:
  struct question {
    std::int64_t n;
  };
  struct answer {
    std::int64_t n;
  };
  adder(std::optional<troupe::actor_ref<adder>> parent, outcome* o)
      : parent_(std::move(parent)), outcome_(o) {}
  void handle(question q) {
    if (q.n <= 2) return end(1);
    for (const std::int64_t n : {q.n - 1, q.n - 2})
      spawn<adder>(reference(this), outcome_).tell(question{n});
  }
  void handle(answer a) {
    sum_ += a.n;
    if (++answers_ == 2) end(sum_);
  }

 private:
  void end(std::int64_t n) {
    if (parent_) {
      parent_->tell(answer{n});
    } else {
      outcome_->set_value(n);
    }
    stop();
  }
  std::optional<troupe::actor_ref<adder>> parent_;
  outcome* outcome_;
  std::int64_t sum_ = 0;
  int answers_ = 0;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  system.spawn<adder>(std::optional<troupe::actor_ref<adder>>{}, &o).tell(adder::question{which});
  return o.get_future().get();
}

using question_atom = caf::atom_constant<caf::atom("question")>;
using answer_atom = caf::atom_constant<caf::atom("answer")>;

struct state {
  std::int64_t sum = 0;
  int answers = 0;
};

caf::behavior caf_adder(caf::stateful_actor<state>* self, const caf::actor& parent, outcome* o) {
  const auto end = [=](std::int64_t n) {
    if (parent) {
      self->send(parent, answer_atom::value, n);
    } else {
      o->set_value(n);
    }
    self->quit();
  };
  return {[=](question_atom, std::int64_t n) {
            if (n <= 2) return end(1);
            for (const std::int64_t less : {n - 1, n - 2}) {
              self->send(self->spawn(caf_adder, caf::actor_cast<caf::actor>(self), o),
                         question_atom::value, less);
            }
          },
          [=](answer_atom, std::int64_t n) {
            self->state.sum += n;
            if (++self->state.answers == 2) end(self->state.sum);
          }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  caf::anon_send(s.system.spawn(caf_adder, caf::actor{}, &o), question_atom::value, which);
  return o.get_future().get();
}

}  // namespace

program fibonacci() { return {"fibonacci", its_value, &by_troupe, &by_caf}; }

}  // namespace bench::savina
