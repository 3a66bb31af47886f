// Fork-join, throughput: messages to some actors in turn, from outside.
#include "savina.hpp"

#include <atomic>

namespace bench::savina {
namespace {

constexpr std::int64_t actors = 60;
constexpr std::int64_t each = 10'000;

struct work {};

class worker final : public troupe::actor {
 public:
  worker(std::atomic<std::int64_t>* left, outcome* o) : left_(left), outcome_(o) {}
  void handle(work) {
    if (++handled_ == each && left_->fetch_sub(1) == 1) outcome_->set_value(each);
  }

 private:
  std::atomic<std::int64_t>* left_;
  outcome* outcome_;
  std::int64_t handled_ = 0;
};

std::int64_t by_troupe(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{actors};
  troupe::system system({.threads = threads});
  std::vector<troupe::actor_ref<worker>> all;
  for (std::int64_t i = 0; i < actors; ++i)
    all.push_back(system.spawn<worker>(&left, &o));
  for (std::int64_t i = 0; i < each; ++i) {
    for (const auto& one : all)
      one.tell(work{});
  }
  return o.get_future().get();
}

using work_atom = caf::atom_constant<caf::atom("work")>;

struct state {
  std::int64_t handled = 0;
};

caf::behavior caf_worker(caf::stateful_actor<state>* self, std::atomic<std::int64_t>* left,
                         outcome* o) {
  return {[=](work_atom) {
    if (++self->state.handled < each) return;
    if (left->fetch_sub(1) == 1) o->set_value(each);
    self->quit();
  }};
}

std::int64_t by_caf(int threads) {
  outcome o;
  std::atomic<std::int64_t> left{actors};
  caf_system s(threads);
  std::vector<caf::actor> all;
  for (std::int64_t i = 0; i < actors; ++i)
    all.push_back(s.system.spawn(caf_worker, &left, &o));
  for (std::int64_t i = 0; i < each; ++i) {
    for (const auto& one : all)
      caf::anon_send(one, work_atom::value);
  }
  return o.get_future().get();
}

}  // namespace

program throughput() { return {"throughput", each, &by_troupe, &by_caf}; }

}  // namespace bench::savina
