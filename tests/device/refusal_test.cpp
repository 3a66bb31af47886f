// Bad input: a typed error with the values, and nothing else disturbed.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/device/unretrieved.hpp>
#include <troupe/fault/inject.hpp>
#include <troupe/fault/spin_until.hpp>
#include <troupe/lane/marker.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/request/any_request.hpp>
#include <troupe/request/fields.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

using namespace std::chrono_literals;

class Refusal : public either_isolation {};
INSTANTIATE_TEST_SUITE_P(Isolation, Refusal,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Refusal, OfShapesThatDoNotFitNamesThem) {
  auto a = gpu_.tensor<float>({2, 3}).value();
  auto b = gpu_.tensor<float>({4, 5}).value();
  auto c = gpu_.tensor<float>({2, 5}).value();
  auto outcome = gpu_.ask(blas::gemm{.a = a, .b = b, .c = c}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::shape_mismatch);
  EXPECT_EQ(outcome.error().device, 0);
  EXPECT_NE(outcome.error().request.find("blas.gemm"), std::string::npos);
  EXPECT_NE(outcome.error().request.find("[4, 5]"), std::string::npos) << outcome.error().request;
  expect_usable();
}

TEST_P(Refusal, OfMoreLaneThreadsThanAWorkerTakesNamesTheMost) {
  gpu_.stop();
  device_config config = this->config();
  for (const int threads : {-1, 4097}) {
    config.lane_threads = threads;
    try {
      (void)system_.device(0, config);
      ADD_FAILURE() << threads << " are taken";
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), errc::invalid_argument);
      EXPECT_EQ(f.error().message,
                "device_config::lane_threads must be 0 to 4096; it is " + std::to_string(threads));
    }
  }
}

TEST_P(Refusal, OfOperandsThatOverlap) {
  auto a = gpu_.tensor<float>({4, 4}).value();
  auto b = gpu_.tensor<float>({4, 4}).value();
  auto outcome = gpu_.ask(blas::gemm{.a = a, .b = b, .c = a}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::aliasing);
  expect_usable();
}

TEST_P(Refusal, OfAnEnumeratorThatIsNone) {
  auto a = gpu_.tensor<float>({4, 4}).value();
  auto b = gpu_.tensor<float>({4, 4}).value();
  auto c = gpu_.tensor<float>({4, 4}).value();
  auto outcome =
      gpu_.ask(blas::gemm{.a = a, .b = b, .c = c, .op_b = static_cast<blas::op>(7)}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::invalid_argument);
  EXPECT_EQ(outcome.error().message,
            "blas.gemm: op_b must be one of none, conjugate; it is 7, which is no enumerator");
  expect_usable();
}

TEST_P(Refusal, OfNoStepThatIsNeverTaken) {
  auto t = gpu_.tensor<float>({4}).value();
  const std::int64_t strides[] = {std::numeric_limits<std::int64_t>::max(), 1};
  auto row = t.as_strided({1, 4}, strides);
  ASSERT_TRUE(row) << row.error().message;
  auto outcome = gpu_.ask(memory::fill{.to = *row, .value = 2}).get_result();
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  expect_usable();
}

TEST_P(Refusal, OfSizesThatOverflowOrCannotBe) {
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(gpu_.tensor<float>({huge, huge}).error().code, errc::size_overflow);
  EXPECT_EQ(gpu_.tensor<float>({-1}).error().code, errc::invalid_argument);
  const std::vector<std::int64_t> nine(9, 1);
  EXPECT_EQ(gpu_.tensor<float>(shape(nine)).error().code, errc::invalid_argument);
}

TEST_P(Refusal, OfMoreMemoryThanThereIsSaysHowMuchThereIs) {
  auto most = gpu_.tensor<float>({30 << 20}).value();
  auto failed = gpu_.tensor<float>({60 << 20});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::out_of_memory);
  EXPECT_NE(failed.error().message.find(std::to_string(std::int64_t{240} << 20)), std::string::npos)
      << failed.error().message;
  EXPECT_NE(failed.error().message.find("limit"), std::string::npos);
  expect_usable();
}

TEST_P(Refusal, OfMemoryThatIsNotTroupes) {
  float mine[4] = {};
  const any_tensor outside =
      any_tensor::unowned(reinterpret_cast<std::byte*>(mine), dtype::f32, shape{4});
  auto outcome = gpu_.ask(sum{.input = outside}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::foreign_buffer);
  expect_usable();
}

TEST_P(Refusal, OfAnotherDevicesTensorNamesBothDevices) {
  auto found = second_device(system_, config());
  if (!found) GTEST_SKIP() << "there is one GPU";
  device& other = *found;
  auto t = other.tensor<float>({4}).value();
  auto outcome = gpu_.ask(sum{.input = t}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::foreign_buffer);
  EXPECT_NE(outcome.error().message.find("device 1"), std::string::npos);
}

TEST_P(Refusal, OfCopiesWhoseLengthsDifferNamesBoth) {
  auto t = gpu_.tensor<float>({4}).value();
  const std::vector<float> five(5);
  auto outcome = gpu_.copy(std::span(five), t).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::shape_mismatch);
  EXPECT_NE(outcome.error().message.find('4'), std::string::npos);
  EXPECT_NE(outcome.error().message.find('5'), std::string::npos);
  const std::vector<double> wrong(4);
  EXPECT_EQ(gpu_.copy(std::span(wrong), t).get_result().error().code, errc::type_mismatch);
}

TEST_P(Refusal, OfFaultInjectionWhereItIsNotAllowed) {
  device_config config = this->config();
  config.fault_injection = false;
  device gpu = instead(config);
  EXPECT_EQ(gpu.ask(fault::inject{}).get_result().error().code, errc::unsupported);
  auto flag = gpu.host_tensor<std::uint32_t>({1}).value();
  EXPECT_EQ(gpu.ask(fault::spin_until{.flag = flag}).get_result().error().code, errc::unsupported);
}

TEST_P(Refusal, OfALibraryThatIsNotEnabledNamesIt) {
  device_config config = this->config();
  config.libraries = {"memory"};
  device gpu = instead(config);
  auto t = gpu.tensor<float>({2, 2}).value();
  auto outcome = gpu.ask(blas::gemm{.a = t, .b = t, .c = t}).get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::library_missing);
  EXPECT_NE(outcome.error().message.find("blas"), std::string::npos);
  EXPECT_TRUE(gpu.ask(memory::fill{.to = t, .value = 1}).get_result());
}

TEST_P(Refusal, CancelledRequestIsNotRun) {
  if (on_gpu()) GTEST_SKIP() << "what is in a stream cannot be taken out again";
  shared_flag flag(gpu_);
  auto t = gpu_.host_tensor<float>({1}).value();
  t[0] = 0;
  auto held = gpu_.library("test").ask(hold{.flag = flag.tensor()});
  std::stop_source stop;
  auto second = gpu_.library("test").ask(hold{.flag = flag.tensor(), .output = t, .value = 1},
                                         {.stop = stop.get_token()});
  stop.request_stop();
  auto outcome = second.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::cancelled);
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(gpu_.library("test").ask(lane::marker{}).get_result());
  EXPECT_EQ(t[0], 0);
}

TEST_P(Refusal, RequestCancelledByItsHandleIsNotRun) {
  if (on_gpu()) GTEST_SKIP() << "what is in a stream cannot be taken out again";
  shared_flag flag(gpu_);
  auto t = gpu_.host_tensor<float>({1}).value();
  t[0] = 0;
  auto held = gpu_.library("test").ask(hold{.flag = flag.tensor()});
  any_request fill(request_type_of<memory::fill>());
  for (const field_view& one : fields_of(fill.type())) {
    if (one.name == "to") one.in<any_tensor>(fill.data()) = t;
    if (one.name == "value") one.in<scalar>(fill.data()) = 1;
  }
  request_handle sent;
  sent.cancel();  // there is nothing to cancel
  EXPECT_FALSE(sent.cancel_and_wait());
  auto second = gpu_.library("test").ask(fill, {}, sent);
  sent.cancel();
  auto outcome = second.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::cancelled);
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(gpu_.library("test").ask(lane::marker{}).get_result());
  EXPECT_EQ(t[0], 0);
  // A refused request is not sent, and leaves nothing to cancel, not even what was sent before.
  shared_flag later(gpu_);
  auto held_again = gpu_.library("test").ask(hold{.flag = later.tensor()});
  auto waiting = gpu_.library("test").ask(fill, {}, sent);
  EXPECT_FALSE(gpu_.library("test").ask(any_request(fill.type()), {}, sent).get_result());
  sent.cancel();
  // Cancellations are looked at in order: after this one, that one has been.
  request_handle last;
  auto cancelled = gpu_.library("test").ask(fill, {}, last);
  EXPECT_TRUE(last.cancel_and_wait());
  EXPECT_FALSE(last.cancel_and_wait());
  EXPECT_FALSE(cancelled.get_result());
  later.set();
  EXPECT_TRUE(held_again.get_result());
  EXPECT_TRUE(waiting.get_result());
  // A request that has ended, and whose slot was reused, cannot be cancelled.
  EXPECT_TRUE(gpu_.library("test").ask(fill, {}, sent).get_result());
  const request_handle ended = sent;
  std::vector<future<any_reply>> others;
  for (int i = 0; i < 100; ++i)
    others.push_back(gpu_.library("test").ask(fill, {}, sent));
  EXPECT_FALSE(ended.cancel_and_wait());
  for (future<any_reply>& one : others)
    EXPECT_TRUE(one.get_result());
}

TEST_P(Refusal, FailureWhoseFutureWasDroppedIsTold) {
  if (on_gpu()) GTEST_SKIP() << "what is in a stream cannot be taken out again";
  static std::atomic<int> told{0};
  told = 0;
  on_unretrieved_failure([](const error& why) noexcept { told += why.code == errc::cancelled; });
  shared_flag flag(gpu_);
  auto t = gpu_.tensor<float>({1}, initial::zero).value();
  auto held = gpu_.library("test").ask(hold{.flag = flag.tensor()});
  any_request fill(request_type_of<memory::fill>());
  *static_cast<memory::fill*>(fill.data()) = {.to = t, .value = 1};
  request_handle sent;
  auto seen = gpu_.library("test").ask(fill, {}, sent);
  EXPECT_TRUE(sent.cancel_and_wait());
  (void)gpu_.library("test").ask(fill, {}, sent);
  EXPECT_TRUE(sent.cancel_and_wait());
  // The derived future is dropped with it.
  (void)gpu_.library("test").ask(fill, {}, sent).then([](result<any_reply> r) { return r; });
  EXPECT_TRUE(sent.cancel_and_wait());
  on_unretrieved_failure(nullptr);
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_FALSE(seen.get_result());
  EXPECT_EQ(told, 2);
}

TEST_P(Refusal, RequestWhoseDeadlinePassesInTheQueueIsNotRun) {
  if (on_gpu()) GTEST_SKIP() << "what is in a stream cannot be taken out again";
  shared_flag flag(gpu_);
  auto t = gpu_.host_tensor<float>({1}).value();
  t[0] = 0;
  auto held = gpu_.library("test").ask(hold{.flag = flag.tensor()});
  auto late = gpu_.library("test").ask(hold{.flag = flag.tensor(), .output = t, .value = 1},
                                       {.deadline = 20ms});
  auto outcome = late.get_result();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, errc::deadline_exceeded);
  flag.set();
  EXPECT_TRUE(held.get_result());
  EXPECT_TRUE(gpu_.library("test").ask(lane::marker{}).get_result());
  EXPECT_EQ(t[0], 0);
  EXPECT_EQ(gpu_.generation(), 1u);
}

TEST_P(Refusal, OfAMailboxThatCannotBe) {
  device_config config = this->config();
  for (const std::uint32_t capacity : {0u, 16u * 1024 + 1}) {
    config.mailbox_capacity = capacity;
    EXPECT_EQ(refused(system_, 3, config), errc::invalid_argument) << capacity;
  }
}

TEST_P(Refusal, OfARunLimitThatNothingCouldKeep) {
  for (const auto limit : {0ms, -1ms}) {
    const auto outcome = gpu_.ask(lane::marker{}, {.run_limit = limit}).get_result();
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, errc::invalid_argument);
    device_config config = this->config();
    config.run_limit = limit;
    EXPECT_EQ(refused(system_, 3, config), errc::invalid_argument);
  }
  expect_usable();
}

TEST_P(Refusal, OfOrdinalsThatNoDeviceHas) {
  for (const std::int32_t ordinal : {-1, 64}) {
    EXPECT_EQ(refused(system_, ordinal, config()), errc::invalid_argument) << ordinal;
  }
  expect_usable();
}

TEST_P(Refusal, OfMoreHostMemoryThanThereIs) {
  constexpr std::int64_t huge = std::int64_t{1} << 60;
  auto failed = gpu_.host_tensor<float>({huge});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::out_of_memory);
  EXPECT_NE(failed.error().message.find(std::to_string(4 * huge)), std::string::npos)
      << failed.error().message;
  EXPECT_TRUE(gpu_.host_tensor<float>({1}));
  expect_usable();
}

TEST_P(Refusal, OfMoreBytesThanAMailboxOrAMachineCanHave) {
  gpu_.stop();  // one GPU is enough
  for (const std::uint64_t bytes :
       {std::uint64_t{1} << 32, std::numeric_limits<std::uint64_t>::max()}) {
    device_config config = this->config();
    config.mailbox_bytes = bytes;
    EXPECT_EQ(refused(system_, 0, config), errc::invalid_argument) << bytes;
  }
  device_config config = this->config();
  config.memory_limit_bytes = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(refused(system_, 0, config), errc::invalid_argument);
}

TEST_P(Refusal, TheLongestPatienceIsNoLimit) {
  constexpr auto forever = std::chrono::nanoseconds::max();
  device_config config = this->config();
  config.start_timeout = forever;
  config.silence_timeout = forever;
  device gpu = instead(config);
  auto outcome = gpu.ask(lane::marker{}, {.deadline = forever, .run_limit = forever}).get_result();
  EXPECT_TRUE(outcome) << outcome.error().to_string();
  EXPECT_TRUE(gpu.ask(lane::marker{}, {.deadline = forever}).wait_for(forever));
  EXPECT_TRUE(gpu.ask(lane::marker{}).timeout(forever).get_result());
  EXPECT_TRUE(gpu.drain(forever));
}

TEST_P(Refusal, OfAConfigurationForADeviceThatRuns) {
  EXPECT_EQ(refused(system_, 0, config()), errc::invalid_argument);
  EXPECT_EQ(system_.device(0).ordinal(), 0);
}

}  // namespace
}  // namespace troupe::test
