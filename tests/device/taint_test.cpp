// Content that a fault leaves undefined: requests that read it are refused, until it is
// overwritten.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
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
  EXPECT_NE(gpu.tainted_by(output).find("test.hold"), std::string::npos) << gpu.tainted_by(output);
  EXPECT_EQ(gpu.tainted_by(untouched), "");
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

// A request that was running when its worker was lost has written in part, even if it is not run
// again.
TEST(TaintOfAReplay, IsLeftByOneThatIsCancelledBeforeItRunsAgain) {
  troupe::system system;
  device_config config = permissive();
  config.standby = false;
  device gpu = system.device(0, config);
  ASSERT_TRUE(gpu.wait_until_ready());
  auto output = gpu.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(ended(gpu.ask(lane::marker{.after = output})));
  shared_flag flag(gpu);
  shared_flag begun(gpu);
  std::stop_source cancel;
  auto held =
      gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 1, .begun = begun.tensor()},
              {.stop = cancel.get_token()});
  ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
  begun.reset();
  kill_worker(gpu);
  // The next worker may serve before this thread has looked, and may have begun it again.
  ASSERT_TRUE(eventually(
      [&] { return gpu.health().state == device_state::recovering || gpu.generation() > 1; }));
  cancel.request_stop();
  if (eventually([&] { return begun.is_set() || held.ready(); }) && !held.ready()) flag.set();
  const auto outcome = ended(std::move(held));
  const auto read = gpu.ask(sum{.input = output}).get_result();
  if (outcome) {
    EXPECT_TRUE(read);
    return;
  }
  EXPECT_EQ(outcome.error().code, errc::cancelled) << outcome.error().to_string();
  ASSERT_FALSE(read) << "it had run in part";
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
}

// Memory of the host outlives the device.
TEST(TaintOfTheHost, IsLeftByWhatRanWhenItsDeviceEnded) {
  for (const bool stopped : {true, false}) {
    troupe::system system;
    device_config config = permissive();
    config.restarts.restarts = 0;
    config.silence_timeout = std::chrono::milliseconds(300);
    device gpu = system.device(0, config);
    ASSERT_TRUE(gpu.wait_until_ready());
    auto output = gpu.host_tensor<float>({8}).value();
    auto untouched = gpu.host_tensor<float>({8}).value();
    for (std::int64_t i = 0; i < 8; ++i)
      untouched[i] = 1.0F;
    shared_flag flag(gpu);
    shared_flag begun(gpu);
    auto held =
        gpu.ask(hold{.flag = flag.tensor(), .output = output, .value = 1, .begun = begun.tensor()});
    auto behind = gpu.ask(hold{.flag = flag.tensor(), .output = untouched, .value = 2});
    ASSERT_TRUE(eventually([&] { return begun.is_set(); }));
    if (stopped) {
      gpu.stop();
    } else {
      freeze_worker(gpu);
    }
    EXPECT_FALSE(ended(std::move(held)));
    EXPECT_FALSE(ended(std::move(behind)));
    device next = system.device(0, permissive());
    const auto read = next.ask(sum{.input = output}).get_result();
    ASSERT_FALSE(read) << (stopped ? "stopped" : "given up");
    EXPECT_EQ(read.error().code, errc::tainted_buffer) << read.error().to_string();
    const auto other = next.ask(sum{.input = untouched}).get_result();
    ASSERT_FALSE(other) << "it had not begun, and was to overwrite it";
    EXPECT_EQ(other.error().code, errc::tainted_buffer);
  }
}

TEST_P(Taint, OfALentTensorStaysWhereNobodyGotIt) {
  if (on_gpu()) GTEST_SKIP() << "gpu_mapping tests it there";
  device gpu = system_.device(0, config());
  settle(gpu, GetParam());
  auto tainted = gpu.tensor<float>({8}).value();
  const auto low = tainted.slice(0, 0, 4).value();
  const auto high = tainted.slice(0, 4, 8).value();
  ASSERT_FALSE(
      ended(gpu.ask(fault::inject{.what = fault::kind::segmentation_fault, .output = low})));
  shared_flag flag(gpu);
  auto busy = gpu.ask(hold{.flag = flag.tensor(), .output = high, .value = 2});
  const auto mapped =
      gpu.mapped(tainted, access::write, std::chrono::milliseconds(20)).get_result();
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, errc::deadline_exceeded);
  flag.set();
  ASSERT_TRUE(ended(std::move(busy)));
  // A request sent after the mapping comes after its end.
  const auto read = gpu.ask(sum{.input = tainted}).get_result();
  ASSERT_FALSE(read) << "nobody has written it";
  EXPECT_EQ(read.error().code, errc::tainted_buffer);
  {
    auto granted = gpu.mapped(tainted, access::write).get();
  }
  EXPECT_TRUE(gpu.ask(sum{.input = tainted}).get_result()) << "somebody had it";
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

// A request that fails by itself, its worker with it or not, has written in part as well.
class TaintOfAFailure : public testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t i = 0; i < 8; ++i)
      output_[i] = 7.0F;
    flag_.set();
  }
  fail_call failing(fail_call::reason why = fail_call::reason::numerical) const {
    return {.flag = flag_.tensor(), .output = output_, .why = why, .begun = begun_.tensor()};
  }
  errc fails(const fail_call& r, const request_options& options = {}) {
    const auto outcome = ended(gpu_.ask(r, options));
    return outcome ? errc{} : outcome.error().code;
  }
  result<double> read() { return gpu_.ask(sum{.input = output_}).get_result(); }
  void expect_tainted() {
    const auto outcome = read();
    ASSERT_FALSE(outcome) << *outcome;
    EXPECT_EQ(outcome.error().code, errc::tainted_buffer);
    EXPECT_NE(outcome.error().message.find("test.fail_call"), std::string::npos)
        << outcome.error().message;
    EXPECT_NE(gpu_.tainted_by(output_).find("test.fail_call"), std::string::npos);
    ASSERT_TRUE(ended(gpu_.ask(memory::fill{.to = output_, .value = 2.0F})));
    EXPECT_EQ(read().value(), 16.0) << "what is overwritten is defined";
  }

  troupe::system system_;
  device gpu_ = system_.device(0, permissive());
  shared_flag flag_{gpu_};
  shared_flag begun_{gpu_};
  host_tensor<float> output_ = gpu_.host_tensor<float>({8}).value();
};

TEST_F(TaintOfAFailure, IsLeftWhereTheRequestHadBegun) {
  EXPECT_EQ(fails(failing()), errc::numerical);
  expect_tainted();
  EXPECT_EQ(fails(failing(fail_call::reason::out_of_memory)), errc::out_of_memory);
  expect_tainted();
  gpu_.tell(failing()).value();
  expect_tainted();
}

TEST_F(TaintOfAFailure, IsNotLeftWhereTheCallerIsToldTheOutcome) {
  auto outcome = gpu_.host_tensor<std::int32_t>({1}).value();
  fail_call told = failing();
  told.outcome = outcome;
  EXPECT_EQ(fails(told), errc::numerical);
  EXPECT_EQ(gpu_.tainted_by(outcome), "");
  EXPECT_EQ(read().value(), 32.0) << "half of it";
  told.why = fail_call::reason::out_of_memory;
  EXPECT_EQ(fails(told), errc::out_of_memory);
  EXPECT_NE(gpu_.tainted_by(outcome), "") << "it is no outcome of the data";
  expect_tainted();
}

TEST_F(TaintOfAFailure, IsLeftByOneWhoseCallerHasGivenUpBefore) {
  flag_.reset();
  // It must have begun by then, which takes longer on a busy machine.
  std::chrono::milliseconds deadline(50);
  auto late = gpu_.ask(failing(), {.deadline = deadline});
  while (!eventually([&] { return begun_.is_set(); }, deadline) && deadline < 10s) {
    (void)ended(std::move(late));
    deadline *= 4;
    late = gpu_.ask(failing(), {.deadline = deadline});
  }
  ASSERT_TRUE(begun_.is_set());
  const auto outcome = ended(std::move(late));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::deadline_exceeded);
  const bool is_first = deadline == std::chrono::milliseconds(50);  // earlier ones have not begun
  EXPECT_TRUE(gpu_.tainted_by(output_).empty() || !is_first) << "it may still end well";
  flag_.set();
  ASSERT_TRUE(eventually([&] { return !gpu_.tainted_by(output_).empty(); }));
  expect_tainted();
}

// The program may hear of the two ends in any order.
TEST_F(TaintOfAFailure, IsNotLeftWhereALaterRequestHasOverwrittenIt) {
  std::vector<library_actor> lanes;
  for (int i = 0; i < 4; ++i)
    lanes.push_back(gpu_.library("test").on_new_lane());
  for (int round = 0; round < 24; ++round) {
    const auto at = static_cast<std::size_t>(round % 4);
    flag_.reset();
    lanes[at].tell(failing()).value();
    lanes[3 - at].tell(memory::fill{.to = output_, .value = 3.0F}).value();
    flag_.set();
    std::this_thread::sleep_for(std::chrono::milliseconds(round % 3));
    const auto sum_of = read();
    ASSERT_TRUE(sum_of) << "round " << round << ": " << sum_of.error().message;
    EXPECT_EQ(*sum_of, 24.0);
  }
}

}  // namespace
}  // namespace troupe::test
