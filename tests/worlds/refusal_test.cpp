// A refused request leaves nothing behind: nothing is published, and the world goes on.
#include "worlds/accumulator.hpp"

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace troupe::worlds {
namespace {

std::optional<error> refusal_of(const std::function<world()>& make) {
  try {
    (void)make();
    return std::nullopt;
  } catch (const failure& why) {
    return why.error();
  }
}

TEST(WorldRefusal, NamesWhatCannotBeAWorld) {
  system s;
  system other;
  auto devices = devices_of(s, 2);
  const device thread = in_threads(s, 5);
  const auto expect = [&](std::vector<device> of, const world_config& config, errc code,
                          std::string_view words) {
    const auto why = refusal_of([&] { return s.world(of, config); });
    ASSERT_TRUE(why) << words;
    EXPECT_EQ(why->code, code);
    EXPECT_NE(why->message.find(words), std::string::npos) << why->message;
  };
  expect({}, {}, errc::invalid_argument, "a world needs a device");
  expect({devices[1], devices[0], devices[1]}, {}, errc::invalid_argument,
         "device 1 is rank 0 and rank 2");
  expect({devices[0], other.device(0, small())}, {}, errc::invalid_argument, "another system");
  expect({devices[0], thread}, {}, errc::unsupported, "device 5 runs in threads of the program");
  expect(devices, {.run_limit = std::chrono::seconds(0)}, errc::invalid_argument,
         "run_limit must be positive");
  expect(devices, {.staging_bytes = 100}, errc::invalid_argument, "staging_bytes must be at least");
  const world w = s.world(devices);
  EXPECT_EQ(refusal_of([&] { return w.subset({0, 2}); })->code, errc::invalid_argument);
  EXPECT_EQ(refusal_of([&] { return w.subset({1}).without(devices[1]); })->code,
            errc::invalid_argument);
}

TEST(WorldRefusal, PublishesNothingIfOneDeviceRefuses) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  system s;
  auto narrow = small();
  narrow.mailbox_capacity = 2;
  std::vector devices{s.device(0, small()), s.device(1, narrow)};
  world w = s.world(devices);
  accumulator sums(w, 100);
  const auto expect = [&](errc code, const request_options& options = {}) {
    const auto sent = devices[0].statistics().in_flight;
    const auto outcome =
        w.ask(collective::all_reduce{.x = sums.tensors(), .y = sums.tensors()}, options)
            .get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, code) << outcome.error().to_string();
    EXPECT_FALSE(outcome.error().request.empty());
    EXPECT_EQ(devices[0].statistics().in_flight, sent);
    EXPECT_TRUE(w.health().under_way.empty());
  };
  expect(errc::invalid_argument, {.run_limit = std::chrono::seconds(1)});
  const std::stop_source stop;
  expect(errc::invalid_argument, {.stop = stop.get_token()});

  // Its mailbox is full while the tensor is mapped.
  auto held = devices[1].mapped(sums.tensors()[1], access::read).get();
  auto waits = devices[1].ask(memory::fill{.to = sums.tensors()[1], .value = 1});
  expect(errc::mailbox_full);
  held.unmap();
  EXPECT_TRUE(waits.get_result());
  EXPECT_TRUE(devices[1]
                  .ask(memory::copy{.from = sums.tensors()[1], .to = sums.tensors()[1]})
                  .get_result());

  devices[1].stop();
  expect(errc::device_stopped);
}

// With operations under way, and a world that is used after it.
TEST(WorldRefusal, OutlivesItsSystem) {
  std::optional<system> s(std::in_place);
  auto devices = devices_of(*s, 2);
  world w = s->world(devices);
  const auto x = w.tensors<float>({1000}).value();
  std::vector<future<void>> under_way;
  for (int i = 0; i < 50; ++i) {
    under_way.push_back(w.ask(collective::all_reduce{.x = x, .y = x}));
    under_way.push_back(devices[0].copy(x[0], x[1]));
  }
  s.reset();
  for (auto& one : under_way)
    EXPECT_TRUE(one.get_result()) << "it waits for what is under way";
  for (auto outcome :
       {w.ask(collective::barrier{}).get_result(), devices[0].copy(x[0], x[1]).get_result()}) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::device_stopped);
  }
}

TEST(WorldRefusal, ReadsNoTaintedTensor) {
  system s;
  auto devices = devices_of(s, 2);
  world w = s.world(devices);
  const auto x = w.tensors<float>({4}).value();
  const auto y = w.tensors<float>({4}).value();
  ASSERT_TRUE(devices[0].ask(memory::fill{.to = x[0], .value = 1}).get_result());
  ASSERT_FALSE(
      devices[1].ask(fault::inject{.what = fault::kind::exception, .output = x[1]}).get_result());
  const auto outcome = w.ask(collective::all_reduce{.x = x, .y = y}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::tainted_buffer);
  // Overwriting heals it, also by a request for several devices.
  EXPECT_TRUE(
      w.ask(collective::broadcast{.x = {x[0], any_tensor()}, .y = {y[0], x[1]}}).get_result());
  EXPECT_TRUE(w.ask(collective::all_reduce{.x = x, .y = y}).get_result());
  std::vector<float> got(4);
  ASSERT_TRUE(devices[1].copy(y[1], got).get_result());
  EXPECT_EQ(got, std::vector<float>(4, 2.0F));
}

// A failure that is found only after sending ends the parts of all ranks.
TEST(WorldRefusal, FailsIfAnInputTurnsOutToBeUndefined) {
  system s;
  auto devices = devices_of(s, 2);
  world w = s.world(devices);
  const auto x = w.tensors<float>({4}).value();
  const auto y = w.tensors<float>({4}).value();
  for (int i = 0; i < 10; ++i) {
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_TRUE(devices[rank].tell(memory::fill{.to = x[rank], .value = 1}));
    EXPECT_TRUE(devices[1].tell(fault::inject{.what = fault::kind::exception, .output = x[1]}));
    auto sum = w.ask(collective::all_reduce{.x = x, .y = y});
    EXPECT_FALSE(sum.get_result());
  }
  for (std::size_t rank = 0; rank < 2; ++rank)
    EXPECT_TRUE(devices[rank].tell(memory::fill{.to = x[rank], .value = 3}));
  EXPECT_TRUE(w.ask(collective::all_reduce{.x = x, .y = y}).get_result());
}

}  // namespace
}  // namespace troupe::worlds
