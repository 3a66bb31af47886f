// Fork-join, create: very many actors, each for one message.
#include "savina.hpp"

#include <atomic>

namespace bench::savina {
namespace {

constexpr std::int64_t actors = 50'000;

struct work {
  std::int64_t n;
};

/// The last of all says so.
struct countdown {
  std::atomic<std::int64_t> left{actors};
  std::atomic<std::int64_t> sum{0};
  outcome ended;
  void add(std::int64_t n) {
    sum.fetch_add(n, std::memory_order_relaxed);
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) ended.set_value(sum);
  }
};

class worker final : public troupe::actor {
 public:
  explicit worker(countdown* all) : all_(all) {}
  void handle(work w) {
    all_->add(w.n);
    stop();
  }

 private:
  countdown* all_;
};

std::int64_t by_troupe(int threads) {
  countdown all;
  troupe::system system({.threads = threads});
  for (std::int64_t i = 0; i < actors; ++i)
    system.spawn<worker>(&all).tell(work{i});
  return all.ended.get_future().get();
}

caf::behavior caf_worker(caf::event_based_actor* self, countdown* all) {
  return {[=](std::int64_t n) {
    all->add(n);
    self->quit();
  }};
}

std::int64_t by_caf(int threads) {
  countdown all;
  caf_system s(threads);
  for (std::int64_t i = 0; i < actors; ++i)
    caf::anon_send(s.system.spawn(caf_worker, &all), i);
  return all.ended.get_future().get();
}

}  // namespace

program create() { return {"create", actors * (actors - 1) / 2, &by_troupe, &by_caf}; }

}  // namespace bench::savina
