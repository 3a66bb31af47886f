// When a request is checked in the program: before anything is queued, and once for as long as it
// is sent again as it was.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/lane/marker.hpp>
#include <troupe/request/argument_checks.hpp>

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>

namespace troupe::test {
namespace {

// This thread's count: in thread isolation a worker's threads check, too.
thread_local int checks = 0;

/// Unknown to every worker: the test only asks whether it is sent.
template <bool Too>
struct checked_request {
  using reply = void;
  static constexpr std::string_view name = Too ? "test.checked_too" : "test.checked";

  any_tensor a{};
  any_tensor b{};
  std::int64_t number = 0;

  static void describe(description<checked_request>& d) {
    d.about("Counts how often it is checked.");
    d.reads("a", &checked_request::a, {}, "any tensor");
    d.reads("b", &checked_request::b, {}, "another one");
    d.value("number", &checked_request::number, "the check throws where it is 13");
    d.rule("number is not negative", [](argument_checks& check, const checked_request& r) {
      ++checks;
      if (r.number == 13) throw std::logic_error("a check that throws");
      check.rule(r.number >= 0, errc::invalid_argument, [] { return std::string("negative"); });
    });
  }
};
using checked = checked_request<false>;
/// The same bytes, and another request.
using checked_too = checked_request<true>;

class CheckedOnce : public either_isolation {
 protected:
  void SetUp() override { checks = 0; }
  [[nodiscard]] checked request(std::int64_t number) {
    return {.a = tensor_, .b = tensor_, .number = number};
  }
  tensor<float> tensor_ = gpu_.tensor<float>({4, 4}).value();
};
INSTANTIATE_TEST_SUITE_P(Isolation, CheckedOnce,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(CheckedOnce, WhatIsSentAgainIsNotCheckedAgain) {
  const library_actor lane = gpu_.library("test");
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(lane.tell(request(1)));
  EXPECT_EQ(checks, 1);
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(lane.tell(request(1 + i % 2)));
  EXPECT_EQ(checks, 2);
  EXPECT_TRUE(lane.tell(checked{.a = tensor_, .b = tensor_.transpose(), .number = 1}));
  EXPECT_EQ(checks, 3);
}

TEST_P(CheckedOnce, WhatIsAnotherRequestIsChecked) {
  const library_actor lane = gpu_.library("test");
  EXPECT_TRUE(lane.tell(request(1)));
  EXPECT_TRUE(lane.tell(checked_too{.a = tensor_, .b = tensor_, .number = 1}));
  EXPECT_EQ(checks, 2);
}

TEST_P(CheckedOnce, WhatIsRefusedIsRefusedEachTime) {
  const library_actor lane = gpu_.library("test");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_TRUE(lane.tell(request(1)));
    auto refused = lane.tell(request(-1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::invalid_argument);
    EXPECT_EQ(checks, 1 + i);
  }
}

TEST_P(CheckedOnce, ARequestThatCannotBeIsRefusedBeforeATensorOfIt) {
  std::array<float, 4> mine{};
  const any_tensor outside =
      any_tensor::unowned(reinterpret_cast<std::byte*>(mine.data()), dtype::f32, shape{4});
  auto refused = gpu_.library("test").tell(checked{.a = outside, .b = outside, .number = -1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
}

TEST_P(CheckedOnce, ARequestThatCannotBeDoesNotWaitForRoom) {
  device_config config = this->config();
  config.mailbox_capacity = 1;
  config.full = when_full::wait;
  device gpu = instead(config);
  shared_flag flag(gpu);
  auto t = gpu.tensor<float>({4, 4}).value();
  auto first = gpu.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  auto refused = gpu.library("test").tell(checked{.a = t, .b = t, .number = -1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  flag.set();
  EXPECT_TRUE(first.get_result());
}

TEST_P(CheckedOnce, ACheckThatThrowsKeepsNoRoom) {
  device_config config = this->config();
  config.mailbox_capacity = 2;
  device gpu = instead(config);
  auto t = gpu.tensor<float>({4, 4}).value();
  const library_actor lane = gpu.library("test");
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW((void)lane.tell(checked{.a = t, .b = t, .number = 13}), std::logic_error);
  }
  shared_flag flag(gpu);
  auto first = gpu.ask(hold{.flag = flag.tensor(), .output = t, .value = 1});
  auto second = gpu.ask(lane::marker{});
  flag.set();
  EXPECT_TRUE(first.get_result());
  EXPECT_TRUE(second.get_result());
}

}  // namespace
}  // namespace troupe::test
