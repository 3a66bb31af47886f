// The life of plans: found again, dropped, measured, kept on disk, and not offered.

#include "cuda/emulated/cublaslt.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/blaslt/cuda/matmul_plan.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace troupe::cuda {
namespace {

using blaslt::matmul;
using conformance::emulated_lane;
using emulated_cublaslt::seen;

/// A cache folder of the test's own, empty.
class own_cache {
 public:
  own_cache() {
    std::string made = (std::filesystem::temp_directory_path() / "troupe-XXXXXX").string();
    EXPECT_NE(::mkdtemp(made.data()), nullptr);
    folder_ = made;
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }
  ~own_cache() { std::filesystem::remove_all(folder_); }
  own_cache(const own_cache&) = delete;
  own_cache& operator=(const own_cache&) = delete;

 private:
  std::filesystem::path folder_;
};

const operation_table& table() {
  static const operation_table filled = [] {
    operation_table made;
    plugin_operations::visit([&](auto& add) { add(made); });
    return made;
  }();
  return filled;
}

result<void> run(const matmul& r, lane& where) {
  const operation* const found = table().find(request_type_of<matmul>().id);
  EXPECT_TRUE(validate(r));
  return found->run(found->executor, &r, where, nullptr);
}

/// A product of n rows, of whatever numbers are there. All of one n are aligned alike.
class product {
 public:
  explicit product(std::int64_t n) {
    const auto bytes = [](std::int64_t count) { return count * std::int64_t{sizeof(float)}; };
    const auto all = static_cast<std::size_t>(bytes(2 * n * 8 + 64));
    std::byte* const first = memory_.take(all);
    std::memset(first, 0, all);
    request.a = any_tensor::unowned(first, dtype::f32, {n, 8});
    request.b = any_tensor::unowned(first + bytes(n * 8), dtype::f32, {8, 8});
    request.d = any_tensor::unowned(first + bytes(n * 8 + 64), dtype::f32, {n, 8});
  }
  matmul request;

 private:
  conformance::blocks memory_;
};

TEST(BlasltPlans, AreFoundAgain) {
  emulated_lane lane;
  const product p(3);
  const std::uint64_t asked = seen().proposals;
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(counts_of(lane).made, 1u);
  EXPECT_EQ(counts_of(lane).found, 4u);
  EXPECT_EQ(seen().proposals, asked + 1);
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::first_that_runs);
}

TEST(BlasltPlans, AreKept256OfEachLane) {
  emulated_lane lane;
  const auto run_all = [&](std::int64_t from, std::int64_t to) {
    for (std::int64_t n = from; n < to; ++n)
      ASSERT_TRUE(run(product(n).request, lane));
  };
  run_all(1, 257);
  run_all(1, 257);  // all of them, in the order in which they would go
  EXPECT_EQ(counts_of(lane).found, 256u);
  const std::uint64_t made = counts_of(lane).made;
  run_all(257, 258);
  run_all(1, 2);  // gone
  EXPECT_EQ(counts_of(lane).made, made + 2);
}

TEST(BlasltPlans, AreMeasuredOnceAndTheFastestRuns) {
  const own_cache folder;
  emulated_lane lane;
  product p(3);
  p.request.tuning = blaslt::tuning::timed;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::fastest);
  EXPECT_EQ(counts_of(lane).measured, 1u);
  EXPECT_EQ(counts_of(lane).restored, 0u);
  const std::uint64_t products = seen().products;
  ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(seen().products, products + 1);
  // Without being measured it would be another.
  p.request.tuning = blaslt::tuning::heuristic;
  ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::first_that_runs);
}

TEST(BlasltPlans, KeepTheGuessWhereAnotherIsFasterInWarmCachesOnly) {
  const own_cache folder;
  emulated_lane lane;
  product p(3);
  p.request.tuning = blaslt::tuning::timed;
  seen().slow_when_cold = emulated_cublaslt::fastest;
  ASSERT_TRUE(run(p.request, lane));
  seen().slow_when_cold = emulated_cublaslt::kernels;
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::first_that_runs);
  EXPECT_EQ(counts_of(lane).measured, 1u);
}

TEST(BlasltPlans, AreNotMeasuredAgainByWhoComesNext) {
  const own_cache folder;
  product p(3);
  p.request.tuning = blaslt::tuning::timed;
  {
    emulated_lane first;
    ASSERT_TRUE(run(p.request, first));
    EXPECT_EQ(counts_of(first).measured, 1u);
  }
  emulated_lane next;
  const std::uint64_t products = seen().products;
  ASSERT_TRUE(run(p.request, next));
  EXPECT_EQ(seen().products, products + 1);
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::fastest);
  EXPECT_EQ(counts_of(next).measured, 0u);
  EXPECT_EQ(counts_of(next).restored, 1u);
}

TEST(BlasltPlans, AreMeasuredWithoutAddingMoreThanOnce) {
  const own_cache folder;
  emulated_lane lane;
  product p(3);
  std::fill_n(p.request.d.data<float>(), p.request.d.count(), 1.F);
  p.request.c = p.request.d;
  p.request.beta = 2;
  p.request.tuning = blaslt::tuning::timed;
  ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(counts_of(lane).measured, 1u);
  for (std::int64_t i = 0; i < p.request.d.count(); ++i)
    ASSERT_EQ(p.request.d.data<float>()[i], 2.F);
}

TEST(BlasltPlans, AreMeasuredWhereNothingCanBeKept) {
  const own_cache folder;
  ::setenv("XDG_CACHE_HOME", "/proc/none", 1);  // NOLINT(concurrency-mt-unsafe)
  emulated_lane lane;
  product p(3);
  p.request.tuning = blaslt::tuning::timed;
  ASSERT_TRUE(run(p.request, lane));
  EXPECT_EQ(counts_of(lane).measured, 1u);
  EXPECT_EQ(seen().last_kernel, emulated_cublaslt::fastest);
}

TEST(BlasltPlans, ThatTheLibraryDoesNotOfferAreUnsupported) {
  emulated_lane lane;
  const product p(3);
  for (const int status : {CUBLAS_STATUS_NOT_SUPPORTED, CUBLAS_STATUS_INVALID_VALUE}) {
    seen().heuristic_answers = status;
    const auto refused = run(p.request, lane);
    seen().heuristic_answers = 0;
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::unsupported);
    EXPECT_TRUE(refused.error().message.starts_with(
        "not offered: f32 x f32 + f32 -> f32, epilogue none, NN, m=8 n=3 k=8 batch=1"))
        << refused.error().message;
  }
  seen().heuristic_answers = CUBLAS_STATUS_INTERNAL_ERROR;
  const auto failed = run(p.request, lane);
  seen().heuristic_answers = 0;
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, errc::library_error);
  EXPECT_EQ(failed.error().code_name, "CUBLAS_STATUS_INTERNAL_ERROR");
}

}  // namespace
}  // namespace troupe::cuda
