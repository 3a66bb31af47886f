// Device memory as a program sees it: allocation, copies, freezing, staleness.

#include "device/fixtures/device_under_fault.hpp"
#include "device/fixtures/either_isolation.hpp"
#include "under_sanitizers.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

class Memory : public either_isolation {};

INSTANTIATE_TEST_SUITE_P(Isolation, Memory,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

// The limit that the program was started with, which a device raises.
const rlim_t limit_at_start = [] {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  now.rlim_cur = std::min<rlim_t>(now.rlim_max, 1024);
  ::setrlimit(RLIMIT_NOFILE, &now);
  return now.rlim_cur;
}();

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

TEST_P(Memory, SpanComesBackAsItWasSent) {
  for (const std::size_t n : {std::size_t{1}, std::size_t{7}, std::size_t{4096},
                              std::size_t{262'144}, std::size_t{3'000'001}}) {
    const std::vector<float> sent = counted(n);
    std::vector<float> back(n, -1.0F);
    auto t = gpu_.tensor<float>({static_cast<std::int64_t>(n)}).value();
    auto there = gpu_.copy(std::span(sent), t);
    auto here = gpu_.copy(t, std::span(back));
    there.get();
    here.get();
    EXPECT_EQ(sent, back) << n << " elements";
  }
}

// The addresses of one of them are where those of GPUs are otherwise.
TEST_P(Memory, OfTwoDevicesThatShareALargeMachineComputesInBoth) {
  if (on_gpu()) GTEST_SKIP() << "there is as much as the GPU has";
  if (under_sanitizers) GTEST_SKIP() << "a sanitizer takes notes of all of it";
  device_config large = config();
  large.memory_limit_bytes = std::uint64_t{440} << 30;
  device gpus[] = {instead(large), system_.device(1, large)};
  const std::vector<float> sent = counted(5);
  for (device& gpu : gpus) {
    auto t = gpu.tensor<float>({5}).value();
    auto host = gpu.host_tensor<float>({5}).value();
    gpu.copy(std::span(sent), t).get();
    gpu.copy(t, host).get();
    EXPECT_EQ(std::vector<float>(&host[0], &host[0] + 5), sent);
    EXPECT_EQ(gpu.ask(sum{.input = t}).get(), 15.0);
  }
}

rlimit descriptors() {
  rlimit now{};
  ::getrlimit(RLIMIT_NOFILE, &now);
  return now;
}

// If memory is the device's, each of them is a descriptor, in the program and on its way to each
// worker.
TEST(ManyTensors, OfSomeSizeAreThousandsAndOutliveAWorker) {
  troupe::system system;
  device_config config = permissive();
  config.memory_limit_bytes = std::uint64_t{6} << 30;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  std::vector<tensor<float>> all;
  for (int i = 0; i < 2000; ++i) {
    auto one = gpu.tensor<float>({256 << 10});
    ASSERT_TRUE(one) << i << ": " << one.error().to_string();
    all.push_back(*std::move(one));
  }
  const auto fill = [&](const tensor<float>& t, double value) {
    return ended(gpu.ask(memory::fill{.to = t.slice(0, 0, 1).value(), .value = value}));
  };
  for (std::size_t i = 0; i < all.size(); i += 97)
    ASSERT_TRUE(fill(all[i], static_cast<double>(i)));
  kill_worker(gpu);
  for (std::size_t i = 0; i < all.size(); i += 97) {
    const auto found = gpu.ask(sum{.input = all[i].slice(0, 0, 1).value()}).get();
    ASSERT_EQ(found, static_cast<double>(i));
  }
  bool ready = false;
  for (int i = 0; i < 6 && !ready; ++i)  // a GPU's driver maps each for itself
    ready = eventually([&] { return gpu.health().standby_ready; });
  EXPECT_TRUE(ready);
}

TEST(ManyTensors, WithoutADescriptorLeftNameWhatIsMissing) {
  troupe::system system;
  device gpu = system.device(0, permissive());
  ASSERT_TRUE(gpu.wait_until_ready());
  if (!on_gpu()) GTEST_SKIP() << "its memory is one file";
  if (under_sanitizers) GTEST_SKIP() << "checks of virtual calls open pipes";
  const few_descriptors none_left;
  const auto refused = gpu.tensor<float>({1 << 20});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
  const auto& cause = refused.error().cause;
  ASSERT_TRUE(cause) << refused.error().message;
  EXPECT_NE(cause->message.find("no file descriptor left"), std::string::npos) << cause->message;
  EXPECT_NE(cause->message.find("ulimit -n"), std::string::npos) << cause->message;
}

TEST(ManyTensors, FindTheSoftLimitRaisedAndForkedProcessesDoNot) {
  if (descriptors().rlim_max < 4096) GTEST_SKIP() << "the hard limit is as low";
  troupe::system system;
  ASSERT_TRUE(system.device(0, permissive()).wait_until_ready());
  EXPECT_GE(descriptors().rlim_cur, 4096u);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(descriptors().rlim_cur == limit_at_start ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(Memory, VectorsAndArraysAreCopiedAsSpansAre) {
  auto t = gpu_.tensor<float>({4}).value();
  const std::vector<float> sent = counted(4);
  std::vector<float> back(4);
  gpu_.copy(sent, t).get();
  gpu_.copy(t, back).get();
  EXPECT_EQ(back, sent);
  const float numbers[] = {5, 6, 7, 8};
  float array[4] = {};
  gpu_.copy(numbers, t).get();
  gpu_.copy(t, array).get();
  EXPECT_TRUE(std::ranges::equal(array, numbers));
}

TEST_P(Memory, CopyOfNothingIsReadyAndRight) {
  auto t = gpu_.tensor<float>({0, 5}).value();
  std::vector<float> none;
  EXPECT_TRUE(gpu_.copy(std::span<const float>(none), t).get_result());
  EXPECT_TRUE(gpu_.copy(t, std::span<float>(none)).get_result());
}

// More pieces than are in flight at once. They begin behind a request that holds the tensor.
class ManyPieces {
 public:
  explicit ManyPieces(device& on)
      : flag_(on),
        t_(on.tensor<float>({count}).value()),
        before_(on.library("test").on_new_lane().ask(
            hold{.flag = flag_.tensor(), .output = t_, .value = 2})),
        lets_go_([this, on] {
          EXPECT_TRUE(eventually([&] { return on.statistics().in_flight > 2; }));
          flag_.set();
        }) {}
  [[nodiscard]] const tensor<float>& tensor_of_twos() const noexcept { return t_; }

  static constexpr std::int64_t count = 2'500'001;  // exact as a sum of threes

 private:
  shared_flag flag_;
  tensor<float> t_;
  future<void> before_;
  std::jthread lets_go_;
};

TEST_P(Memory, WhatIsSentAfterACopyOfManyPiecesComesAfterAllOfIt) {
  const ManyPieces pieces(gpu_);
  const std::vector<float> threes(pieces.count, 3.0F);
  auto copied = gpu_.copy(std::span(threes), pieces.tensor_of_twos());
  auto seen = gpu_.ask(sum{.input = pieces.tensor_of_twos()});
  EXPECT_EQ(seen.get(), 3.0 * pieces.count);
  copied.get();
}

TEST_P(Memory, WhatIsSentAfterACopyOfManyPiecesMayOverwriteItsSource) {
  const ManyPieces pieces(gpu_);
  std::vector<float> back(pieces.count);
  auto copied = gpu_.copy(pieces.tensor_of_twos(), std::span(back));
  auto overwritten = gpu_.ask(memory::fill{.to = pieces.tensor_of_twos(), .value = 9});
  overwritten.get();
  copied.get();
  EXPECT_EQ(std::ranges::count(back, 2.0F), pieces.count);
}

// The request that keeps the tensor busy ends only after both calls.
TEST_P(Memory, CopyReturnsBeforeAnyOfItIsDone) {
  constexpr std::int64_t count = 10'000'001;
  auto t = gpu_.tensor<float>({count}).value();
  const std::vector<float> threes(count, 3.0F);
  std::vector<float> back(count);
  shared_flag flag(gpu_);
  auto busy =
      gpu_.library("test").on_new_lane().ask(hold{.flag = flag.tensor(), .output = t, .value = 2});
  auto there = gpu_.copy(threes, t);
  auto here = gpu_.copy(t, back);
  EXPECT_FALSE(there.ready());
  flag.set();
  busy.get();
  there.get();
  here.get();
  EXPECT_EQ(std::ranges::count(back, 3.0F), count);
}

TEST_P(Memory, ContinuationOfACopyMayWaitForAnother) {
  constexpr std::int64_t count = 1'000'001;
  auto t = gpu_.tensor<float>({count}).value();
  const std::vector<float> threes(count, 3.0F);
  std::vector<float> back(count);
  gpu_.copy(std::span(threes), t)
      .then([&] {
        gpu_.copy(t, std::span(back)).get();
        return gpu_.copy(std::span(threes), t);
      })
      .get();
  EXPECT_EQ(std::ranges::count(back, 3.0F), count);
}

TEST_P(Memory, CopyForWhichNoSharedMemoryIsLeftFailsWithTheReason) {
  auto t = gpu_.tensor<float>({1'000'000}).value();
  ASSERT_TRUE(gpu_.ask(memory::fill{.to = t, .value = 1}).get_result());
  std::vector<float> values(1'000'000, 5.0F);
  {
    // Its pages exist once they are touched, so all of it costs nothing.
    std::vector<any_tensor> all;
    for (std::int64_t bytes = std::int64_t{1} << 50; bytes > 0; bytes /= 2) {
      while (auto taken = gpu_.host_tensor<std::uint8_t>({bytes}))
        all.push_back(*std::move(taken));
    }
    for (auto outcome : {gpu_.copy(std::span(std::as_const(values)), t).get_result(),
                         gpu_.copy(t, std::span(values)).get_result()}) {
      ASSERT_FALSE(outcome);
      EXPECT_EQ(outcome.error().code, errc::out_of_memory);
    }
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 1e6);
  }
  ASSERT_TRUE(gpu_.copy(std::span(std::as_const(values)), t).get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 5e6);
}

TEST_P(Memory, StridedViewsAreCopiedInRowMajorOrder) {
  const std::vector<float> sent = counted(6);
  auto t = gpu_.tensor<float>({3, 2}).value();
  gpu_.copy(std::span(sent), t.transpose()).get();
  std::vector<float> back(6);
  gpu_.copy(t, std::span(back)).get();
  EXPECT_EQ(back, (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_P(Memory, HostTensorsAreReachedWithoutABounce) {
  auto host = gpu_.host_tensor<float>({1000}).value();
  std::iota(host.elements().begin(), host.elements().end(), 0.0F);
  auto t = gpu_.tensor<float>({1000}).value();
  gpu_.copy(host, t).get();
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 499'500.0);
  auto back = gpu_.host_tensor<float>({1000}).value();
  gpu_.copy(t, back).get();
  EXPECT_EQ(back[999], 999.0F);
}

TEST_P(Memory, ZeroedTensorsAreZeroEvenInUsedMemory) {
  for (int i = 0; i < 3; ++i) {
    auto t = gpu_.tensor<float>({1000}, initial::zero).value();
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 0.0);
    gpu_.ask(memory::fill{.to = t, .value = 7}).get();
  }
}

TEST_P(Memory, TensorsGoBetweenDevices) {
  auto found = second_device(system_, config());
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  const std::vector<float> sent = counted(100);
  auto here = gpu_.tensor<float>({100}).value();
  auto there = other.tensor<float>({100}).value();
  gpu_.copy(std::span(sent), here).get();
  gpu_.copy(here, there).get();
  EXPECT_EQ(other.ask(sum{.input = there}).get(), 5050.0);
}

TEST_P(Memory, OffsetsAndStridesBeyondFourGiBAreReached) {
  constexpr std::int64_t four_gib = std::int64_t{1} << 32;
  device_config large = config();
  large.memory_limit_bytes = static_cast<std::uint64_t>(four_gib) + (std::uint64_t{64} << 20);
  gpu_.stop();  // one GPU is enough
  device gpu = system_.device(0, large);
  // Its pages exist once they are touched: those of the ends only.
  auto t = gpu.tensor<std::uint8_t>({four_gib + 100'000}).value();
  std::vector<std::uint8_t> low(1000);
  std::vector<std::uint8_t> high(1000);
  std::iota(low.begin(), low.end(), std::uint8_t{1});
  std::iota(high.begin(), high.end(), std::uint8_t{101});
  gpu.copy(std::span(std::as_const(low)), *t.slice(0, 7, 1007)).get();
  gpu.copy(std::span(std::as_const(high)), *t.slice(0, four_gib + 20, four_gib + 1020)).get();
  std::vector<std::uint8_t> back(1000);
  gpu.copy(*t.slice(0, 7, 1007), std::span(back)).get();
  EXPECT_EQ(back, low) << "an offset of 2^32 is not one of 0";
  gpu.copy(*t.slice(0, four_gib + 20, four_gib + 1020), std::span(back)).get();
  EXPECT_EQ(back, high);

  // Two rows, further apart than 2^32, gathered and scattered again.
  const std::int64_t far[] = {four_gib + 13, 1};
  const any_tensor rows = t.slice(0, 7, t.count())->as_strided({2, 1000}, far).value();
  auto packed = gpu.tensor<std::uint8_t>({2, 1000}).value();
  gpu.copy(rows, packed).get();
  gpu.copy(*packed.slice(0, 1, 2), std::span(back)).get();
  EXPECT_EQ(back, high);
  gpu.ask(memory::fill{.to = rows, .value = 9}).get();
  gpu.copy(packed, rows).get();
  gpu.copy(*t.slice(0, 7, 1007), std::span(back)).get();
  EXPECT_EQ(back, low);
}

TEST_P(Memory, BufferStaysAliveUntilTheRequestThatUsesItHasEnded) {
  shared_flag flag(gpu_);
  const std::uint64_t before = gpu_.statistics().memory_used_bytes;
  future<void> held;
  {
    auto t = gpu_.tensor<float>({100'000}).value();
    held = gpu_.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  }
  EXPECT_GT(gpu_.statistics().memory_used_bytes, before);
  flag.set();
  held.get();
  EXPECT_TRUE(eventually([&] { return gpu_.statistics().memory_used_bytes == before; }));
}

TEST_P(Memory, FrozenTensorRefusesWritesUntilThawed) {
  auto t = gpu_.tensor<float>({freezable}, initial::zero).value();
  ASSERT_TRUE(gpu_.freeze(t).get_result());
  auto refused = gpu_.ask(memory::fill{.to = t, .value = 1}).get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::frozen_buffer);
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 0.0);
  ASSERT_TRUE(gpu_.thaw(t).get_result());
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = t, .value = 1}).get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 1.0 * freezable);
}

TEST_P(Memory, SmallTensorInMemoryOfItsOwnCanBeFrozen) {
  auto small = gpu_.tensor<float>({8}, initial::zero, placement::own).value();
  auto neighbour = gpu_.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(gpu_.freeze(small).get_result());
  EXPECT_FALSE(gpu_.ask(memory::fill{.to = small, .value = 1}).get_result());
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = neighbour, .value = 1}).get_result());
  EXPECT_TRUE(gpu_.thaw(small).get_result());
  EXPECT_TRUE(gpu_.ask(memory::fill{.to = small, .value = 1}).get_result());
}

TEST_P(Memory, FreezingWaitsForWritesThatWereSentBefore) {
  shared_flag flag(gpu_);
  auto t = gpu_.tensor<float>({freezable}).value();
  auto held = gpu_.ask(hold{.flag = flag.tensor(), .output = t, .value = 2});
  auto frozen = gpu_.freeze(t);
  EXPECT_FALSE(frozen.ready());
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(frozen.get_result());
  EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 2.0 * freezable);
}

TEST_P(Memory, ReusedMemoryOfAFrozenTensorCanBeWritten) {
  for (int i = 0; i < 4; ++i) {
    auto t = gpu_.tensor<float>({freezable}).value();
    ASSERT_TRUE(gpu_.ask(memory::fill{.to = t, .value = i}).get_result());
    ASSERT_TRUE(gpu_.freeze(t).get_result());
    EXPECT_EQ(gpu_.ask(sum{.input = t}).get(), 1.0 * freezable * i);
  }
  EXPECT_EQ(gpu_.generation(), 1u);
}

TEST_P(Memory, ReleasedTensorIsStale) {
  auto t = gpu_.tensor<float>({8}, initial::zero).value();
  auto view = *t.slice(0, 0, 4);
  gpu_.release(t);
  auto outcome = gpu_.ask(sum{.input = view}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::stale_buffer);
}

TEST_P(Memory, TensorOfAStoppedDeviceIsStaleAndOutlivesIt) {
  auto found = second_device(system_, config());
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  auto t = other.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(other.wait_until_ready());
  other.stop();
  EXPECT_EQ(t.count(), 8);
  const auto code = [](auto outcome) { return outcome ? errc{} : outcome.error().code; };
  // For another device, and for a new one of the same number.
  device again = system_.device(1, config());
  for (device& on : {std::ref(gpu_), std::ref(again)}) {
    auto outcome = on.ask(sum{.input = t}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::stale_buffer);
    EXPECT_NE(outcome.error().message.find("stopped"), std::string::npos)
        << outcome.error().message;
    EXPECT_EQ(code(on.freeze(t).get_result()), errc::stale_buffer);
    EXPECT_EQ(code(on.thaw(t).get_result()), errc::stale_buffer);
  }
}

TEST_P(Memory, WhatIsNotThereIsNotLent) {
  const auto nothing = gpu_.mapped(any_tensor{}, access::update).get_result();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, errc::invalid_argument);
  EXPECT_NE(nothing.error().message.find("t is not given"), std::string::npos);
  auto t = gpu_.tensor<float>({4}).value();
  const auto no_access = gpu_.mapped(t, static_cast<access>(7)).get_result();
  ASSERT_FALSE(no_access);
  EXPECT_EQ(no_access.error().code, errc::invalid_argument);
}

TEST_P(Memory, TensorThatIsNotGivenIsNotCopied) {
  std::vector<double> values(4);
  for (auto& outcome : {gpu_.copy(std::span(std::as_const(values)), any_tensor{}).get_result(),
                        gpu_.copy(any_tensor{}, std::span(values)).get_result()}) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::invalid_argument) << outcome.error().to_string();
    EXPECT_EQ(outcome.error().message, "copy: the tensor must not be null");
  }
}

TEST_P(Memory, StoppedDeviceNeitherFreezesNorCopiesIn) {
  auto found = second_device(system_, config());
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  auto there = other.tensor<float>({8}, initial::zero, placement::own).value();
  auto here = gpu_.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(other.freeze(there).get_result());
  other.stop();
  std::vector<float> values(8);
  const auto code = [](result<void> outcome) { return outcome ? errc{} : outcome.error().code; };
  EXPECT_EQ(code(other.freeze(there).get_result()), errc::device_stopped);
  EXPECT_EQ(code(other.thaw(there).get_result()), errc::device_stopped);
  EXPECT_EQ(code(other.copy(std::span(std::as_const(values)), there).get_result()),
            errc::device_stopped);
  // The program reaches the memory of a CPU device without it.
  const errc out = on_gpu() ? errc::device_stopped : errc{};
  EXPECT_EQ(code(other.copy(there, std::span(values)).get_result()), out);
  EXPECT_EQ(code(gpu_.copy(there, here).get_result()), out);
  EXPECT_EQ(code(gpu_.copy(here, there).get_result()), errc::device_stopped);
  EXPECT_EQ(gpu_.ask(sum{.input = here}).get(), 0.0);
}

}  // namespace
}  // namespace troupe::test
