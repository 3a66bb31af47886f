// The calls of cuTENSOR, and the life of its plans, with an emulation in its place.

#include "conformance/element.hpp"
#include "cuda/emulated/cutensor.hpp"
#include "cuda/emulated/lane.hpp"
#include "libraries/tensors/cuda/executors.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace troupe::cuda {
namespace {

using conformance::emulated_lane;
using emulated_cutensor::seen;
using tensors::contract;

/// A contraction whose rows lie on both sides of what is summed, so that products need copies; or a
/// product of matrices as they lie. All elements are 1.
class TensorsLibrary : public testing::Test {
 protected:
  TensorsLibrary() { seen() = {}; }

  any_tensor tensor(const shape& size, std::int64_t skipped = 0) {
    const std::int64_t count = any_tensor::unowned(nullptr, dtype::f32, size).count();
    std::byte* const first =
        memory_.take(static_cast<std::size_t>(4 * (count + skipped))) + 4 * skipped;
    for (std::int64_t i = 0; i < count; ++i)
      conformance::store(dtype::f32, first + 4 * i, 1);
    return any_tensor::unowned(first, dtype::f32, size);
  }
  contract crossed(std::int64_t skipped = 0) {
    return {.modes = "akbl,ljki->aibj",
            .a = tensor({6, 5, 7, 4}, skipped),
            .b = tensor({4, 8, 5, 12}),
            .d = tensor({6, 12, 7, 8})};
  }
  contract plain() {
    return {
        .modes = "ik,kj->ij", .a = tensor({30, 20}), .b = tensor({20, 40}), .d = tensor({30, 40})};
  }
  /// Runs it, and looks at its result.
  static void run(const contract& r, emulated_lane& where, double expected = 20) {
    const auto done = run_tensors(r, where);
    ASSERT_TRUE(done) << done.error().message;
    for (std::int64_t i = 0; i < r.d.count(); ++i)
      ASSERT_EQ(conformance::load(dtype::f32, r.d.address() + 4 * i).real(), expected);
  }

 private:
  conformance::blocks memory_;
};

TEST_F(TensorsLibrary, IsGivenWhatSavesSmallCopies) {
  emulated_lane where;
  run(plain(), where);
  EXPECT_EQ(seen().contractions, 0);
  run(crossed(), where);
  EXPECT_EQ(seen().contractions, 1);
  // Only the first factor must be copied, which has little more than a megabyte or less.
  const auto run_with = [&](std::int64_t rows) {
    run({.modes = "akbl,lkj->abj",
         .a = tensor({rows, 5, 60, 4}),
         .b = tensor({4, 5, 8}),
         .d = tensor({rows, 60, 8})},
        where);
  };
  run_with(220);
  EXPECT_EQ(seen().contractions, 1);
  run_with(210);
  EXPECT_EQ(seen().contractions, 2);
}

TEST_F(TensorsLibrary, IsGivenMatricesWhoseInnermostModeIsKept) {
  emulated_lane where;
  run({.modes = "hk,khd->hd", .a = tensor({6, 20}), .b = tensor({20, 6, 12}), .d = tensor({6, 12})},
      where);
  EXPECT_EQ(seen().calls, 1);
  run({.modes = "hd,khd->hk", .a = tensor({6, 20}), .b = tensor({9, 6, 20}), .d = tensor({6, 9})},
      where);
  EXPECT_EQ(seen().calls, 1);
}

TEST_F(TensorsLibrary, IsGivenWhatCrossesMemory) {
  emulated_lane where;
  const any_tensor a = tensor({8, 5, 7, 4});
  const auto permuted = [&](const std::string& to, const shape& size) {
    const tensors::permute r{.modes = "abcd->" + to, .a = a, .d = tensor(size), .alpha = 2};
    EXPECT_TRUE(run_tensors(r, where));
    EXPECT_EQ(conformance::load(dtype::f32, r.d.address() + 4 * (r.d.count() - 1)).real(), 2);
  };
  permuted("bacd", {5, 8, 7, 4});
  EXPECT_EQ(seen().calls, 0);
  permuted("dcba", {4, 7, 5, 8});
  EXPECT_EQ(seen().calls, 1);
  const auto reduced = [&](const std::string& to, const shape& size, tensors::reduction op,
                           double expected) {
    const tensors::reduce r{.modes = "abcd->" + to, .a = a, .d = tensor(size), .op = op};
    EXPECT_TRUE(run_tensors(r, where));
    EXPECT_EQ(conformance::load(dtype::f32, r.d.address() + 4 * (r.d.count() - 1)).real(),
              expected);
  };
  reduced("ab", {8, 5}, tensors::reduction::sum, 28);
  EXPECT_EQ(seen().calls, 1);
  reduced("ad", {8, 4}, tensors::reduction::sum, 35);
  EXPECT_EQ(seen().calls, 2);
  // Its largest of NaN and a number need not be NaN.
  reduced("ad", {8, 4}, tensors::reduction::maximum, 1);
  EXPECT_EQ(seen().calls, 2);
}

TEST_F(TensorsLibrary, PlansOnceForEachAlignment) {
  emulated_lane where;
  const contract first = crossed();
  run(first, where);
  run(first, where);
  run(crossed(), where);
  EXPECT_EQ(seen().plans, 1);
  EXPECT_EQ(seen().calls, 3);
  run(crossed(4), where);
  run(crossed(4), where);
  EXPECT_EQ(seen().plans, 2);
  EXPECT_EQ(seen().calls, 5);
}

TEST_F(TensorsLibrary, IsNotGivenRowsThatBeginAnywhere) {
  emulated_lane where;
  run(crossed(1), where);
  run({.modes = "akbl,ljki->aibj",
       .a = tensor({6, 5, 7, 4}),
       .b = tensor({4, 8, 5, 9}),
       .d = tensor({6, 9, 7, 8})},
      where);
  EXPECT_EQ(seen().calls, 0);
}

TEST_F(TensorsLibrary, PlansForEachMathMode) {
  emulated_lane where;
  contract r = crossed();
  run(r, where);
  EXPECT_FALSE(seen().in_tf32);
  r.math = blas::math_mode::tf32;
  run(r, where);
  EXPECT_TRUE(seen().in_tf32);
  EXPECT_EQ(seen().plans, 2);
}

TEST_F(TensorsLibrary, LeavesToProductsWhatItDoesNotTake) {
  emulated_lane where;
  seen().refuses = true;
  run(crossed(), where);
  EXPECT_EQ(seen().calls, 0);
  EXPECT_EQ(seen().alive, 1);  // its handle
}

TEST_F(TensorsLibrary, NeedNotBeThere) {
  emulated_lane where;
  seen().missing = true;
  run(crossed(), where);
  EXPECT_EQ(seen().calls, 0);
}

TEST_F(TensorsLibrary, IsUsedAsTheEnvironmentSays) {
  {
    emulated_lane where;
    where.use({.tensors = tensors_method::products});
    run(crossed(), where);
    EXPECT_EQ(seen().calls, 0);
    EXPECT_EQ(seen().alive, 0);
  }
  {
    emulated_lane where;
    where.use({.tensors = tensors_method::cutensor});
    run(plain(), where);
    EXPECT_EQ(seen().calls, 1);
  }
}

TEST_F(TensorsLibrary, IsNotGivenRepeatedTensors) {
  emulated_lane where;
  where.use({.tensors = tensors_method::cutensor});
  contract r = plain();
  r.a = r.a.as_strided({30, 20}, {0, 1}).value();
  run(r, where);
  EXPECT_EQ(seen().calls, 0);
}

TEST_F(TensorsLibrary, AddsToTheResult) {
  emulated_lane where;
  contract r = crossed();
  r.c = r.d;
  r.alpha = 0.5;
  r.beta = 3;
  run(r, where, 13);
  contract apart = crossed();
  apart.c = tensor({6, 12, 7, 8});
  apart.beta = 3;
  run(apart, where, 23);
  EXPECT_EQ(seen().calls, 2);
}

TEST_F(TensorsLibrary, EndsWithItsLane) {
  {
    emulated_lane where;
    run(crossed(), where);
    EXPECT_EQ(seen().alive, 2);  // its handle, and a plan
  }
  EXPECT_EQ(seen().alive, 0);
}

}  // namespace
}  // namespace troupe::cuda
