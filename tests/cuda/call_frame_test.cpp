#include "backend/cuda/context/call_frame.hpp"

#include "emulated/lane.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

/// The actions of all steps, in order.
std::vector<std::string>& events() {
  static std::vector<std::string> all;
  return all;
}

class noting final : call_frame::step {
 public:
  noting(call_frame& c, std::string name, bool fails = false)
      : step(c), name_(std::move(name)), fails_(fails) {}

 private:
  result<void> before(lane&) override {
    events().push_back("before " + name_);
    if (fails_) return error{.code = errc::library_error, .message = name_};
    return {};
  }
  result<void> after(lane&) override {
    events().push_back("after " + name_);
    return {};
  }
  std::string name_;
  bool fails_;
};

result<void> copy(const any_tensor& from, const any_tensor& to, lane&) {
  for (std::int64_t i = 0; i < to.extent(0); ++i)
    to.data<float>()[i * to.stride(0)] = from.data<float>()[i * from.stride(0)];
  return {};
}

class CallFrame : public ::testing::Test {
 protected:
  void SetUp() override { events().clear(); }
  conformance::emulated_lane where_;
};

TEST_F(CallFrame, GivesItsArraysAndWhatRoutinesShareFromOneWorkspace) {
  call_frame c(where_);
  const auto bytes = c.bytes(3);
  const auto none = c.array<float>(0);
  const auto numbers = c.array<std::int64_t>(40);
  c.share({.device = 100, .host = 7});
  c.share(300);
  ASSERT_TRUE(c.begin());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % 256, 0);
  EXPECT_EQ(reinterpret_cast<std::byte*>(numbers.get()), bytes.get() + 256);
  EXPECT_EQ(static_cast<void*>(none), static_cast<void*>(numbers));
  EXPECT_EQ(bytes_between(bytes, numbers), 256);
  EXPECT_EQ(c.shared(), bytes.get() + 256 + 512);
  EXPECT_EQ(c.shared_bytes().device, 300);
  EXPECT_EQ(c.shared_elements<float>(), 75);
  EXPECT_NE(c.shared_host(), nullptr);
  std::fill_n(c.shared(), 300, std::byte{1});
  std::fill_n(c.shared_host(), 7, std::byte{1});
  where_.expect_untouched();
}

TEST_F(CallFrame, TakesItsStepsInTheOrderOfTheirDeclarationOnBothSides) {
  call_frame c(where_);
  noting first(c, "first");
  noting second(c, "second");
  EXPECT_TRUE(events().empty());
  ASSERT_TRUE(c.begin());
  EXPECT_EQ(events(), (std::vector<std::string>{"before first", "before second"}));
  ASSERT_TRUE(c.end());
  EXPECT_EQ(events().size(), 4);
  EXPECT_EQ(events().back(), "after second");
}

TEST_F(CallFrame, EndsWithTheFirstStepThatFails) {
  call_frame c(where_);
  noting first(c, "first", true);
  noting second(c, "second");
  const auto begun = c.begin();
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().message, "first");
  EXPECT_EQ(events(), (std::vector<std::string>{"before first"}));
}

TEST_F(CallFrame, CopiesOperandsThatDoNotStayInAndOut) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  const std::int64_t steps[] = {2};
  const auto spread =
      any_tensor::unowned(reinterpret_cast<std::byte*>(memory.data()), dtype::f32, {3}, steps);
  {
    call_frame c(where_);
    packed_operand x(c, spread, use::reads, false, copy);
    packed_operand y(c, spread, use::updates, false, copy);
    packed_operand z(c, spread, use::writes, true, copy);
    ASSERT_TRUE(c.begin());
    EXPECT_TRUE(z->same_view(spread));
    EXPECT_TRUE(x->packed());
    EXPECT_EQ(x->data<float>()[1], 3);
    for (int i = 0; i < 3; ++i) {
      y->data<float>()[i] *= 10;
      x->data<float>()[i] = 0;
    }
    ASSERT_TRUE(c.end());
  }
  EXPECT_EQ(memory, (std::vector<float>{10, 2, 30, 4, 50, 6}));
}

}  // namespace
}  // namespace troupe::cuda
