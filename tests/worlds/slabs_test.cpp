// Memory of peers, slab by slab, on devices that have memory of their own.
#include "worlds/accumulator.hpp"

#include <csignal>

namespace troupe::worlds {
namespace {

// More slabs than the memory holds at once: peers unmap those that go.
TEST(WorldSlabs, MapsWhatRequestsNameAndLetsItGo) {
  system s;
  device_config config = small();
  config.memory_limit_bytes = std::uint64_t{128} << 20;
  world w = s.world(devices_of(s, 2, config));
  for (int i = 0; i < 12; ++i) {
    accumulator sums(w, 300'000 + i * 131'072);
    (void)sums.over();
    const auto done = sums.in_place().get_result();
    ASSERT_TRUE(done) << done.error().to_string();
    ASSERT_TRUE(sums.is_right()) << i;
  }
}

// The next worker has them, too.
TEST(WorldSlabs, AreThereInTheNextWorker) {
  system s;
  world w = s.world(devices_of(s, 2, small(true)));
  accumulator sums(w, std::int64_t{1} << 18);
  for (int i = 0; i < 6; ++i) {
    for (int sent = 0; sent < 40; ++sent)
      sums.send_over();
    auto earlier = sums.over();
    if (const auto pid = w.rank(static_cast<std::size_t>(i % 2)).worker_pid()) {
      ::kill(*pid, SIGKILL);
    }
    ASSERT_TRUE(earlier.get_result());
    const auto done = sums.in_place().get_result();
    ASSERT_TRUE(done) << done.error().to_string();
    ASSERT_TRUE(sums.is_right()) << i;
  }
}

// A view of a small tensor is in a slab that others share.
TEST(WorldSlabs, CopiesBetweenDevices) {
  system s;
  auto devices = devices_of(s, 2);
  const auto there = devices[0].allocate(dtype::f32, {300, 70}).value();
  const auto here = devices[1].allocate(dtype::f32, {70, 300}).value();
  std::vector<float> x(300 * 70);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  ASSERT_TRUE(devices[0].copy(x, there).get_result());
  const auto copied = devices[1].copy(there, here.transpose()).get_result();
  ASSERT_TRUE(copied) << copied.error().to_string();
  std::vector<float> y(x.size());
  ASSERT_TRUE(devices[1].copy(here, y).get_result());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(y[i % 70 * 300 + i / 70], x[i]);
}

}  // namespace
}  // namespace troupe::worlds
