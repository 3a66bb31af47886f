// What the guide shows in passing, so that it compiles and does what the page says.

#include <troupe/core/system.hpp>
#include <troupe/device/device.hpp>
#include <troupe/ops/blas/level1.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>

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

TEST(Guide, ShowsDevicesWithAndWithoutAConfiguration) {
  // region: devices
  troupe::system system;
  troupe::device gpu = system.device(0);  // with the defaults, which are meant to be right
  troupe::device own = system.device(1, {.mailbox_capacity = 4096, .standby = false});
  // endregion: devices
  EXPECT_EQ(gpu.ordinal(), 0);
  EXPECT_EQ(own.ordinal(), 1);
}

TEST(Guide, ShowsADeadlineAndAStopToken) {
  troupe::system system;
  troupe::device gpu = system.device(0, {.standby = false});
  auto x = gpu.tensor<float>({4}, troupe::initial::zero).value();
  ASSERT_TRUE(gpu.wait_until_ready());
  const troupe::blas::scal request{.x = x, .alpha = 2.f};
  std::stop_source source;
  // region: deadline
  auto done = gpu.ask(request, {.deadline = 10s, .stop = source.get_token()});
  // endregion: deadline
  EXPECT_TRUE(done.get_result());
}

}  // namespace
