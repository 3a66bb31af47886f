#include <troupe/core/future_combine.hpp>

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace troupe {
namespace {

TEST(FutureCombine, WhenAllKeepsOrderAndFailsWithTheFirstError) {
  promise<int> a;
  promise<int> b;
  std::vector<future<int>> both;
  both.push_back(a.get_future());
  both.push_back(b.get_future());
  auto all = when_all(std::move(both));
  b.set_value(2);
  EXPECT_FALSE(all.ready());
  a.set_value(1);
  EXPECT_EQ(all.get(), (std::vector<int>{1, 2}));
  EXPECT_TRUE(when_all(std::vector<future<void>>{}).ready());
  auto mixed = when_all(make_ready_future(1), make_failed_future<void>({.code = errc::aliasing}));
  EXPECT_EQ(mixed.get_result().error().code, errc::aliasing);
}

TEST(FutureCombine, WhenAnyTakesTheFirst) {
  promise<int> a;
  promise<int> b;
  std::vector<future<int>> both;
  both.push_back(a.get_future());
  both.push_back(b.get_future());
  auto first = when_any(std::move(both));
  b.set_value(2);
  a.set_value(1);
  const auto winner = first.get();
  EXPECT_EQ(winner.index, 1U);
  EXPECT_EQ(winner.value, 2);
}

TEST(FutureCombine, WhenAnyTakesAnErrorAndNothingToo) {
  promise<int> never;
  std::vector<future<int>> all;
  all.push_back(never.get_future());
  all.push_back(make_failed_future<int>({.code = errc::aliasing}));
  EXPECT_EQ(when_any(std::move(all)).get_result().error().code, errc::aliasing);

  promise<void> open;
  std::vector<future<void>> nothing;
  nothing.push_back(open.get_future());
  nothing.push_back(make_ready_future());
  EXPECT_EQ(when_any(std::move(nothing)).get().index, 1U);

  EXPECT_EQ(when_any(std::vector<future<int>>{}).get_result().error().code, errc::no_reply)
      << "of none, none is first";
}

}  // namespace
}  // namespace troupe
