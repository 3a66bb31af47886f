#include "backend/cuda/context/per_context.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace troupe::cuda {
namespace {

TEST(PerContext, MakesOneForEachContextWhoeverAsksFirst) {
  per_context<int, int> numbers;
  std::atomic<int> made = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        const int context = i % 5;
        const auto found = numbers.of(context, [&]() -> result<std::unique_ptr<int>> {
          ++made;
          return std::make_unique<int>(10 * context);
        });
        if (!found || **found != 10 * context) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(made, 5);
  EXPECT_EQ(wrong, 0);
  int sum = 0;
  numbers.visit([&](int one) { sum += one; });
  EXPECT_EQ(sum, 100);
}

TEST(PerContext, TriesAgainWhatCouldNotBeMade) {
  per_context<int, int> numbers;
  const auto failed = numbers.of(1, []() -> result<std::unique_ptr<int>> {
    return error{.code = errc::out_of_memory, .message = "no"};
  });
  EXPECT_FALSE(failed);
  const auto made =
      numbers.of(1, []() -> result<std::unique_ptr<int>> { return std::make_unique<int>(7); });
  ASSERT_TRUE(made);
  EXPECT_EQ(**made, 7);
}

}  // namespace
}  // namespace troupe::cuda
