// An actor asks another one, and asks again once it has the answer.
#include "savina.hpp"

namespace bench::savina {
namespace {

constexpr std::int64_t questions = 200'000;

struct question {
  std::int64_t n;
};
struct go {};

class answerer final : public troupe::actor {
 public:
  std::int64_t handle(question q) { return q.n + 1; }
};

class asker final : public troupe::actor {
 public:
  explicit asker(troupe::actor_ref<answerer> other) : other_(std::move(other)) {}
  troupe::task<std::int64_t> handle(go) {
    std::int64_t n = 0;
    while (n < questions)
      n = co_await other_.ask(question{n});
    co_return n;
  }

 private:
  troupe::actor_ref<answerer> other_;
};

std::int64_t by_troupe(int threads) {
  troupe::system system({.threads = threads});
  auto done = system.spawn<asker>(system.spawn<answerer>()).ask(go{});
  (void)done.wait_for(std::chrono::hours(1));  // only waits, where get() would help
  return done.get();
}

void ask_on(caf::event_based_actor* self, const caf::actor& other, std::int64_t n, outcome* o) {
  if (n == questions) {
    o->set_value(n);
    return self->quit();
  }
  self->request(other, caf::infinite, n).then([=](std::int64_t next) {
    ask_on(self, other, next, o);
  });
}

std::int64_t by_caf(int threads) {
  outcome o;
  caf_system s(threads);
  const caf::actor other =
      s.system.spawn([]() -> caf::behavior { return {[](std::int64_t n) { return n + 1; }}; });
  s.system.spawn([other, &o](caf::event_based_actor* self) { ask_on(self, other, 0, &o); });
  return o.get_future().get();
}

}  // namespace

program ask() { return {"ask", questions, &by_troupe, &by_caf}; }

}  // namespace bench::savina
