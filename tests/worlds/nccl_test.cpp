// Worlds that go by NCCL: here by a library with its functions that moves host memory.
#include "worlds/accumulator.hpp"

#include <atomic>
#include <csignal>
#include <deque>
#include <memory>
#include <random>
#include <string>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace troupe::worlds {
namespace {

using namespace std::chrono_literals;
using connection = nccl_health::connection;

/// With the tests' library where workers look for libnccl.so.2.
device_config with_library(std::vector<std::string> more = {}) {
  device_config made = small(true);
  auto environment = std::make_shared<std::vector<std::string>>(std::move(more));
  for (char** one = environ; *one != nullptr; ++one) {
    if (!std::string_view(*one).starts_with("LD_LIBRARY_PATH=")) environment->emplace_back(*one);
  }
  environment->push_back("LD_LIBRARY_PATH=" TROUPE_TEST_NCCL_FOLDER);
  environment->push_back("TROUPE_TEST_NCCL=1");
  made.worker_environment = environment;
  return made;
}

bool becomes_ready(const world& w) {
  return comes_true([&] { return w.health().nccl.state == connection::ready; });
}

class WorldByNccl : public testing::Test {
 protected:
  void SetUp() override {
    if (small().backend != backend_kind::cpu) GTEST_SKIP() << "the library moves host memory";
  }
  system s_;
};

using contents = std::vector<std::vector<std::int32_t>>;
using list = std::vector<any_tensor>;

list counted(const world& w, const shape& extents) {
  const auto made = w.tensors<std::int32_t>(extents).value();
  std::vector<std::int32_t> values(static_cast<std::size_t>(made[0].count()));
  for (std::size_t rank = 0; rank < w.size(); ++rank) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>(1000 * rank + i);
    EXPECT_TRUE(w.rank(rank).copy(values, made[rank]).get_result());
  }
  return made;
}

/// The outputs of a request, of so many elements on each rank.
template <class Make>
contents outputs(const world& by, std::int64_t length, Make make) {
  const auto y = by.tensors<std::int32_t>({length}).value();
  const auto outcome = by.ask(make(list(y))).get_result();
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  contents got;
  for (std::size_t rank = 0; rank < by.size(); ++rank) {
    got.emplace_back(static_cast<std::size_t>(length));
    EXPECT_TRUE(by.rank(rank).copy(y[rank], got.back()).get_result());
  }
  return got;
}

TEST_F(WorldByNccl, DoesWhatItDoesByItself) {
  const world w = s_.world(devices_of(s_, 3, with_library()), {.transport = transport::nccl});
  ASSERT_TRUE(becomes_ready(w));
  const world peer = s_.world({w.rank(0), w.rank(1), w.rank(2)});
  const list x = counted(w, {150}), some = counted(w, {50});
  const auto alike = [&](std::int64_t length, auto make) {
    const auto before = w.health().nccl.operations;
    EXPECT_EQ(outputs(w, length, make), outputs(peer, length, make));
    EXPECT_EQ(w.health().nccl.operations, before + 1);
  };
  using namespace collective;
  alike(150, [&](const list& y) { return all_reduce{.x = x, .y = y}; });
  alike(50, [&](const list& y) { return all_reduce{.x = some, .y = y, .op = reduction::max}; });
  alike(50, [&](const list& y) { return reduce_scatter{.x = x, .y = y}; });
  alike(50, [&](const list& y) { return broadcast{.x = {{}, some[1], {}}, .y = y, .root = 1}; });
  alike(150, [&](const list& y) { return all_gather{.x = some, .y = y}; });
  alike(50, [&](const list& y) { return scatter{.x = {{}, {}, x[2]}, .y = y, .root = 2}; });
  alike(150, [&](const list& y) { return all_to_all{.x = x, .y = y}; });
  alike(150, [&](const list& y) {
    // All elements of y are written.
    return all_to_allv{.x = x, .y = y, .counts = {50, 20, 80, 40, 60, 50, 60, 70, 20}};
  });
  alike(50, [&](const list& y) {
    return exchange{.x = {some[0], {}, {}, {}, {}, some[2], {}, some[1], {}},
                    .y = {{}, y[1], {}, y[0], {}, {}, {}, {}, y[2]}};
  });
  EXPECT_TRUE(w.ask(barrier{}).get_result());
  EXPECT_EQ(w.health().failed, 0U);
}

TEST_F(WorldByNccl, HealsWhoeverIsKilledAndConnectsAgain) {
  world w = s_.world(devices_of(s_, 3, with_library()), {.transport = transport::nccl});
  ASSERT_TRUE(becomes_ready(w));
  accumulator brief(w, 9), longer(w, 20'000);
  std::mt19937 random(20261128);
  std::uint64_t by_nccl = 0;
  for (int kills = 0; kills < 8; ++kills) {
    std::deque<future<void>> under_way;
    for (int i = 0; i < 6; ++i) {
      under_way.push_back(brief.over());
      under_way.push_back(longer.over());
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    const std::size_t victims = kills % 4 == 3 ? 3 : 1 + random() % 2;
    const std::size_t first = random() % 3;
    for (std::size_t i = 0; i < victims; ++i) {
      if (const auto pid = w.rank((first + i) % 3).worker_pid()) ::kill(*pid, SIGKILL);
    }
    for (auto& one : under_way) {
      const auto outcome = one.get_result();
      ASSERT_TRUE(outcome) << outcome.error().to_string();
    }
    ASSERT_TRUE(brief.is_right() && longer.is_right()) << kills;
    // A request connects it again, when all have a worker.
    const auto sent = w.health().nccl.operations;
    ASSERT_TRUE(comes_true([&] {
      EXPECT_TRUE(brief.over().get_result());
      return w.health().nccl.operations > sent;
    }));
    by_nccl = w.health().nccl.operations;
  }
  EXPECT_TRUE(brief.is_right());
  EXPECT_EQ(w.health().failed, 0U);
  EXPECT_GT(w.health().nccl.attempts, 8U);
  EXPECT_GT(by_nccl, 8U);
}

// The part of rank 1 is never run, so the others wait in the library until the program has it
// aborted.
TEST_F(WorldByNccl, LeavesTheLibraryWhereAPartFails) {
  world w = s_.world(devices_of(s_, 2, with_library()), {.transport = transport::nccl});
  ASSERT_TRUE(becomes_ready(w));
  accumulator sums(w, 1000);
  const auto y = w.tensors<std::uint64_t>({1000}).value();
  auto held = w.rank(1).mapped(y[1], access::read).get();
  auto sum = w.ask(collective::all_reduce{.x = sums.tensors(), .y = y});
  EXPECT_TRUE(comes_true([&] {
    const auto under_way = w.health().under_way;
    return under_way.size() == 1 && under_way[0].ranks[0] == world_operation::progress::runs;
  }));
  w.rank(1).stop();
  held.unmap();
  const auto outcome = sum.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::aborted);
  EXPECT_EQ(w.health().nccl.state, connection::broken);
  ASSERT_TRUE(w.rank(1).restart());
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(sums.over().get_result());
  EXPECT_TRUE(sums.is_right());
}

TEST_F(WorldByNccl, WorksWithoutAConnectionAndSaysWhyThereIsNone) {
  const world w = s_.world(devices_of(s_, 2, with_library({"TROUPE_TEST_NCCL_FAILS=1"})),
                           {.transport = transport::nccl});
  EXPECT_TRUE(comes_true([&] { return w.health().nccl.state == connection::broken; }));
  EXPECT_NE(w.health().nccl.reason.find("ncclCommInitRank: an error of the test"),
            std::string::npos)
      << w.health().nccl.reason;
  const auto x = w.tensors<float>({10}).value(), y = w.tensors<float>({10}).value();
  for (std::size_t rank = 0; rank < 2; ++rank)
    ASSERT_TRUE(w.rank(rank).ask(memory::fill{.to = x[rank], .value = 2}).get_result());
  EXPECT_TRUE(w.ask(collective::all_reduce{.x = x, .y = y}).get_result());
  EXPECT_EQ(w.health().nccl.operations, 0U);
}

TEST_F(WorldByNccl, IsRefusedWhereItIsNotThereOrMayNotBe) {
  const auto refusal = [&](const std::vector<device>& of, const world_config& config) {
    try {
      (void)s_.world(of, config);
    } catch (const failure& why) {
      return why.error();
    }
    return error{};
  };
  const auto plain = devices_of(s_, 2);
  const auto on_processors = refusal(plain, {.transport = transport::nccl});
  EXPECT_EQ(on_processors.code, errc::unsupported) << on_processors.to_string();
  EXPECT_NE(on_processors.message.find("is of the CPU backend"), std::string::npos);

  system other;
  const std::vector<device> pair = devices_of(other, 2, with_library());
  try {
    (void)other.world(pair, {.transport = transport::nccl, .deterministic = true});
    ADD_FAILURE() << "a deterministic world went by NCCL";
  } catch (const failure& why) {
    EXPECT_NE(why.error().message.find("deterministic"), std::string::npos) << why.what();
  }
  const world w = other.world(pair, {.transport = transport::nccl});
  ASSERT_TRUE(becomes_ready(w));
  const auto x = w.tensors<float>({10}).value(), y = w.tensors<float>({10}).value();
  const auto expect = [&](const auto& request, std::string_view words) {
    const auto outcome = w.ask(request).get_result();
    ASSERT_FALSE(outcome) << words;
    EXPECT_EQ(outcome.error().code, errc::unsupported);
    EXPECT_NE(outcome.error().message.find(words), std::string::npos) << outcome.error().message;
  };
  expect(collective::all_reduce{.x = x, .y = x}, "in place");
  expect(collective::all_reduce{.x = x, .y = y, .op = collective::reduction::max}, "NaN");
  const auto b = w.tensors<bool>({10}).value(), c = w.tensors<bool>({10}).value();
  expect(collective::all_reduce{.x = b, .y = c, .op = collective::reduction::max}, "no such type");
  const world automatic = other.world(pair);
  EXPECT_EQ(automatic.health().nccl.state, connection::none);
  EXPECT_TRUE(automatic.ask(collective::connect{}).get_result());
  EXPECT_TRUE(becomes_ready(automatic));
  const world own = other.world(pair, {.transport = transport::peer});
  const auto refused = own.ask(collective::connect{}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unsupported);
}

TEST_F(WorldByNccl, SaysWhyTheLibraryCannotBeUsed) {
  const auto why_not = [](const device_config& config) {
    system other;
    const std::vector<device> pair = devices_of(other, 2, config);
    const auto outcome = other.world(pair).ask(collective::connect{}).get_result();
    EXPECT_TRUE(!outcome && outcome.error().code == errc::aborted && outcome.error().cause);
    try {
      (void)other.world(pair, {.transport = transport::nccl});
    } catch (const failure& why) {
      if (!outcome && outcome.error().cause) {
        EXPECT_EQ(why.error().code, outcome.error().cause->code) << why.what();
      }
      return why.error();
    }
    ADD_FAILURE() << "there is a world";
    return error{};
  };
  const error old = why_not(with_library({"TROUPE_TEST_NCCL_IS_OLD=1"}));
  EXPECT_EQ(old.code, errc::version_mismatch) << old.to_string();
  EXPECT_NE(old.message.find("has version 21307"), std::string::npos) << old.message;

  device_config without = with_library();
  auto environment = *without.worker_environment;
  std::erase(environment, "LD_LIBRARY_PATH=" TROUPE_TEST_NCCL_FOLDER);
  without.worker_environment = std::make_shared<std::vector<std::string>>(environment);
  const error none = why_not(without);
  // A machine may have NCCL, which the CPU backend refuses.
  if (none.message.find("not processors") != std::string::npos) {
    EXPECT_EQ(none.code, errc::unsupported) << none.to_string();
  } else {
    EXPECT_EQ(none.code, errc::library_missing) << none.to_string();
    EXPECT_NE(none.message.find("libnccl.so.2"), std::string::npos) << none.message;
  }
}

}  // namespace
}  // namespace troupe::worlds
