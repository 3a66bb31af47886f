#include "stream_stage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace troupe {
namespace {

using namespace testing_worker;

/// Updates `b` from itself and `a`, and writes `c`: the results show the inputs. Each is a list of
/// one, because those may share elements, as pieces that are drawn at random do.
/// Some of them are called by executors that wait for their lane.
template <bool Waits>
struct mix {
  using reply = std::int64_t;
  static constexpr std::string_view name = Waits ? "test.waiting_mix" : "test.mix";

  std::vector<any_tensor> a{};
  std::vector<any_tensor> b{};
  std::vector<any_tensor> c{};
  std::int64_t salt = 0;

  static void describe(description<mix>& d) {
    d.about("Updates b from itself and a, and writes c.");
    d.reads("a", &mix::a, {}, "bytes that are read");
    d.updates("b", &mix::b, {}, "bytes that are updated");
    d.writes("c", &mix::c, {}, "bytes that are written");
    d.value("salt", &mix::salt, "number that c depends on, too");
  }
};

std::int64_t run_mix(std::span<const std::uint8_t> a, std::span<std::uint8_t> b,
                     std::span<std::uint8_t> c, std::int64_t salt) {
  const auto from_a = [&](std::size_t i) { return a.empty() ? 1u : a[i % a.size()]; };
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    b[i] = static_cast<std::uint8_t>(b[i] * 31u + from_a(i));
    sum += b[i];
  }
  for (std::size_t i = 0; i < c.size(); ++i)
    c[i] = static_cast<std::uint8_t>(from_a(i) + static_cast<std::uint64_t>(salt) + i);
  return sum;
}

std::span<std::uint8_t> bytes_of(const any_tensor& t) {
  return {reinterpret_cast<std::uint8_t*>(t.address()), static_cast<std::size_t>(t.count())};
}

template <bool Waits>
result<void> enqueue_mix(void*, const void* request, lane_context& where, std::byte* reply) {
  auto& lane = static_cast<fake_lane&>(where);
  const auto& r = *static_cast<const mix<Waits>*>(request);
  lane.enqueue([a = bytes_of(r.a[0]), b = bytes_of(r.b[0]), c = bytes_of(r.c[0]), salt = r.salt,
                to = reinterpret_cast<std::int64_t*>(reply)] { *to = run_mix(a, b, c, salt); });
  return Waits ? lane.finish() : result<void>();
}

/// Requests on random pieces of memory in random lanes, whose queues overtake each other; with and
/// without threads that help to enqueue, with and without calls that wait.
class WorkerStreamLanesSchedule : public testing::TestWithParam<unsigned> {};

TEST_P(WorkerStreamLanesSchedule, GivesWhatOneAfterTheOtherWouldGive) {
  constexpr std::size_t arena = 2'048;
  constexpr int requests = 600;
  constexpr std::size_t lanes = 7;
  fake_accelerator device(GetParam());
  std::atomic<int> losses{0};
  stage stage(128);
  stage.submitters = static_cast<int>(GetParam() % 3);
  stage.operations.insert({.type = &request_type_of<mix<false>>(), .run = &enqueue_mix<false>});
  stage.operations.insert({.type = &request_type_of<mix<true>>(),
                           .run = &enqueue_mix<true>,
                           .effort = effort::blocks_host});
  const std::span<std::byte> memory = stage.memory();
  std::vector<std::uint8_t> expected(arena);
  std::minstd_rand random(GetParam() + 1);
  for (std::size_t i = 0; i < arena; ++i) {
    expected[i] = static_cast<std::uint8_t>(random());
    memory[i] = static_cast<std::byte>(expected[i]);
  }
  const auto piece = [&]() -> std::pair<std::size_t, std::size_t> {
    const std::size_t begin = random() % arena;
    return {begin, std::min<std::size_t>(arena - begin, random() % 96)};
  };
  const auto view = [&](std::pair<std::size_t, std::size_t> p) {
    return any_tensor::unowned(memory.data() + p.first, dtype::u8,
                               shape{static_cast<std::int64_t>(p.second)});
  };
  const auto slice = [&](std::pair<std::size_t, std::size_t> p) {
    return std::span(expected).subspan(p.first, p.second);
  };

  struct sent {
    std::uint16_t slot;
    std::uint8_t lane;
    std::uint64_t place;
    std::int64_t answer;
  };
  std::deque<sent> open;
  std::array<std::uint64_t, lanes> places{};
  const auto settle_first = [&] {
    const sent one = open.front();
    open.pop_front();
    stage.await(one.lane, one.place);
    std::int64_t answer = 0;
    std::memcpy(&answer, stage.reply(one.slot).bytes, sizeof(answer));
    ASSERT_EQ(stage.reply(one.slot).code, 0);
    ASSERT_EQ(answer, one.answer);
    stage.requests->give_back_slot(one.slot);
  };
  stage.start_on(device, [&](const error&) { losses.fetch_add(1); });
  for (int i = 0; i < requests; ++i) {
    if (open.size() == 100) {
      ASSERT_NO_FATAL_FAILURE(settle_first());
    }
    const auto a = piece();
    const auto b = i % 3 == 0 ? piece() : std::pair<std::size_t, std::size_t>{0, 0};
    const auto c = piece();
    const auto prepare = [&]<bool Waits>(mix<Waits> empty) {
      empty.a = {view(a)};
      empty.b = {view(b)};
      empty.c = {view(c)};
      empty.salt = i;
      return stage.prepare_request(std::move(empty));
    };
    const bool waits = GetParam() % 2 == 1 && random() % 5 == 0;
    const std::uint16_t slot = waits ? prepare(mix<true>{}) : prepare(mix<false>{});
    const auto lane = static_cast<std::uint8_t>(random() % lanes);
    const std::int64_t answer = run_mix(slice(a), slice(b), slice(c), i);
    stage.requests->header(slot).mark = static_cast<wire::end_mark>(random() % 4);
    stage.requests->publish(slot, lane);
    open.push_back({slot, lane, ++places[lane], answer});
  }
  while (!open.empty()) {
    ASSERT_NO_FATAL_FAILURE(settle_first());
  }
  for (std::size_t i = 0; i < arena; ++i)
    ASSERT_EQ(std::to_integer<std::uint8_t>(memory[i]), expected[i]) << "byte " << i;
  EXPECT_GT(device.waits, 0);
  EXPECT_EQ(losses, 0);
}
INSTANTIATE_TEST_SUITE_P(Seeds, WorkerStreamLanesSchedule, testing::Range(0u, 20u));

}  // namespace
}  // namespace troupe
