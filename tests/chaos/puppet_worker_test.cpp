// A worker may write, send or do anything with its requests: the program continues, leaks nothing,
// and accepts no answer that it can recognise as invalid.

#include "puppet_worker.hpp"

#include "under_sanitizers.hpp"

#include <troupe/device/device.hpp>
#include <troupe/device/mapped_tensor.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/plugin/worker_entry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto timeout = 30s;
constexpr auto short_start = test::under_sanitizers ? 10s : 2s;

std::size_t open_descriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// A device that a puppet serves first; the next workers are honest.
class puppet_device {
 public:
  explicit puppet_device(std::chrono::nanoseconds start_timeout = 20s) {
    ::setenv(puppet_setting, "1", 1);
    gpu_ = system_.device(0, {.backend = backend_kind::cpu,
                              .memory_limit_bytes = std::uint64_t{256} << 20,
                              .standby = false,
                              .restarts = {.restarts = 10},
                              .backoff = {.initial = 0ns},
                              .start_timeout = start_timeout,
                              .own_operations = &add_puppet_operations});
    auto ready = gpu_->wait_until_ready();
    EXPECT_TRUE(ready) << ready.error().to_string();
    ::unsetenv(puppet_setting);
  }
  device& operator*() { return *gpu_; }
  device* operator->() { return &*gpu_; }

 private:
  troupe::system system_;
  std::optional<device> gpu_;
};

class Puppet : public ::testing::Test {
 protected:
  struct answer {
    errc code{};
    std::int64_t value = 0;
    std::string text{};
    [[nodiscard]] bool right(std::int64_t number) const {
      return code == errc{} && value == answer_to(number);
    }
  };
  static answer ask(const device& gpu, trick what, std::int64_t number) {
    auto asked = gpu.ask(question{.what = what, .number = number});
    if (!asked.wait_for(timeout)) {
      ADD_FAILURE() << "never answered";
      return {.code = errc::system_error};
    }
    auto outcome = asked.get_result();
    if (!outcome) {
      return {.code = outcome.error().code, .text = outcome.error().to_string()};
    }
    return {.value = outcome->as<std::int64_t>()};
  }
  static void expect_serves(const device& gpu) {
    for (std::int64_t number = 1'000; number < 1'004; ++number) {
      const answer got = ask(gpu, trick::none, number);
      EXPECT_TRUE(got.right(number)) << number << ": " << got.value << got.text;
    }
  }
  // The device may have seen nonsense and not have ended the worker yet: requests given to that
  // worker by then fail with it.
  static void expect_serves_once_it_is_ended(const device& gpu) {
    const auto give_up = std::chrono::steady_clock::now() + timeout;
    for (std::int64_t served = 0; served < 4;) {
      const std::int64_t number = 1'000 + served;
      const answer got = ask(gpu, trick::none, number);
      if (got.right(number)) {
        ++served;
        continue;
      }
      ASSERT_EQ(got.code, errc::protocol_violation) << number << ": " << got.value << got.text;
      ASSERT_LT(std::chrono::steady_clock::now(), give_up);
    }
  }
};

TEST_F(Puppet, DoesAWorkersWork) {
  puppet_device gpu;
  for (std::int64_t number = 0; number < 100; ++number)
    ASSERT_TRUE(ask(*gpu, trick::none, number).right(number));
  EXPECT_EQ(gpu->generation(), 1u);
}

TEST_F(Puppet, WhoseMarkCannotBeIsEndedAndItsRequestAnsweredByTheNext) {
  for (std::int64_t way = 0; way < ways_of(trick::marks); ++way) {
    puppet_device gpu;
    EXPECT_TRUE(ask(*gpu, trick::none, 1).right(1));
    const answer got = ask(*gpu, trick::marks, way);
    EXPECT_TRUE(got.right(way)) << way << ": " << got.text;
    EXPECT_EQ(gpu->generation(), 2u) << way;
    expect_serves(*gpu);
  }
}

TEST_F(Puppet, ThatAnswersTwiceIsHeardOnce) {
  puppet_device gpu;
  for (std::int64_t number = 0; number < 20; ++number) {
    // Whichever was there when the program looked.
    const answer got = ask(*gpu, trick::answers_twice, number);
    EXPECT_TRUE(got.right(number) || got.value == second_answer) << got.value << got.text;
    EXPECT_TRUE(ask(*gpu, trick::none, number).right(number)) << "it has the answer of another";
  }
  expect_serves(*gpu);
  EXPECT_EQ(gpu->generation(), 1u);
}

TEST_F(Puppet, WhoseReplyCannotBeIsEndedAndNotBelieved) {
  for (std::int64_t way = 0; way < ways_of(trick::spoils_reply); ++way) {
    puppet_device gpu;
    const answer got = ask(*gpu, trick::spoils_reply, way);
    EXPECT_EQ(got.code, errc::protocol_violation) << way << ": " << got.text;
    expect_serves(*gpu);
    // It is ended by another thread than the one that found out.
    const auto give_up = std::chrono::steady_clock::now() + timeout;
    while (gpu->generation() == 1 && std::chrono::steady_clock::now() < give_up)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(gpu->generation(), 2u) << way;
  }
}

TEST_F(Puppet, WhoseErrorHasNoEndIsCutShort) {
  puppet_device gpu;
  for (std::int64_t way = 0; way < ways_of(trick::fails_strangely); ++way) {
    const answer got = ask(*gpu, trick::fails_strangely, way);
    EXPECT_TRUE(got.code == errc::library_error || got.code == errc::protocol_violation) << way;
    EXPECT_LT(got.text.size(), 2'000u) << way;
  }
  expect_serves(*gpu);
}

TEST_F(Puppet, ThatSpoilsAFieldIsNeverTakenForRight) {
  for (std::int64_t way = 0; way < ways_of(trick::spoils_field); ++way) {
    puppet_device gpu;
    const answer got = ask(*gpu, trick::spoils_field, way);
    EXPECT_TRUE(got.code != errc{} || got.right(way)) << way << ": " << got.value;
    expect_serves(*gpu);
    EXPECT_LE(gpu->generation(), 2u) << way;
  }
}

TEST_F(Puppet, ThatMakesNoiseIsNeverTakenForRight) {
  for (std::int64_t seed = 0; seed < ways_of(trick::makes_noise); ++seed) {
    puppet_device gpu;
    const answer got = ask(*gpu, trick::makes_noise, seed);
    EXPECT_TRUE(got.code != errc{} || got.right(seed)) << seed << ": " << got.value;
    expect_serves_once_it_is_ended(*gpu);
  }
}

TEST_F(Puppet, ThatSpeaksOutOfTurnIsEndedHoweverMuchItSays) {
  for (std::int64_t way = 0; way < ways_of(trick::speaks); ++way) {
    puppet_device gpu;
    const answer got = ask(*gpu, trick::speaks, way);
    EXPECT_TRUE(got.right(way)) << way << ": " << got.text;
    EXPECT_EQ(gpu->generation(), 2u) << way;
    const auto why = gpu->health().last_fault;
    ASSERT_TRUE(why) << way;
    expect_serves(*gpu);
  }
}

TEST_F(Puppet, ThatHandsDescriptorsIsEndedAndTheyAreClosed) {
  std::optional<std::size_t> before;
  for (std::int64_t way = 0; way < ways_of(trick::hands_descriptors); ++way) {
    {
      puppet_device gpu;
      EXPECT_TRUE(ask(*gpu, trick::hands_descriptors, way).right(way)) << way;
      EXPECT_EQ(gpu->generation(), 2u) << way;
      gpu->stop();
    }
    if (!before) before = open_descriptors();
    EXPECT_EQ(open_descriptors(), *before) << way;
  }
}

// Changes of rights are told to the worker, and wait for its word.
TEST_F(Puppet, ThatDoesNotReadOrAnswerHoldsUpNobody) {
  for (const trick how : {trick::reads_nothing, trick::owes_answers}) {
    puppet_device gpu(short_start);
    EXPECT_TRUE(ask(*gpu, how, 0).right(0));
    constexpr int tensors = 400;  // more than a socket has room for
    std::vector<any_tensor> frozen;
    std::vector<future<void>> done;
    for (int i = 0; i < tensors; ++i) {
      frozen.push_back(gpu->tensor<float>({64 << 10}).value());
      done.push_back(gpu->freeze(frozen.back()));
    }
    EXPECT_TRUE(ask(*gpu, trick::none, 1).right(1)) << "the device thread is not held up";
    for (const future<void>& one : done)
      ASSERT_TRUE(one.wait_for(timeout));
    expect_serves(*gpu);
    EXPECT_EQ(gpu->generation(), 2u);
  }
}

TEST_F(Puppet, WithoutRoomForAFrozenTensorRefusesThatOne) {
  puppet_device gpu;
  const auto t = gpu->tensor<float>({64 << 10}).value();
  const auto frozen = gpu->tensor<float>({64 << 10}).value();
  gpu->freeze(frozen).get();
  EXPECT_TRUE(ask(*gpu, trick::refuses_rights, 0).right(0));
  auto once = gpu->freeze(t);
  auto twice = gpu->freeze(t);
  for (future<void>* one : {&once, &twice}) {
    ASSERT_TRUE(one->wait_for(timeout));
    const auto outcome = one->get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::out_of_memory) << outcome.error().to_string();
  }
  const auto written = [&](const any_tensor& to) {
    auto asked = gpu->ask(memory::fill{.to = to, .value = 1.0f});
    return asked.ready() && !asked.get_result() ? errc::frozen_buffer : errc{};
  };
  EXPECT_EQ(written(t), errc{});
  EXPECT_EQ(written(frozen), errc::frozen_buffer);
  expect_serves(*gpu);
  EXPECT_EQ(gpu->generation(), 1u);
}

TEST_F(Puppet, WithoutRoomForAThawedTensorIsReplaced) {
  puppet_device gpu;
  const auto t = gpu->tensor<float>({64 << 10}).value();
  gpu->freeze(t).get();
  EXPECT_TRUE(ask(*gpu, trick::refuses_rights, 1).right(1));
  auto thawed = gpu->thaw(t);
  ASSERT_TRUE(thawed.wait_for(timeout));
  EXPECT_TRUE(gpu->health().last_fault) << "a worker that still cannot write serves";
  EXPECT_TRUE(thawed.get_result());
  expect_serves(*gpu);
  EXPECT_EQ(gpu->generation(), 2u);
}

TEST_F(Puppet, ThatCannotUndoAFreezeEitherIsReplaced) {
  puppet_device gpu;
  const auto t = gpu->tensor<float>({64 << 10}).value();
  EXPECT_TRUE(ask(*gpu, trick::refuses_rights, 2).right(2));
  auto frozen = gpu->freeze(t);
  ASSERT_TRUE(frozen.wait_for(timeout));
  EXPECT_TRUE(gpu->health().last_fault) << "a worker of which nobody knows what it may write";
  EXPECT_EQ(frozen.get_result().error().code, errc::out_of_memory);
  expect_serves(*gpu);
  EXPECT_EQ(gpu->generation(), 2u);
  gpu->freeze(t).get();
}

TEST_F(Puppet, ThatEndsALoanBeforeItBeginsIsNotBelieved) {
  puppet_device gpu;
  const auto t = gpu->tensor<float>({64 << 10}).value();
  auto mapped = gpu->mapped(t, access::update);
  ASSERT_TRUE(mapped.wait_for(timeout));
  const auto outcome = mapped.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::protocol_violation) << outcome.error().to_string();
}

TEST_F(Puppet, ThatTakesTheWakesOfTheProgramMakesItNoDeafer) {
  for (std::int64_t way = 0; way < ways_of(trick::takes_wakes); ++way) {
    puppet_device gpu;
    EXPECT_TRUE(ask(*gpu, trick::takes_wakes, way).right(way));
    std::atomic<int> told{0};
    for (std::int64_t number = 0; number < 10; ++number) {
      (void)gpu->ask(question{.number = number}).then([&](const result<scalar>&) { ++told; });
    }
    const auto until = std::chrono::steady_clock::now() + timeout;
    while (told < 10 && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(1ms);
    EXPECT_EQ(told, 10) << way;
    const auto before = std::chrono::steady_clock::now();
    gpu->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - before, timeout);
  }
}

TEST_F(Puppet, CanMakeNothingOfWhatIsSealed) {
  puppet_device gpu;
  const answer got = ask(*gpu, trick::tampers, 0);
  EXPECT_EQ(got.code, errc{}) << got.text;
  EXPECT_EQ(got.value, 0) << "so much of what it tried succeeded";
  expect_serves(*gpu);
}

TEST_F(Puppet, ThatLeavesAProcessBehindDisturbsNoneOfTheNext) {
  puppet_device gpu;
  (void)ask(*gpu, trick::leaves_child, 7);
  const auto until = std::chrono::steady_clock::now() + 1s;
  for (std::int64_t number = 0; std::chrono::steady_clock::now() < until; ++number)
    ASSERT_TRUE(ask(*gpu, trick::none, number).right(number));
  EXPECT_EQ(gpu->generation(), 2u);
}

TEST_F(Puppet, WhoseCrashReportLiesIsReplaced) {
  for (std::int64_t way = 0; way < ways_of(trick::forges_report); ++way) {
    puppet_device gpu;
    const answer got = ask(*gpu, trick::forges_report, way);
    EXPECT_TRUE(got.code != errc{} || got.right(way)) << way << ": " << got.value;
    expect_serves(*gpu);
    EXPECT_EQ(gpu->generation(), 2u) << way;
  }
}

TEST_F(Puppet, ThatEndsInARequestsCodeBlamesThatOneAndNotWhatRuns) {
  puppet_device gpu;
  const library_actor of = gpu->library("puppet");
  auto runs = of.on_new_lane().ask(question{.what = trick::ends_in_calls, .number = role_begun});
  auto last =
      of.on_new_lane().ask(question{.what = trick::ends_in_calls, .number = role_last_called});
  ASSERT_TRUE(last.wait_for(timeout) && runs.wait_for(timeout));
  EXPECT_EQ(last.get_result().error().code, errc::device_fault);
  EXPECT_EQ(runs.get().as<std::int64_t>(), answer_to(role_begun));
  EXPECT_EQ(gpu->generation(), 2u);
}

TEST_F(Puppet, ThatEndsInTheCodeOfOneOfTwoBlamesNobodyYet) {
  puppet_device gpu;
  const library_actor of = gpu->library("puppet");
  std::vector<future<scalar>> all;
  for (const std::int64_t role : {role_begun, role_called, role_last_called})
    all.push_back(of.on_new_lane().ask(question{.what = trick::ends_in_calls, .number = role}));
  for (std::int64_t role = 0; role < 3; ++role) {
    auto& one = all[static_cast<std::size_t>(role)];
    ASSERT_TRUE(one.wait_for(timeout));
    auto answered = one.get_result();
    ASSERT_TRUE(answered) << answered.error().to_string();
    EXPECT_EQ(answered->as<std::int64_t>(), answer_to(role));
  }
  EXPECT_EQ(gpu->generation(), 2u);
}

}  // namespace
}  // namespace troupe::chaos

int main(int argc, char** argv) {
  using namespace troupe::chaos;
  maybe_be_puppet(argc, argv);
  if (const auto status = troupe::worker_entry(argc, argv, &add_puppet_operations)) return *status;
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
