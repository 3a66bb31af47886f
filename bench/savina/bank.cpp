// Bank transactions: an account passes the amount on to the other account, which informs the
// teller;
// or, reentrant, the account asks the other one and informs the teller itself, while it continues
// with the next transactions.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t accounts = 1'000;
constexpr std::int64_t transactions = 100'000;

struct transfer {
  std::size_t from;
  std::size_t to;
  std::int64_t amount;
};

transfer next_transfer(random_numbers& random) {
  const std::int64_t from = random.below(accounts / 10 * 8);
  const std::int64_t to = from + 1 + random.below(accounts - from - 1);
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(to), random.below(1'000)};
}

struct done {};
struct go {};

template <class Account>
class teller final : public troupe::actor {
 public:
  explicit teller(outcome* o) : outcome_(o) {}
  void handle(go) {
    for (std::int64_t i = 0; i < accounts; ++i)
      accounts_.push_back(spawn<Account>());
    random_numbers random(1);
    for (std::int64_t i = 0; i < transactions; ++i) {
      const transfer t = next_transfer(random);
      accounts_[t.from].tell(typename Account::take{t.amount, accounts_[t.to], reference(this)});
    }
  }
  void handle(done) {
    if (++done_ == transactions) outcome_->set_value(done_);
  }

 private:
  outcome* outcome_;
  std::vector<troupe::actor_ref<Account>> accounts_;
  std::int64_t done_ = 0;
};

class account final : public troupe::actor {
 public:
  struct take {
    std::int64_t amount;
    troupe::actor_ref<account> to;
    troupe::actor_ref<teller<account>> ordered_by;
  };
  struct put {
    std::int64_t amount;
    troupe::actor_ref<teller<account>> ordered_by;
  };
  void handle(take t) {
    balance_ -= t.amount;
    t.to.tell(put{t.amount, std::move(t.ordered_by)});
  }
  void handle(const put& p) {
    balance_ += p.amount;
    p.ordered_by.tell(done{});
  }

 private:
  std::int64_t balance_ = 0;
};

class reentrant_account final : public troupe::actor {
 public:
  static constexpr bool reentrant = true;
  struct take {
    std::int64_t amount;
    troupe::actor_ref<reentrant_account> to;
    troupe::actor_ref<teller<reentrant_account>> ordered_by;
  };
  struct put {
    std::int64_t amount;
  };
  troupe::task<void> handle(const take& t) {
    balance_ -= t.amount;
    co_await t.to.ask(put{t.amount});
    t.ordered_by.tell(done{});
  }
  void handle(put p) { balance_ += p.amount; }

 private:
  std::int64_t balance_ = 0;
};

template <class Account>
std::int64_t by_troupe(int threads) {
  outcome o;
  troupe::system system({.threads = threads});
  system.spawn<teller<Account>>(&o).tell(go{});
  return o.get_future().get();
}

using done_atom = caf::atom_constant<caf::atom("done")>;
using go_atom = caf::atom_constant<caf::atom("go")>;
using put_atom = caf::atom_constant<caf::atom("put")>;
using take_atom = caf::atom_constant<caf::atom("take")>;

struct account_state {
  std::int64_t balance = 0;
};

caf::behavior caf_account(caf::stateful_actor<account_state>* self) {
  return {[=](take_atom, std::int64_t amount, const caf::actor& to, const caf::actor& by) {
            self->state.balance -= amount;
            self->send(to, put_atom::value, amount, by);
          },
          [=](put_atom, std::int64_t amount, const caf::actor& by) {
            self->state.balance += amount;
            self->send(by, done_atom::value);
          }};
}

caf::behavior caf_reentrant_account(caf::stateful_actor<account_state>* self) {
  return {[=](take_atom, std::int64_t amount, const caf::actor& to, const caf::actor& by) {
            self->state.balance -= amount;
            self->request(to, caf::infinite, put_atom::value, amount).then([=] {
              self->send(by, done_atom::value);
            });
          },
          [=](put_atom, std::int64_t amount) { self->state.balance += amount; }};
}

struct teller_state {
  std::vector<caf::actor> accounts;
  std::int64_t done = 0;
};

using account_function = caf::behavior (*)(caf::stateful_actor<account_state>*);

caf::behavior caf_teller(caf::stateful_actor<teller_state>* self, account_function account,
                         outcome* o) {
  return {[=](go_atom) {
            auto& all = self->state.accounts;
            for (std::int64_t i = 0; i < accounts; ++i)
              all.push_back(self->spawn(account));
            random_numbers random(1);
            for (std::int64_t i = 0; i < transactions; ++i) {
              const transfer t = next_transfer(random);
              self->send(all[t.from], take_atom::value, t.amount, all[t.to],
                         caf::actor_cast<caf::actor>(self));
            }
          },
          [=](done_atom) {
            if (++self->state.done < transactions) return;
            for (const auto& one : self->state.accounts)
              self->send_exit(one, caf::exit_reason::user_shutdown);
            o->set_value(self->state.done);
            self->quit();
          }};
}

template <account_function Account>
std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  caf::anon_send(s.system.spawn(caf_teller, Account, &o), go_atom::value);
  return o.get_future().get();
}

}  // namespace

program bank() {
  return {"bank transaction", transactions, &by_troupe<account>, &by_caf<&caf_account>};
}

program reentrant_bank() {
  return {"bank transaction, reentrant", transactions, &by_troupe<reentrant_account>,
          &by_caf<&caf_reentrant_account>};
}

}  // namespace bench::savina
