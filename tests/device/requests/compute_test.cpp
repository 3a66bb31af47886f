// Requests whose outputs the device allocates.

#include "device/fixtures/either_isolation.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/core/task.hpp>
#include <troupe/memory/copy.hpp>
#include <troupe/memory/fill.hpp>

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

namespace troupe::test {
namespace {

class Compute : public either_isolation {
 protected:
  tensor<float> matrix(std::int64_t rows, std::int64_t columns, float all) {
    auto made = gpu_.tensor<float>({rows, columns}).value();
    gpu_.ask(memory::fill{.to = made, .value = all}).get();
    return made;
  }
  std::vector<float> elements(const any_tensor& t) {
    std::vector<float> all(static_cast<std::size_t>(t.count()));
    gpu_.copy(t, std::span(all)).get();
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Isolation, Compute,
                         ::testing::Values(isolation::process, isolation::thread),
                         process_or_thread);

TEST_P(Compute, AllocatesWhatTheRequestLeavesOut) {
  const auto c = gpu_.compute(blas::gemm{.a = matrix(2, 3, 1), .b = matrix(3, 4, 2)}).get().c;
  EXPECT_EQ(c.type(), dtype::f32);
  EXPECT_EQ(shape(c.extents())[0], 2);
  EXPECT_EQ(elements(c), std::vector<float>(8, 6));
}

TEST_P(Compute, GivesItsOutputsToTheNextRequestAtOnce) {
  const auto w = matrix(8, 8, 1);
  auto y = gpu_.compute(blas::gemm{.a = w, .b = w});
  for (int i = 0; i < 30; ++i)
    y = gpu_.compute(blas::gemm{.a = y->c, .b = w, .alpha = 0.125F});
  EXPECT_EQ(elements(y->c), std::vector<float>(64, 8)) << "ordered after all of them";
  EXPECT_EQ(y.get().c.address(), y->c.address());
}

TEST_P(Compute, IsShownInTheGuide) {
  device gpu = gpu_;
  const auto x = matrix(2, 3, 1), w = matrix(3, 3, 1);
  std::vector<float> numbers(6);
  // region: chain
  auto y = gpu.compute(blas::gemm{.a = x, .b = w});
  auto z = gpu.compute(blas::gemm{.a = y->c, .b = w});  // y->c has its memory already
  gpu.copy(z->c, std::span(numbers)).get();             // the first wait, for both
  // endregion: chain
  EXPECT_EQ(numbers, std::vector<float>(6, 9));
}

TEST_P(Compute, UsesAnOutputThatIsGiven) {
  const auto c = matrix(4, 4, 7);
  const auto before = gpu_.statistics().buffers;
  const auto made = gpu_.compute(blas::gemm{.a = c, .b = c, .c = c.transpose()}).get_result();
  EXPECT_EQ(gpu_.statistics().buffers, before);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, errc::aliasing);
  EXPECT_EQ(gpu_.tainted_by(c), "") << "a refused request has not touched it";
}

TEST_P(Compute, RefusesThroughTheFutureAndTaintsWhatItAllocated) {
  const auto a = matrix(2, 3, 1);
  auto y = gpu_.compute(blas::gemm{.a = a, .b = matrix(3, 4, 1), .c = {}, .beta = 0.0F},
                        {.run_limit = std::chrono::nanoseconds(-1)});
  const auto next = gpu_.compute(blas::gemm{.a = y->c, .b = matrix(4, 4, 1)}).get_result();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, errc::tainted_buffer);
  EXPECT_NE(next.error().to_string().find("run_limit"), std::string::npos) << "the cause";
  const auto refused = y.get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_argument);
  // Sent again, with what was allocated, it is right.
  gpu_.ask(*y).get();
  EXPECT_EQ(elements(y->c), std::vector<float>(8, 3));
  expect_usable();
}

TEST_P(Compute, SaysWhichOutputMustBeGiven) {
  const auto nothing = gpu_.compute(memory::fill{.value = 1}).get_result();
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, errc::invalid_argument);
  EXPECT_NE(nothing.error().message.find("to must be given: "), std::string::npos)
      << nothing.error().message;
  EXPECT_NE(nothing.error().request.find("memory.fill"), std::string::npos);
}

TEST_P(Compute, RefusesAnOutputForWhichThereIsNoMemory) {
  device_config small = config();
  small.memory_limit_bytes = 16 << 20;
  device gpu = instead(small);
  const auto a = gpu.tensor<float>({2048, 1}).value();
  auto y = gpu.compute(blas::gemm{.a = a, .b = a.transpose()});
  EXPECT_TRUE(y->c.null());
  const auto refused = y.get_result();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::out_of_memory);
}

TEST_P(Compute, KeepsNothingOnceItsTensorsAreDropped) {
  const auto w = matrix(8, 8, 1);
  const auto before = gpu_.statistics().buffers;
  for (int i = 0; i < 50; ++i)
    (void)gpu_.compute(blas::gemm{.a = w, .b = w});
  (void)gpu_.compute(blas::gemm{.a = w, .b = matrix(7, 8, 1)});
  EXPECT_TRUE(gpu_.drain(std::chrono::seconds(30)));
  EXPECT_EQ(gpu_.statistics().buffers, before);
}

task<float> sum_of_products(device gpu, any_tensor a) {
  const auto once = co_await gpu.compute(blas::gemm{.a = a, .b = a});
  auto twice = gpu.compute(blas::gemm{.a = once.c, .b = a});
  (void)co_await twice;
  std::vector<float> all(static_cast<std::size_t>(twice->c.count()));
  co_await gpu.copy(twice->c, std::span(all));
  float sum = 0;
  for (const float one : all)
    sum += one;
  co_return sum;
}

TEST_P(Compute, IsAwaited) {
  EXPECT_EQ(start(sum_of_products(gpu_, matrix(2, 2, 1))).get(), 16);
  auto y = gpu_.compute(blas::gemm{.a = matrix(2, 2, 1), .b = matrix(2, 2, 1)});
  EXPECT_EQ(y.answer().then([c = y->c] { return c.count(); }).get(), 4);
}

}  // namespace
}  // namespace troupe::test
