// Sending in two phases: a request is prepared, and then published or dropped.
#include "device_turns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

/// One of several devices of a system, with simulated workers.
class device_of_several {
 public:
  static constexpr std::uint32_t capacity = 2;

  device_of_several(std::int32_t ordinal, const std::shared_ptr<memory_pool>& host)
      : told_({{}, {}, environment_.time}) {
    environment_.told = &told_;
    core = local_device::create_with({.plugin = "simulated", .description = {.name = "simulated"}},
                                     ordinal,
                                     {.mailbox_capacity = capacity,
                                      .mailbox_bytes = 4096,
                                      .full = when_full::wait,
                                      .memory_limit_bytes = 1 << 20,
                                      .standby = false},
                                     host, environment_)
               .value();
    buffer =
        any_tensor::owned(core->allocate(memory_space::device, 4096).value(), dtype::u8, {4096});
    core->supervision().take_turn();
    environment_.next()->becomes_ready();
    core->supervision().take_turn();
  }
  ~device_of_several() {
    buffer = {};
    core.reset();
  }

  [[nodiscard]] result<prepared_request> prepare(const use& request) {
    return core->prepare_part(request_type_of<use>(), &request, 1);
  }
  /// Takes up requests, and completes the first one.
  void work() {
    while (environment_.serving()->takes_up()) {
    }
    environment_.serving()->begins(wire::world_lane);
    environment_.serving()->completes(wire::world_lane, errc{});
    core->supervision().take_turn();
  }
  [[nodiscard]] bool has_work() { return environment_.serving()->takes_up(); }
  void expect_all_slots_free() {
    const use request{};
    const auto first = prepare(request);
    const auto second = prepare(request);
    EXPECT_TRUE(first && second);
    const auto third = prepare(request);
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().code, errc::mailbox_full);
  }

  std::shared_ptr<local_device> core;
  any_tensor buffer;

 private:
  simulated_environment environment_{0};
  device_model told_;
};

class TwoDevices : public ::testing::Test {
 protected:
  std::shared_ptr<memory_pool> host_ =
      memory_pool::create(
          {.space = memory_space::host, .limit_bytes = 1 << 20, .granule_bytes = 4096})
          .value();
  device_of_several first_{0, host_};
  device_of_several second_{1, host_};
};

TEST_F(TwoDevices, AnOperationThatOneRefusesIsPublishedOnNone) {
  {
    const auto on_first = first_.prepare({.number = 1, .writes = {first_.buffer}});
    ASSERT_TRUE(on_first);
    const auto on_second = second_.prepare({.number = 1, .writes = {first_.buffer}});
    ASSERT_FALSE(on_second);
    EXPECT_EQ(on_second.error().code, errc::foreign_buffer);
    EXPECT_EQ(on_second.error().device, 1);
  }
  EXPECT_FALSE(first_.has_work());
  EXPECT_EQ(first_.core->statistics().sent, 0U);
  EXPECT_FALSE(second_.has_work());
  EXPECT_EQ(second_.core->statistics().failed, 1U);
  first_.expect_all_slots_free();
  second_.expect_all_slots_free();
}

TEST_F(TwoDevices, AnOperationThatAllAcceptIsPublishedOnAll) {
  std::array<std::optional<errc>, 2> answers;
  const auto answer_of = [&answers](std::size_t device) {
    return [&answers, device](const std::byte*, error* failure) {
      answers[device] = failure != nullptr ? failure->code : errc{};
    };
  };
  auto on_first = first_.prepare({.number = 1, .writes = {first_.buffer}});
  auto on_second = second_.prepare({.number = 1, .writes = {second_.buffer}});
  ASSERT_TRUE(on_first && on_second);
  EXPECT_FALSE(first_.has_work()) << "it is not published yet";
  first_.core->publish(*std::move(on_first), answer_of(0));
  second_.core->publish(*std::move(on_second), answer_of(1));
  first_.work();
  second_.work();
  EXPECT_EQ(answers[0], errc{});
  EXPECT_EQ(answers[1], errc{});
  first_.expect_all_slots_free();
  second_.expect_all_slots_free();
}

TEST_F(TwoDevices, ADroppedRequestKeepsNoBuffer) {
  const std::uint64_t before = first_.core->statistics().buffers;
  {
    any_tensor made = any_tensor::owned(first_.core->allocate(memory_space::device, 4096).value(),
                                        dtype::u8, {4096});
    const auto prepared = first_.prepare({.number = 1, .writes = {made}});
    made = {};
    EXPECT_EQ(first_.core->statistics().buffers, before + 1);
  }
  EXPECT_EQ(first_.core->statistics().buffers, before);
}

TEST_F(DeviceTurns, ADroppedOverwriteDefinesNothing) {
  make({.standby = false, .backoff = {.initial = 0ms}});
  have_it_crash({.number = 1, .writes = {buffer_}});
  const use overwrite{.number = 2, .writes = {buffer_}};
  {
    EXPECT_TRUE(core_->prepare_part(request_type_of<use>(), &overwrite, 1));
  }
  send(1, {}, {.number = 3, .reads = {buffer_}});
  EXPECT_EQ(answer_of(1), errc::tainted_buffer);
  send(0, {}, overwrite);
  send(2, {}, {.number = 4, .reads = {buffer_}});
  have_it_end_well(0);
  EXPECT_EQ(answer_of(0), errc{});
  have_it_end_well(2);
  EXPECT_EQ(answer_of(2), errc{});
}

}  // namespace
}  // namespace troupe::model
