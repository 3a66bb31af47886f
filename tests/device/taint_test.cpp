// What a fault leaves undefined: it is refused to whoever reads it, until it is overwritten.

#include "device_under_fault.hpp"

#include <troupe/ops/fault/inject.hpp>
#include <troupe/ops/lane/marker.hpp>
#include <troupe/ops/memory/copy.hpp>
#include <troupe/ops/memory/fill.hpp>

#include <gtest/gtest.h>

#include <stop_token>
#include <vector>

namespace troupe::test {
namespace {

class Taint : public device_under_fault {};
INSTANTIATE_TEST_SUITE_P(Standby, Taint, ::testing::Bool(), with_or_without);

// Sends a request that updates in place, waits until it runs, and kills the worker.
future<void> kill_during_update(device& gpu, const shared_flag& flag, const any_tensor& output) {
  const std::uint64_t before = gpu.generation();
  shared_flag begun(gpu);
  auto held = gpu.ask(hold{
      .flag = flag.tensor(), .output = output, .value = 1, .add = true, .begun = begun.tensor()});
  EXPECT_TRUE(eventually([&] { return begun.is_set(); }));
  kill_worker(gpu);
  EXPECT_TRUE(eventually([&] { return gpu.generation() > before; }));
  return held;
}

TEST_P(Taint, KilledWorkersUpdateIsAbortedAndItsOutputTainted) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  shared_flag flag(gpu);
  auto output = gpu.tensor<float>({8}, initial::zero).value();
  auto untouched = gpu.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(ended(gpu.ask(lane::marker{.after = output})));
  auto held = ended(kill_during_update(gpu, flag, output));
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, errc::aborted) << held.error().to_string();

  auto read = gpu.ask(sum{.input = output}).get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
  EXPECT_NE(read.error().message.find("test.hold"), std::string::npos) << read.error().message;
  EXPECT_EQ(gpu.ask(sum{.input = untouched}).get(), 0.0);

  const std::vector<float> fresh(8, 3.0F);
  ASSERT_TRUE(ended(gpu.copy(std::span(fresh), output)));
  EXPECT_EQ(gpu.ask(sum{.input = output}).get(), 24.0);
}

TEST_P(Taint, ReaderQueuedBehindALostWriteFailsInsteadOfReadingGarbage) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto output = gpu.tensor<float>({8}, initial::zero).value();
  auto crash = gpu.library("test").ask(
      fault::inject{.what = fault::kind::segmentation_fault, .output = output});
  auto reader = gpu.library("test").ask(sum{.input = output});
  ASSERT_FALSE(ended(std::move(crash)));
  auto read = reader.get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
}

// A tensor that a fault has tainted, and an overwrite of it that waits for a flag and is cancelled.
TEST_P(Taint, CancelledOverwriteLeavesTheTaintAndItsReadersFail) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto tainted = gpu.tensor<float>({8}).value();
  auto copied = gpu.tensor<float>({8}, initial::zero).value();
  ASSERT_FALSE(
      ended(gpu.ask(fault::inject{.what = fault::kind::segmentation_fault, .output = tainted})));

  shared_flag flag(gpu);
  std::stop_source cancel;
  const library_actor lane = gpu.library("test").on_new_lane();
  auto held = lane.ask(hold{.flag = flag.tensor()});
  auto overwrite =
      lane.ask(memory::fill{.to = tainted, .value = 1.0F}, {.stop = cancel.get_token()});
  auto copy = gpu.ask(memory::copy{.from = tainted, .to = copied});
  auto reader = gpu.ask(sum{.input = copied});
  cancel.request_stop();
  auto cancelled = ended(std::move(overwrite));
  ASSERT_FALSE(cancelled);
  EXPECT_EQ(cancelled.error().code, errc::cancelled);
  flag.set();
  EXPECT_TRUE(ended(std::move(held)));
  auto refused = ended(std::move(copy));
  ASSERT_FALSE(refused) << "it relied on what was never written";
  EXPECT_EQ(refused.error().code, errc::tainted_buffer);
  auto read = reader.get_result();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::tainted_buffer);

  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = tainted, .value = 2.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = tainted}).get(), 16.0);
}

TEST_P(Taint, TaintedTensorIsOverwrittenFromTheHostInPiecesOrByARequestOfAnyLayout) {
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  constexpr std::int64_t n = 1024;
  auto large = gpu.tensor<float>({n, n}).value();  // more than one piece of a copy
  const auto taint = [&](const any_tensor& t) {
    auto failed = ended(gpu.ask(fault::inject{.what = fault::kind::exit, .output = t}));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, errc::device_fault);
    EXPECT_TRUE(gpu.wait_until_ready());
  };
  taint(large);
  const std::vector<float> fresh(n * n, 1.0F);
  ASSERT_TRUE(ended(gpu.copy(std::span(fresh), large)));
  EXPECT_EQ(gpu.ask(sum{.input = large}).get(), 1.0 * n * n);

  auto square = gpu.tensor<float>({8, 8}, initial::zero).value();
  taint(square);
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = square.transpose(), .value = 2.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = square}).get(), 128.0) << "column-major leaves no gaps";

  const any_tensor left = *square.slice(1, 0, 4);
  taint(left);
  ASSERT_TRUE(ended(gpu.ask(memory::fill{.to = left, .value = 3.0F})));
  EXPECT_EQ(gpu.ask(sum{.input = square}).get(), 160.0) << "in the same places as the culprit";
}

}  // namespace
}  // namespace troupe::test
