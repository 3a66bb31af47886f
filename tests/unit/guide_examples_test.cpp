// Short examples of the guide, so that they compile and do what the page says.

#include <troupe/blas/level1.hpp>
#include <troupe/core/router.hpp>
#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>
#include <troupe/device/device.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

TEST(Guide, ShowsAnActorThatCounts) {
  // region: counter
  struct add {
    int n;
  };
  struct total {};

  class counter : public troupe::actor {
   public:
    void handle(add m) { sum_ += m.n; }
    int handle(total) const { return sum_; }

   private:
    int sum_ = 0;
  };

  troupe::system system;
  auto c = system.spawn<counter>();
  c.tell(add{2});                // no reply; false if it was refused
  int n = c.ask(total{}).get();  // future<int>: the type follows from handle()
  // endregion: counter
  EXPECT_EQ(n, 2);
}

TEST(Guide, ShowsWhatAHandlerLearnsOfItsMessage) {
  using troupe::actor_ref;
  struct query {
    int key;
  };
  class store : public troupe::actor {
   public:
    int handle(query q) { return q.key * 2; }
  };
  // region: context
  class front : public troupe::actor {
   public:
    explicit front(actor_ref<store> s) : store_(std::move(s)) {}
    troupe::task<std::string> handle(query q) {
      int n = co_await store_.ask(q, {.deadline = current_deadline()});
      co_return std::to_string(n);
    }
    troupe::delegated<store, query> handle(int key) { return troupe::delegate(store_, query{key}); }

   private:
    actor_ref<store> store_;
  };
  // endregion: context
  troupe::system system;
  auto f = system.spawn<front>(system.spawn<store>());
  EXPECT_EQ(f.ask(query{2}, {.timeout = 10s}).get(), "4");
  EXPECT_EQ(f.ask(3).get(), 6);
}

TEST(Guide, ShowsHowActorsAreFound) {
  struct total {};
  class counter : public troupe::actor {
   public:
    int handle(total) const { return 7; }
  };
  troupe::system system;
  // region: finding
  auto first = system.spawn<counter>();
  system.register_as("counter", first).value();
  auto found = system.find<counter>("counter").value();  // failure: no such name, or another type

  troupe::router<counter> all({first, system.spawn<counter>()}, troupe::routing::least_loaded);
  int n = all.ask(total{}).get();
  // endregion: finding
  EXPECT_EQ(found, first);
  EXPECT_EQ(n, 7);
}

TEST(Guide, ShowsDevicesWithAndWithoutAConfiguration) {
  // region: devices
  troupe::system system;
  troupe::device gpu = system.device(0);  // with the defaults, which are meant to be right
  troupe::device own = system.device(1, {.mailbox_capacity = 4096, .standby = false});
  // endregion: devices
  EXPECT_EQ(gpu.ordinal(), 0);
  EXPECT_EQ(own.ordinal(), 1);
}

TEST(Guide, ShowsTimeLimitsAndAStopToken) {
  troupe::system system;
  troupe::device gpu = system.device(0, {.standby = false});
  auto x = gpu.tensor<float>({4}, troupe::initial::zero).value();
  ASSERT_TRUE(gpu.wait_until_ready());
  const troupe::blas::scal request{.x = x, .alpha = 2.f};
  std::stop_source source;
  // region: limits
  auto done = gpu.ask(request, {.deadline = 10s, .run_limit = 1min, .stop = source.get_token()});
  // endregion: limits
  EXPECT_TRUE(done.get_result());
}

}  // namespace
