// A first look at Troupe's actors: state without locks, replies as futures, supervision.

#include <troupe/troupe.hpp>

#include <iostream>

// Messages are plain structs.
struct deposit {
  int amount;
};
struct withdraw {
  int amount;
};
struct balance {};

// An actor handles one message at a time: its members need no lock.
class account : public troupe::actor {
 public:
  void handle(deposit d) { balance_ += d.amount; }

  // A refusal is a value. The asker gets it; the actor goes on.
  troupe::result<int> handle(withdraw w) {
    if (w.amount > balance_) {
      return troupe::error{.code = troupe::errc::invalid_argument, .message = "not covered"};
    }
    return balance_ -= w.amount;
  }

  int handle(balance) const { return balance_; }

 private:
  int balance_ = 0;
};

struct transfer {
  troupe::actor_ref<account> from;
  troupe::actor_ref<account> to;
  int amount;
};

// A handler may be a coroutine: while it waits, its thread runs other actors.
class bank : public troupe::actor {
 public:
  troupe::task<int> handle(transfer t) {
    const int left = co_await t.from.ask(withdraw{t.amount});
    t.to.tell(deposit{t.amount});
    co_return left;
  }

 protected:
  // How it looks after children; accounts here belong to the system, so this is for show.
  troupe::supervision supervise() const override {
    return {.budget = {.restarts = 5, .window = std::chrono::minutes(1)}};
  }
};

int main() {
  troupe::system_config config;
  // A refused transfer must not end the bank.
  config.supervision.decider = [](const troupe::error&) noexcept {
    return troupe::directive::resume;
  };
  troupe::system system(config);
  auto alice = system.spawn<account>();
  auto bob = system.spawn<account>();
  auto teller = system.spawn<bank>();

  alice.tell(deposit{100});
  std::cout << "alice keeps " << teller.ask(transfer{alice, bob, 30}).get() << '\n';
  std::cout << "bob has " << bob.ask(balance{}).get() << '\n';

  const auto refused = teller.ask(transfer{alice, bob, 1'000}).get_result();
  std::cout << "refused: " << refused.error().message << '\n';
}
