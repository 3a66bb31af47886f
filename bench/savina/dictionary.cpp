// Concurrent dictionary: workers read and write what one actor holds, one question after the other.
#include "savina.hpp"

#include <atomic>
#include <unordered_map>

namespace bench::savina {
namespace {

constexpr std::int64_t workers = 20;
constexpr std::int64_t each = 10'000;
constexpr std::int64_t keys = 512;
constexpr std::int64_t percent_writes = 10;

class worker;

class dictionary_actor final : public troupe::actor {
 public:
  struct write {
    troupe::actor_ref<worker> from;
    std::int64_t key;
    std::int64_t value;
  };
  struct read {
    troupe::actor_ref<worker> from;
    std::int64_t key;
  };
  void handle(const write& w);
  void handle(const read& r);

 private:
  std::unordered_map<std::int64_t, std::int64_t> entries_;
};

class worker final : public troupe::actor {
 public:
  struct answer {
    std::int64_t value;
  };
  worker(std::int64_t number, troupe::actor_ref<dictionary_actor> d,
         std::atomic<std::int64_t>* left, outcome* o)
      : random_(number), dictionary_(std::move(d)), left_(left), outcome_(o) {}
  void handle(answer) {
    if (asked_ == each) {
      if (left_->fetch_sub(1) == 1) outcome_->set_value(asked_);
      return;
    }
    ++asked_;
    const std::int64_t key = random_.below(keys);
    if (random_.below(100) < percent_writes) {
      dictionary_.tell(dictionary_actor::write{reference(this), key, asked_});
    } else {
      dictionary_.tell(dictionary_actor::read{reference(this), key});
    }
  }

 private:
  random_numbers random_;
  troupe::actor_ref<dictionary_actor> dictionary_;
  std::atomic<std::int64_t>* left_;
  outcome* outcome_;
  std::int64_t asked_ = 0;
};

void dictionary_actor::handle(const write& w) {
  entries_[w.key] = w.value;
  w.from.tell(worker::answer{w.value});
}
void dictionary_actor::handle(const read& r) { r.from.tell(worker::answer{entries_[r.key]}); }

std::int64_t by_troupe(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{workers};
  troupe::system system({.threads = threads});
  const auto d = system.spawn<dictionary_actor>();
  for (std::int64_t i = 0; i < workers; ++i)
    system.spawn<worker>(i, d, &left, &o).tell(worker::answer{0});
  return o.get_future().get();
}

using write_atom = caf::atom_constant<caf::atom("write")>;
using read_atom = caf::atom_constant<caf::atom("read")>;

struct dictionary_state {
  std::unordered_map<std::int64_t, std::int64_t> entries;
};

caf::behavior caf_dictionary(caf::stateful_actor<dictionary_state>* self) {
  return {[=](write_atom, const caf::actor& from, std::int64_t key, std::int64_t value) {
            self->state.entries[key] = value;
            self->send(from, value);
          },
          [=](read_atom, const caf::actor& from, std::int64_t key) {
            self->send(from, self->state.entries[key]);
          }};
}

struct worker_state {
  random_numbers random{0};
  std::int64_t asked = 0;
};

caf::behavior caf_worker(caf::stateful_actor<worker_state>* self, std::int64_t number,
                         const caf::actor& d, std::atomic<std::int64_t>* left, outcome* o) {
  self->state.random = random_numbers(number);
  return {[=](std::int64_t) {
    worker_state& my = self->state;
    if (my.asked == each) {
      if (left->fetch_sub(1) == 1) o->set_value(my.asked);
      return self->quit();
    }
    ++my.asked;
    const std::int64_t key = my.random.below(keys);
    const auto me = caf::actor_cast<caf::actor>(self);
    if (my.random.below(100) < percent_writes) {
      self->send(d, write_atom::value, me, key, my.asked);
    } else {
      self->send(d, read_atom::value, me, key);
    }
  }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{workers};
  caf_system s(threads);
  const auto d = s.system.spawn(caf_dictionary);
  for (std::int64_t i = 0; i < workers; ++i)
    caf::anon_send(s.system.spawn(caf_worker, i, d, &left, &o), std::int64_t{0});
  return o.get_future().get();
}

}  // namespace

program dictionary() { return {"concurrent dictionary", each, &by_troupe, &by_caf}; }

}  // namespace bench::savina
