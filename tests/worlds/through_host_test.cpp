// Devices that cannot read each other's memory, as GPUs without peer access: their data pass
// through staging memory of the host. Reading a peer would end the worker: nothing is mapped.
#include "worlds/accumulator.hpp"

#include <csignal>
#include <string>

namespace troupe::worlds {
namespace {

class WorldThroughHost : public testing::Test {
 protected:
  static device_config apart() {
    device_config made = small(true);
    made.peer_access = false;
    return made;
  }
  system s_;
  std::vector<device> devices_ = devices_of(s_, 3, apart());
  // Slots of 4 KiB.
  world w_ = s_.world(devices_, {.staging_bytes = world_config::least_staging});

  std::vector<any_tensor> numbered(std::int64_t length, bool transposed = false) {
    std::vector<any_tensor> all;
    for (std::size_t rank = 0; rank < 3; ++rank) {
      std::vector<std::int32_t> values(static_cast<std::size_t>(length));
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>(100'000 * rank + i);
      auto made = devices_[rank].tensor<std::int32_t>({length}).value();
      EXPECT_TRUE(devices_[rank].copy(values, made).get_result());
      const any_tensor plain = made;
      all.push_back(transposed ? plain.reshape({3, length / 3}).value().transpose() : plain);
    }
    return all;
  }
  std::vector<std::int32_t> content(const any_tensor& of, std::size_t rank) {
    std::vector<std::int32_t> got(static_cast<std::size_t>(of.count()));
    EXPECT_TRUE(devices_[rank]
                    .copy_out(of, dtype::i32, std::as_writable_bytes(std::span(got)))
                    .get_result());
    return got;
  }
  template <class R>
  void run(const R& r) {
    const auto outcome = w_.ask(r).get_result();
    ASSERT_TRUE(outcome) << outcome.error().to_string();
  }
};

TEST_F(WorldThroughHost, MapsNothing) {
  for (const auto& pair : s_.topology().pairs)
    EXPECT_EQ(pair.link.through, device_link::kind::host);
  // A copy takes the way by the host, too.
  const auto x = numbered(5000), y = numbered(5000);
  EXPECT_TRUE(devices_[0].copy(x[0], y[1]).get_result());
  EXPECT_EQ(content(y[1], 1), content(x[0], 0));
}

TEST_F(WorldThroughHost, ReducesInAnyForm) {
  if (!small().backend_path.empty()) GTEST_SKIP() << "the plugin only adds";
  accumulator brief(w_, 3), longer(w_, 40'000);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(brief.over().get_result() && brief.in_place().get_result());
    EXPECT_TRUE(longer.over().get_result() && longer.in_place().get_result());
  }
  EXPECT_TRUE(brief.is_right() && longer.is_right());
  const auto x = numbered(9000), y = numbered(3000), z = numbered(9000);
  run(collective::reduce_scatter{.x = x, .y = y});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto got = content(y[rank], rank);
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(got[i], static_cast<std::int32_t>(300'000 + 3 * (3000 * rank + i))) << rank << i;
  }
  run(collective::reduce{.x = x, .y = {{}, z[1], {}}, .op = collective::reduction::max, .root = 1});
  EXPECT_EQ(content(z[1], 1), content(x[2], 2));
}

TEST_F(WorldThroughHost, CopiesInAnyForm) {
  if (!small().backend_path.empty()) GTEST_SKIP() << "the plugin only adds";
  const auto x = numbered(9000), part = numbered(3000);
  const auto slice = [&](std::size_t rank, std::int64_t first, std::int64_t length) {
    auto all = content(x[rank], rank);
    return std::vector(all.begin() + first, all.begin() + first + length);
  };
  auto y = numbered(9000);
  run(collective::all_gather{.x = part, .y = y});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    std::vector<std::int32_t> wanted;
    for (std::size_t from = 0; from < 3; ++from) {
      const auto its = content(part[from], from);
      wanted.insert(wanted.end(), its.begin(), its.end());
    }
    EXPECT_EQ(content(y[rank], rank), wanted);
  }
  run(collective::all_to_all{.x = x, .y = y});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const auto got = content(y[rank], rank);
    for (std::size_t from = 0; from < 3; ++from)
      EXPECT_EQ(std::vector(got.begin() + std::ptrdiff_t(3000 * from),
                            got.begin() + std::ptrdiff_t(3000 * (from + 1))),
                slice(from, std::int64_t(3000 * rank), 3000));
  }
  run(collective::scatter{.x = {{}, {}, x[2]}, .y = part, .root = 2});
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(content(part[rank], rank), slice(2, std::int64_t(3000 * rank), 3000));
  run(collective::broadcast{.x = {x[0], {}, {}}, .y = {x[0], y[1], y[2]}});
  EXPECT_EQ(content(y[1], 1), content(x[0], 0));
  y = numbered(9000);
  run(collective::all_to_allv{.x = x, .y = y, .counts = {4000, 1, 0, 0, 0, 5000, 17, 3000, 2000}});
  const auto got = content(y[2], 2);
  EXPECT_EQ(std::vector(got.begin(), got.begin() + 5000), slice(1, 0, 5000));
  EXPECT_EQ(std::vector(got.begin() + 5000, got.begin() + 7000), slice(2, 3017, 2000));
  // With gaps: the columns of one are the rows of the other.
  const auto turned = numbered(9000, true), plain = numbered(9000);
  run(collective::exchange{.x = {{}, turned[1], {}},
                           .y = {plain[0].reshape({3000, 3}).value(), {}, {}}});
  EXPECT_EQ(content(plain[0], 0), content(turned[1], 1));
  run(collective::barrier{});
}

TEST_F(WorldThroughHost, LosesNothingIfWorkersAreKilled) {
  accumulator sums(w_, 20'000);
  for (int kills = 0; kills < 6; ++kills) {
    std::vector<future<void>> under_way;
    for (int i = 0; i < 4; ++i)
      under_way.push_back(i % 2 == 0 ? sums.over() : sums.in_place());
    if (const auto pid = devices_[static_cast<std::size_t>(kills) % 3].worker_pid())
      ::kill(*pid, SIGKILL);
    for (auto& one : under_way)
      EXPECT_TRUE(one.get_result());
  }
  EXPECT_TRUE(sums.is_right());
}

}  // namespace
}  // namespace troupe::worlds
