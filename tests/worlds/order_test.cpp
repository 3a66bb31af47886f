// Requests of several worlds and of single devices, from several threads.
#include "worlds/accumulator.hpp"

#include <random>

namespace troupe::worlds {
namespace {

TEST(WorldOrder, WorldsThatShareDevicesNeverWaitForEachOther) {
  system s;
  auto config = small();
  config.mailbox_capacity = 16;
  config.full = when_full::wait;
  auto devices = devices_of(s, 3, config);
  world all = s.world(devices);
  std::vector<std::jthread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      world mine = number == 0   ? all
                   : number == 1 ? all.subset({2, 0})
                   : number == 2 ? all.without(devices[0])
                                 : all.subset({1, 0});
      accumulator sums(mine, 100 + 3000 * number);
      auto scratch = devices[number % 3].tensor<float>({64}).value();
      std::mt19937 random(number);
      for (int i = 0; i < 150; ++i) {
        if (random() % 3 == 0) {
          EXPECT_TRUE(devices[number % 3].tell(memory::fill{.to = scratch, .value = i}));
        }
        auto one = random() % 2 == 0 ? sums.in_place() : sums.over();
        if (random() % 4 == 0) {
          const auto outcome = one.get_result();
          EXPECT_TRUE(outcome) << outcome.error().to_string();
        }
      }
      EXPECT_TRUE(sums.is_right()) << number;
    });
  }
}

TEST(WorldOrder, IsThatOfTheTensorsOnEachDevice) {
  system s;
  auto devices = devices_of(s, 2);
  world w = s.world(devices);
  const auto x = w.tensors<float>({1000}).value();
  const auto y = w.tensors<float>({1000}).value();
  for (int i = 1; i <= 50; ++i) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_TRUE(devices[rank].tell(memory::fill{.to = x[rank], .value = i}));
    EXPECT_TRUE(w.tell(collective::all_reduce{.x = x, .y = y}));
    std::vector<float> got(1000);
    auto copied = devices[1].copy(y[1], got);
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_TRUE(devices[rank].tell(memory::fill{.to = x[rank], .value = -1}));
    EXPECT_TRUE(copied.get_result());
    EXPECT_EQ(got, std::vector<float>(1000, static_cast<float>(2 * i)));
  }
}

TEST(WorldOrder, AContinuationRunsWithoutAWaitingThread) {
  system s;
  world w = s.world(devices_of(s, 2));
  auto after = w.ask(collective::barrier{}).then([] { return 7; });
  EXPECT_TRUE(comes_true([&] { return after.ready(); }));
}

}  // namespace
}  // namespace troupe::worlds
