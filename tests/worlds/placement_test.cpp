// Which device a model, a key or a message gets.
#include "worlds/accumulator.hpp"

#include <troupe/device/replicas.hpp>
#include <troupe/device/sharded.hpp>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>

namespace troupe::worlds {
namespace {

class Placement : public testing::Test {
 protected:
  system s_;
  std::vector<device> devices_ = devices_of(s_, 3);
  device_group group_{devices_};

  [[nodiscard]] std::int32_t picked(const pick_options& options = {}) const {
    const auto one = group_.pick(options);
    EXPECT_TRUE(one) << one.error().to_string();
    return one ? one->ordinal() : -1;
  }
};

TEST_F(Placement, PicksByWhatTheDevicesHaveNow) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  EXPECT_EQ(picked(), 0);
  const auto before = group_.snapshots({});
  const auto big = devices_[0].tensor<float>({1 << 20}).value();
  const auto small = devices_[2].tensor<float>({1 << 10}).value();
  EXPECT_EQ(picked(), 1);
  EXPECT_EQ(picked({.near = {small}}), 2);
  EXPECT_EQ(picked({.near = {small, big}}), 0);
  const auto now = group_.snapshots({big});
  EXPECT_EQ(now[0].near_bytes, 4U << 20);
  EXPECT_EQ(now[0].free_bytes + (4U << 20), before[0].free_bytes);
  const auto none = group_.pick({.min_free_bytes = std::uint64_t{1} << 50});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, errc::device_unavailable);

  auto held = devices_[0].mapped(big, access::write).get();
  auto waits = devices_[0].ask(memory::fill{.to = big, .value = 1});
  EXPECT_EQ(picked({.policy = pick_policy::least_in_flight}), 1);
  held.unmap();
  EXPECT_TRUE(waits.get_result());
  const device_group copy = group_;
  EXPECT_EQ(picked({.policy = pick_policy::round_robin}), 0);
  EXPECT_EQ(copy.pick({.policy = pick_policy::round_robin}).value().ordinal(), 1);
  devices_[2].stop();
  EXPECT_EQ(picked({.policy = pick_policy::round_robin}), 0);
  EXPECT_THROW(device_group({}), failure);
  EXPECT_THROW(device_group({devices_[0], devices_[0]}), failure);
}

TEST_F(Placement, KeysOfADeviceThatStopsMoveAndComeBack) {
  EXPECT_THROW(shard_map(group_, {1, 1}), failure);
  EXPECT_THROW(shard_map(group_, {1, 0, 1}), failure);
  const shard_map map(group_);
  const auto places = [&] {
    std::map<std::string, std::int32_t> all;
    for (int i = 0; i < 60; ++i) {
      const std::string key = std::to_string(i);
      all[key] = map.device_of(key).value().ordinal();
    }
    return all;
  };
  const auto before = places();
  devices_[1].stop();
  std::set<std::int32_t> taken_by;
  for (const auto& [key, now] : places()) {
    if (before.at(key) != 1) {
      EXPECT_EQ(now, before.at(key));
    } else {
      taken_by.insert(now);
      EXPECT_EQ(now, map.ranking(key)[1].ordinal());
    }
  }
  EXPECT_EQ(taken_by, (std::set<std::int32_t>{0, 2}));
  EXPECT_TRUE(devices_[1].restart());
  EXPECT_EQ(places(), before);
}

struct who {};
struct leave {};
struct hold {};

/// Answers its key and its device.
class keeper : public actor {
 public:
  keeper(const device& on, std::string key) : on_(on), key_(std::move(key)) {}
  std::pair<std::string, std::int32_t> handle(who) { return {key_, on_.ordinal()}; }
  void handle(leave) { stop(); }
  future<void> handle(hold) { return pending_.get_future(); }

 private:
  device on_;
  std::string key_;
  promise<void> pending_;
};

TEST_F(Placement, AnActorForEachKeyMovesWhenItsDeviceStops) {
  // region: shards
  const shard_map map(group_);
  const sharded<keeper> all(s_, map, [](const device& on, const std::string& key) {
    return std::make_unique<keeper>(on, key);
  });
  // endregion: shards
  const auto place_of = [&](const std::string& key) {
    const auto answer = all.ask(key, who{}).get();
    EXPECT_EQ(answer.first, key);
    return answer.second;
  };
  std::vector<std::string> of_1;
  for (int i = 0; i < 30; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_EQ(place_of(key), map.device_of(key).value().ordinal());
    if (place_of(key) == 1) of_1.push_back(key);
  }
  ASSERT_GE(of_1.size(), 2U);
  const auto first = all.actor_of(of_1[0]).value();
  EXPECT_EQ(first, all.actor_of(of_1[0]).value());
  // One that has left by itself is made again, and does not move while it is away.
  EXPECT_TRUE(all.tell(of_1[1], leave{}));
  const auto left = all.actor_of(of_1[1]).value();
  EXPECT_TRUE(comes_true([&] { return left.stopped() || all.actor_of(of_1[1]).value() != left; }));
  EXPECT_EQ(place_of(of_1[1]), 1);

  devices_[1].stop();
  for (const std::string& key : of_1)
    EXPECT_EQ(place_of(key), map.device_of(key).value().ordinal());
  EXPECT_TRUE(comes_true([&] { return first.stopped(); }));
  // They moved without a message, too.
  EXPECT_TRUE(devices_[1].restart());
  EXPECT_NE(place_of(of_1[0]), 1) << "it stays where it is";

  for (device& one : devices_)
    one.stop();
  EXPECT_EQ(all.ask("new", who{}).get_result().error().code, errc::device_stopped);
  EXPECT_FALSE(all.tell("new", who{}));
}

TEST_F(Placement, ReplicasTakeTheOneWithLessToDoThatServes) {
  std::vector<replica<keeper>> all;
  for (device& one : devices_) {
    EXPECT_TRUE(one.wait_until_ready());
    all.push_back({s_.spawn<keeper>(one, "replica"), one});
  }
  const replicas<keeper> service(all);
  EXPECT_THROW(replicas<keeper>({}), failure);
  const auto taken = [&](int times) {
    std::map<std::int32_t, int> count;
    for (int i = 0; i < times; ++i)
      ++count[service.choose().on.ordinal()];
    return count;
  };
  for (const auto& [device, count] : taken(300))
    EXPECT_GT(count, 50) << device;
  // An idle one is taken before a busy one; one that starts is busy, too.
  for (const replica<keeper>& one : all) {
    EXPECT_EQ(one.actor.ask(who{}).get().first, "replica");
    EXPECT_TRUE(comes_true([&] { return one.actor.load() == 0; }));
  }
  auto held = all[0].actor.ask(hold{});
  EXPECT_TRUE(comes_true([&] { return all[0].actor.load() == 1; }));
  EXPECT_EQ(taken(100).count(0), 0U);
  EXPECT_EQ(service.ask(who{}).get().first, "replica");

  ASSERT_TRUE(devices_[1].worker_pid());
  ::kill(*devices_[1].worker_pid(), SIGKILL);
  while (devices_[1].health().restarts == 0) {
    const bool recovers = devices_[1].health().state == device_state::recovering;
    const auto chosen = service.choose().on.ordinal();
    if (recovers && devices_[1].health().state == device_state::recovering) {
      EXPECT_NE(chosen, 1);
    }
  }
  devices_[2].stop();
  EXPECT_TRUE(comes_true([&] { return devices_[1].health().state == device_state::ready; }));
  EXPECT_EQ(taken(50).count(2), 0U);
  all[1].actor.stop();
  EXPECT_TRUE(comes_true([&] { return all[1].actor.stopped(); }));
  EXPECT_EQ(taken(50), (std::map<std::int32_t, int>{{0, 50}})) << "busy, but it serves";
  all[0].actor.stop();
}

TEST_F(Placement, AnEstimateGoesToTheLeastWorkOfThoseThatServe) {
  std::vector<replica<keeper>> all;
  for (device& one : devices_) {
    EXPECT_TRUE(one.wait_until_ready());
    all.push_back({s_.spawn<keeper>(one, "replica"), one});
  }
  const replicas<keeper> service(all);
  std::vector<future<void>> held;
  for (const std::int64_t amount : {3, 2, 1})
    held.push_back(service.ask(hold{}, work_estimate{amount}));
  EXPECT_TRUE(comes_true([&] {
    return std::ranges::all_of(all, [](const auto& one) { return one.actor.load() == 1; });
  })) << "each has one";
  const auto of_1 = service.ask(who{}, work_estimate{1}).get().second;
  devices_[static_cast<std::size_t>(of_1)].stop();
  const auto of_2 = service.ask(who{}, work_estimate{1}).get().second;
  EXPECT_NE(of_2, of_1) << "it has stopped";
  all[static_cast<std::size_t>(of_2)].actor.stop();
  EXPECT_TRUE(comes_true([&] { return all[static_cast<std::size_t>(of_2)].actor.stopped(); }));
  EXPECT_EQ(service.ask(who{}, work_estimate{1}).get().second, 3 - of_1 - of_2);
}

}  // namespace
}  // namespace troupe::worlds
