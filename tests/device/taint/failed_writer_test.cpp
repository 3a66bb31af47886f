// A request fails if the writer of its operand has failed, with that failure as its cause.

#include "device/fixtures/device_under_fault.hpp"

#include <troupe/device/mapped_tensor.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {
namespace {

template <class T>
error failure_of(future<T> f) {
  constexpr auto timeout = std::chrono::seconds(20);
  if (!f.wait_for(timeout)) return {.code = errc::timed_out, .message = "lost"};
  const result<T> outcome = f.get_result();
  return outcome ? error{} : outcome.error();
}

// Checks that a request failed because of what it read, which `writer` was to write.
void expect_caused(const error& failed, errc cause, const std::string& writer) {
  EXPECT_EQ(failed.code, errc::tainted_buffer) << failed.to_string();
  EXPECT_NE(failed.message.find(writer), std::string::npos) << failed.to_string();
  EXPECT_FALSE(failed.request.empty());
  ASSERT_NE(failed.cause, nullptr) << failed.to_string();
  EXPECT_EQ(failed.cause->code, cause) << failed.to_string();
  EXPECT_NE(failed.cause->request.find(writer), std::string::npos) << failed.to_string();
}

class FailedWriter : public testing::Test {
 protected:
  void SetUp() override {
    for (std::int64_t i = 0; i < 8; ++i)
      output_[i] = 7.0F;
  }
  fail_call failing(fail_call::reason why = fail_call::reason::numerical) const {
    return {.flag = flag_.tensor(), .output = output_, .why = why, .begun = begun_.tensor()};
  }
  // Fills its output, but waits before it: a request behind it in its lane has not begun.
  hold_call gate() const { return {.flag = flag_.tensor(), .begun = begun_.tensor()}; }
  void await_begun() {
    ASSERT_TRUE(eventually([&] { return begun_.is_set(); }));
  }
  error read(const any_tensor& t) { return failure_of(gpu_.ask(sum{.input = t})); }
  double sum_of(const any_tensor& t) { return gpu_.ask(sum{.input = t}).get(); }

  troupe::system system_;
  device gpu_ = system_.device(0, permissive());
  shared_flag flag_{gpu_};
  shared_flag begun_{gpu_};
  host_tensor<float> output_ = gpu_.host_tensor<float>({8}).value();
  library_actor lane_ = gpu_.library("test").on_new_lane();
};

TEST_F(FailedWriter, FailsItsReadersInFlightWithItsFailure) {
  auto writer = lane_.ask(failing());
  auto reader = gpu_.ask(sum{.input = output_});
  auto same_lane = lane_.ask(sum{.input = output_});
  flag_.set();
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::numerical);
  expect_caused(failure_of(std::move(reader)), errc::numerical, "test.fail_call");
  expect_caused(failure_of(std::move(same_lane)), errc::numerical, "test.fail_call");
  expect_caused(read(output_), errc::numerical, "test.fail_call");
}

TEST_F(FailedWriter, OfWhichNobodyHearsFailsItsReadersAllTheSame) {
  lane_.tell(failing()).value();
  auto reader = gpu_.ask(sum{.input = output_});
  flag_.set();
  expect_caused(failure_of(std::move(reader)), errc::numerical, "test.fail_call");
}

TEST_F(FailedWriter, IsTheCauseAtTheEndOfAChainOfAnyLength) {
  std::vector<any_tensor> copies{output_};
  auto writer = lane_.ask(failing());
  std::vector<future<void>> chain;
  for (int i = 0; i < 50; ++i) {
    copies.push_back(gpu_.host_tensor<float>({8}).value());
    chain.push_back(gpu_.ask(memory::copy{.from = copies[copies.size() - 2], .to = copies.back()}));
  }
  flag_.set();
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::numerical);
  expect_caused(failure_of(std::move(chain[0])), errc::numerical, "test.fail_call");
  for (std::size_t i = 1; i < chain.size(); ++i) {
    const error failed = failure_of(std::move(chain[i]));
    expect_caused(failed, errc::tainted_buffer, "memory.copy");
    if (failed.cause == nullptr) continue;
    ASSERT_NE(failed.cause->cause, nullptr) << failed.to_string();
    EXPECT_EQ(failed.cause->cause->code, errc::numerical) << failed.to_string();
    EXPECT_EQ(failed.cause->cause->cause, nullptr) << failed.to_string();
  }
}

TEST_F(FailedWriter, ThatWasCancelledFailsItsReaders) {
  auto first = lane_.ask(gate());
  await_begun();
  std::stop_source cancel;
  auto writer = lane_.ask(memory::fill{.to = output_, .value = 1.0F}, {.stop = cancel.get_token()});
  auto reader = gpu_.ask(sum{.input = output_});
  cancel.request_stop();
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::cancelled);
  flag_.set();
  ASSERT_TRUE(ended(std::move(first)));
  expect_caused(failure_of(std::move(reader)), errc::cancelled, "memory.fill");
  expect_caused(read(output_), errc::cancelled, "memory.fill");
  ASSERT_TRUE(ended(gpu_.ask(memory::fill{.to = output_, .value = 1.0F})));
  EXPECT_EQ(sum_of(output_), 8.0) << "the same again defines it";
}

TEST_F(FailedWriter, ThatExpiredBeforeItRanFailsItsReaders) {
  auto first = lane_.ask(gate());
  await_begun();
  auto writer = lane_.ask(memory::fill{.to = output_, .value = 1.0F},
                          {.deadline = std::chrono::milliseconds(20)});
  auto reader = gpu_.ask(sum{.input = output_});
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::deadline_exceeded);
  flag_.set();
  ASSERT_TRUE(ended(std::move(first)));
  expect_caused(failure_of(std::move(reader)), errc::deadline_exceeded, "memory.fill");
  // The worker itself finds this one late.
  EXPECT_EQ(failure_of(gpu_.ask(memory::fill{.to = output_, .value = 1.0F},
                                {.deadline = std::chrono::nanoseconds(1)}))
                .code,
            errc::deadline_exceeded);
  expect_caused(read(output_), errc::deadline_exceeded, "memory.fill");
}

TEST_F(FailedWriter, ThatExpiredAndEndsWellFailsNobody) {
  ASSERT_EQ(sum_of(output_), 56.0);  // the worker is there
  const hold_call late{
      .flag = flag_.tensor(), .output = output_, .value = 2, .begun = begun_.tensor()};
  std::chrono::milliseconds deadline(400);
  auto writer = lane_.ask(late, {.deadline = deadline});
  while (!eventually([&] { return begun_.is_set(); }, deadline) &&
         deadline < std::chrono::seconds(10)) {
    (void)ended(std::move(writer));
    deadline *= 4;
    writer = lane_.ask(late, {.deadline = deadline});
  }
  ASSERT_TRUE(begun_.is_set());
  auto reader = gpu_.ask(sum{.input = output_});
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::deadline_exceeded);
  flag_.set();
  EXPECT_EQ(reader.get(), 16.0);
}

TEST_F(FailedWriter, RefusedByItsExecutorFailsItsReaders) {
  flag_.set();
  EXPECT_EQ(failure_of(lane_.ask(failing(fail_call::reason::unsupported))).code, errc::unsupported);
  expect_caused(read(output_), errc::unsupported, "test.fail_call");
}

TEST_F(FailedWriter, ThatWasNotSentLeavesEverythingAsItWas) {
  fail_call wrong = failing();
  wrong.outcome = gpu_.host_tensor<std::int32_t>({2}).value();
  EXPECT_EQ(failure_of(lane_.ask(wrong)).code, errc::shape_mismatch);
  EXPECT_EQ(sum_of(output_), 56.0);
}

// An update that has not begun leaves what it was to update: its caller can try again. Only
// requests that were sent in the belief that it would happen fail.
TEST_F(FailedWriter, OfAnUpdateThatHasNotBegunFailsThoseThatWereSentBehindItOnly) {
  auto counted = gpu_.tensor<float>({8}, initial::zero).value();
  shared_flag open(gpu_);
  open.set();
  const hold update{.flag = open.tensor(), .output = counted, .value = 1, .add = true};
  auto first = lane_.ask(gate());
  await_begun();
  std::stop_source cancel;
  auto writer = lane_.ask(update, {.stop = cancel.get_token()});
  auto reader = gpu_.ask(sum{.input = counted});
  auto half = gpu_.ask(sum{.input = *counted.slice(0, 0, 4)});
  cancel.request_stop();
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::cancelled);
  auto after = gpu_.ask(sum{.input = counted});
  flag_.set();
  ASSERT_TRUE(ended(std::move(first)));
  expect_caused(failure_of(std::move(reader)), errc::cancelled, "test.hold");
  expect_caused(failure_of(std::move(half)), errc::cancelled, "test.hold");
  EXPECT_EQ(after.get(), 0.0) << "sent after the answer";
  EXPECT_EQ(sum_of(counted), 0.0);
  EXPECT_EQ(gpu_.tainted_by(counted), "");
  ASSERT_TRUE(ended(lane_.ask(update)));
  EXPECT_EQ(sum_of(counted), 8.0);
}

TEST_F(FailedWriter, IsNotHealedByAPartialWriter) {
  flag_.set();
  EXPECT_EQ(failure_of(lane_.ask(failing())).code, errc::numerical);
  ASSERT_TRUE(ended(gpu_.ask(memory::fill{.to = *output_.slice(0, 0, 4), .value = 1.0F})));
  EXPECT_EQ(sum_of(*output_.slice(0, 0, 4)), 4.0);
  expect_caused(read(output_), errc::numerical, "test.fail_call");
  expect_caused(failure_of(gpu_.ask(
                    hold{.flag = flag_.tensor(), .output = output_, .value = 1, .add = true})),
                errc::numerical, "test.fail_call");
  ASSERT_TRUE(ended(gpu_.ask(memory::fill{.to = *output_.slice(0, 4, 8), .value = 1.0F})));
  EXPECT_EQ(sum_of(output_), 8.0);
}

TEST_F(FailedWriter, FailsCopiesMappingsAndFreezing) {
  auto wide = gpu_.tensor<float>({freezable}, initial::zero).value();
  auto first = lane_.ask(gate());
  await_begun();
  std::stop_source cancel;
  auto writer = lane_.ask(memory::fill{.to = wide, .value = 1.0F}, {.stop = cancel.get_token()});
  std::vector<float> out(static_cast<std::size_t>(freezable));
  auto copy = gpu_.copy(wide, std::span(out));
  cancel.request_stop();
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::cancelled);
  flag_.set();
  ASSERT_TRUE(ended(std::move(first)));
  expect_caused(failure_of(std::move(copy)), errc::cancelled, "memory.fill");
  if (!on_gpu())  // there a thread needs a CUDA context to map
    expect_caused(failure_of(gpu_.mapped(wide, access::read)), errc::cancelled, "memory.fill");
  expect_caused(failure_of(gpu_.freeze(wide)), errc::cancelled, "memory.fill");
  EXPECT_FALSE(wide.frozen());
}

TEST_F(FailedWriter, OfAnotherDeviceFailsReadersOfHostMemoryAndCopies) {
  auto second = second_device(system_, permissive());
  if (!second) GTEST_SKIP() << "one GPU";
  flag_.set();
  EXPECT_EQ(failure_of(lane_.ask(failing())).code, errc::numerical);
  expect_caused(failure_of(second->ask(sum{.input = output_})), errc::numerical, "test.fail_call");
  auto here = gpu_.tensor<float>({8}).value();
  auto there = second->tensor<float>({8}, initial::zero).value();
  EXPECT_EQ(failure_of(gpu_.ask(memory::copy{.from = output_, .to = here})).code,
            errc::tainted_buffer);
  const error failed = failure_of(gpu_.copy(output_, there));
  expect_caused(failed, errc::numerical, "test.fail_call");
  EXPECT_EQ(second->ask(sum{.input = there}).get(), 0.0) << "nothing was sent to that device";
}

TEST_F(FailedWriter, OfADeviceThatStoppedFailsReadersAfterItsRestart) {
  auto written = gpu_.tensor<float>({8}, initial::zero).value();
  auto updated = gpu_.tensor<float>({8}, initial::zero).value();
  ASSERT_TRUE(ended(gpu_.ask(lane::marker{.after = updated})));
  auto first = lane_.ask(gate());
  await_begun();
  auto writer = lane_.ask(memory::fill{.to = written, .value = 1.0F});
  auto update = lane_.ask(hold{.flag = flag_.tensor(), .output = updated, .value = 1, .add = true});
  gpu_.stop();
  EXPECT_FALSE(ended(std::move(first)));
  EXPECT_EQ(failure_of(std::move(writer)).code, errc::device_stopped);
  EXPECT_EQ(failure_of(std::move(update)).code, errc::device_stopped);
  ASSERT_TRUE(gpu_.restart());
  expect_caused(read(written), errc::device_stopped, "memory.fill");
  EXPECT_EQ(sum_of(updated), 0.0);
}

}  // namespace
}  // namespace troupe::test
