// Copies between two devices: the target reads the source's memory.
#include "worlds/accumulator.hpp"

#include <csignal>

namespace troupe::worlds {
namespace {

class PairCopy : public testing::Test {
 protected:
  system s_;
  std::vector<device> devices_ = devices_of(s_, 2);
  tensor<float> from_ = devices_[0].tensor<float>({300, 200}).value();
  tensor<float> to_ = devices_[1].tensor<float>({300, 200}).value();

  void fill(const any_tensor& t, float value) {
    EXPECT_TRUE(devices_[0].tell(memory::fill{.to = t, .value = value}));
  }
  std::vector<float> content(const any_tensor& t) {
    std::vector<float> got(static_cast<std::size_t>(t.count()));
    const auto copied = devices_[1].copy(t, got).get_result();
    EXPECT_TRUE(copied) << copied.error().to_string();
    return got;
  }
  static std::vector<float> all(float value) { return std::vector<float>(60'000, value); }
};

TEST_F(PairCopy, TakesAnyStrides) {
  std::vector<float> numbers(60'000);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i);
  ASSERT_TRUE(devices_[0].copy(numbers, from_).get_result());
  const any_tensor rows = from_.transpose().slice(0, 5, 105).value();
  const any_tensor columns = to_.slice(0, 7, 107).value().transpose().transpose();
  const any_tensor target = columns.slice(1, 0, 100).value();
  ASSERT_TRUE(devices_[0].copy(rows.slice(1, 0, 100).value(), target).get_result());
  const auto got = content(to_);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t j = 0; j < 100; ++j)
      ASSERT_EQ(got[(i + 7) * 200 + j], numbers[j * 200 + i + 5]);
  }
}

// On both devices: earlier requests come before it, later ones wait for it.
TEST_F(PairCopy, HasItsPlaceInTheOrderOfBothDevices) {
  if (on_gpus()) GTEST_SKIP() << no_mapping;
  for (int i = 0; i < 30; ++i) {
    fill(from_, static_cast<float>(i));
    auto copied = devices_[static_cast<std::size_t>(i) % 2].copy(from_, to_);
    fill(from_, -1);
    EXPECT_EQ(content(to_), all(static_cast<float>(i)));
    EXPECT_TRUE(copied.get_result());
  }
  auto held = devices_[1].mapped(to_, access::read).get();
  fill(from_, 5);
  auto copied = devices_[0].copy(from_, to_);
  auto overwritten = devices_[0].ask(memory::fill{.to = from_, .value = 6});
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(overwritten.ready()) << "no copy of the source is anywhere else";
  held.unmap();
  EXPECT_TRUE(overwritten.get_result());
  EXPECT_EQ(content(to_), all(5));
}

TEST_F(PairCopy, RunsAgainIfAWorkerIsKilled) {
  for (int i = 0; i < 6; ++i) {
    fill(from_, static_cast<float>(i));
    std::vector<future<void>> copies;
    for (int k = 0; k < 20; ++k)
      copies.push_back(devices_[0].copy(from_, to_));
    if (const auto pid = devices_[static_cast<std::size_t>(i) % 2].worker_pid())
      ::kill(*pid, SIGKILL);
    for (auto& one : copies) {
      const auto outcome = one.get_result();
      EXPECT_TRUE(outcome) << outcome.error().to_string();
    }
    EXPECT_EQ(content(to_), all(static_cast<float>(i)));
  }
}

TEST_F(PairCopy, FailsAsACopyDoes) {
  const auto code = [&](const any_tensor& a, const any_tensor& b) {
    const auto outcome = devices_[0].copy(a, b).get_result();
    return outcome ? errc{} : outcome.error().code;
  };
  EXPECT_EQ(code(from_, to_.transpose()), errc::shape_mismatch);
  EXPECT_EQ(code(from_, devices_[1].tensor<double>({300, 200}).value()), errc::type_mismatch);
  const auto stale = devices_[1].tensor<float>({300, 200}).value();
  devices_[1].release(stale);
  EXPECT_EQ(code(from_, stale), errc::stale_buffer);
  ASSERT_FALSE(
      devices_[0].ask(fault::inject{.what = fault::kind::exception, .output = from_}).get_result());
  EXPECT_EQ(code(from_, to_), errc::tainted_buffer);
  // It is found out after the copy was sent.
  fill(from_, 1);
  EXPECT_TRUE(devices_[0].tell(fault::inject{.what = fault::kind::exception, .output = from_}));
  EXPECT_EQ(code(from_, to_), errc::tainted_buffer);
  fill(from_, 2);
  EXPECT_EQ(code(from_, to_), errc{});
  EXPECT_EQ(content(to_), all(2));
  devices_[1].stop();
  EXPECT_EQ(code(from_, to_), errc::device_stopped);
  ASSERT_TRUE(devices_[1].restart());
  EXPECT_EQ(code(from_, to_), errc{});
}

TEST_F(PairCopy, GoesThroughHostMemoryIfADeviceMapsNoOther) {
  device thread = in_threads(s_, 5);
  const auto there = thread.tensor<float>({300, 200}).value();
  fill(from_, 3);
  EXPECT_TRUE(devices_[0].copy(from_, there).get_result());
  EXPECT_TRUE(devices_[0].copy(there, to_).get_result());
  EXPECT_EQ(content(to_), all(3));
}

TEST_F(PairCopy, ReachesADeviceThatReplacesAnother) {
  fill(from_, 1);
  EXPECT_TRUE(devices_[0].copy(from_, to_).get_result());
  devices_[1].stop();
  to_ = {};
  device next = s_.device(1, small());
  to_ = next.tensor<float>({300, 200}).value();
  EXPECT_TRUE(next.copy(from_, to_).get_result());
  devices_[1] = next;
  EXPECT_EQ(content(to_), all(1));
}

}  // namespace
}  // namespace troupe::worlds
