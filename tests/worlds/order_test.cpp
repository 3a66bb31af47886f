// Requests of several worlds and of single devices, from several threads.
#include "under_sanitizers.hpp"
#include "worlds/accumulator.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
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

TEST(WorldOrder, AForkedProcessIsRefusedAndDoesNotHarmTheWorld) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  system s;
  auto devices = devices_of(s, 2);
  world w = s.world(devices);
  accumulator sums(w, 1000);
  auto held = devices[1].mapped(sums.tensors()[1], access::read).get();
  auto under_way = sums.in_place();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool asks = w.ask(collective::barrier{}).get_result().has_value();
    const bool copies =
        w.rank(0).copy(sums.tensors()[0], sums.tensors()[1]).get_result().has_value();
    ::_exit(asks || copies || !w.health().under_way.empty() ? 1 : 0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  held.unmap();
  EXPECT_TRUE(under_way.get_result());
  EXPECT_TRUE(sums.in_place().get_result());
  EXPECT_TRUE(sums.is_right());
}

// Neither memory nor descriptors nor mappings grow.
TEST(WorldOrder, ManyOperationsLeaveNothingBehind) {
  const auto held = [] {
    std::ifstream statm("/proc/self/statm"), maps("/proc/self/maps");
    std::int64_t pages = 0, resident = 0;
    statm >> pages >> resident;
    const auto lines = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
    const std::filesystem::directory_iterator descriptors("/proc/self/fd");
    return std::array{resident * 4096, std::int64_t{lines},
                      std::int64_t{std::distance(begin(descriptors), end(descriptors))}};
  };
  system s;
  auto devices = devices_of(s, 2);
  world w = s.world(devices);
  accumulator sums(w, 8);
  const auto some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto done = i % 2 == 0 ? sums.in_place() : sums.over();
      if (i % 8 != 0) continue;
      EXPECT_TRUE(devices[0].copy(sums.tensors()[0], sums.tensors()[1]).get_result());
      EXPECT_TRUE(done.get_result());
    }
    EXPECT_TRUE(sums.is_right());
  };
  some(500);
  const auto before = held();
  some(2'000);
  const auto after = held();
  if (!test::under_sanitizers) {
    EXPECT_LT(after[0] - before[0], std::int64_t{1} << 20);
  }
  EXPECT_LE(after[1] - before[1], 4);
  EXPECT_EQ(after[2], before[2]);
}

}  // namespace
}  // namespace troupe::worlds
