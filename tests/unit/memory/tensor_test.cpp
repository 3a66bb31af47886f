#include "memory/memory_pool.hpp"

#include <troupe/tensor/tensor.hpp>

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Views over 64 KiB that a pool owns.
class TensorView : public testing::Test {
 protected:
  [[nodiscard]] any_tensor make(const shape& extents, dtype type = dtype::f32) const {
    return any_tensor::owned(buffer_, type, extents);
  }
  static std::vector<std::int64_t> strides(const any_tensor& t) {
    return {t.strides().begin(), t.strides().end()};
  }
  static std::vector<std::int64_t> extents(const any_tensor& t) {
    return {t.extents().begin(), t.extents().end()};
  }
  static errc code(const result<any_tensor>& r) {
    return r ? errc{} : const_cast<result<any_tensor>&>(r).error().code;
  }
  using list = std::vector<std::int64_t>;

  std::shared_ptr<memory_pool> pool_ =
      memory_pool::create(
          {.space = memory_space::device, .limit_bytes = 1 << 20, .granule_bytes = 4096})
          .value();
  detail::buffer_ref buffer_ = pool_->allocate(65'536, 1).value();
};

TEST_F(TensorView, IsPackedRowMajorWhenMade) {
  EXPECT_EQ(strides(make({2, 3, 4, 5})), (list{60, 20, 5, 1}));
  EXPECT_TRUE(make({2, 3, 4, 5}).packed());
  EXPECT_EQ(make({}).count(), 1);
  EXPECT_EQ(make({2, 0, 4}).count(), 0);
}

TEST_F(TensorView, ChannelsLastOfNchwHasTheKnownStrides) {
  const any_tensor nhwc = make({2, 4, 5, 3});
  const auto nchw = nhwc.permute(std::array{0, 3, 1, 2});
  ASSERT_TRUE(nchw);
  EXPECT_EQ(extents(*nchw), (list{2, 3, 4, 5}));
  EXPECT_EQ(strides(*nchw), (list{60, 1, 15, 3}));
  EXPECT_FALSE(nchw->packed());
  EXPECT_TRUE(nchw->injective());
}

TEST_F(TensorView, SlicesToEveryStepthElement) {
  const auto rows = make({10, 4}).slice(0, 1, 8, 3);  // rows 1, 4, 7
  ASSERT_TRUE(rows);
  EXPECT_EQ(extents(*rows), (list{3, 4}));
  EXPECT_EQ(strides(*rows), (list{12, 1}));
  EXPECT_EQ(rows->address(), buffer_->address + 16);
  const auto none = rows->slice(0, 2, 2);
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

TEST_F(TensorView, RefusesBadSlices) {
  const any_tensor t = make({10, 4});
  for (const auto& bad :
       {t.slice(-1, 0, 1), t.slice(2, 0, 1), t.slice(0, -1, 1), t.slice(0, 3, 2), t.slice(0, 0, 11),
        t.slice(0, 0, 1, 0), t.slice(0, 0, 1, -1), make({}).slice(0, 0, 0)}) {
    EXPECT_EQ(code(bad), errc::invalid_argument);
  }
}

TEST_F(TensorView, AStepOverEverythingDoesNotOverflowTheStride) {
  const auto one = make({10, 4}).slice(0, 0, 10, huge);
  ASSERT_TRUE(one);
  EXPECT_EQ(extents(*one), (list{1, 4}));
  EXPECT_EQ(one->reach().end, 4 * 4);
}

TEST_F(TensorView, PermutesAndRefusesWhatIsNoPermutation) {
  const any_tensor t = make({2, 3, 4});
  EXPECT_EQ(strides(*t.permute(std::array{2, 0, 1})), (list{1, 12, 4}));
  EXPECT_EQ(strides(*t.permute({2, 0, 1})), (list{1, 12, 4}));
  EXPECT_EQ(strides(*t.as_strided({2, 3}, {4, 1})), (list{4, 1}));
  EXPECT_EQ(code(t.permute(std::array{0, 1})), errc::invalid_argument);
  EXPECT_EQ(code(t.permute(std::array{0, 1, 1})), errc::invalid_argument);
  EXPECT_EQ(code(t.permute(std::array{0, 1, 3})), errc::invalid_argument);
  EXPECT_EQ(code(t.permute(std::array{0, 1, -1})), errc::invalid_argument);
  EXPECT_EQ(code(t.permute(std::array{0, 1, 2, 3})), errc::invalid_argument);
}

TEST_F(TensorView, TransposesTheLastTwoDimensions) {
  EXPECT_EQ(extents(make({2, 3, 4}).transpose()), (list{2, 4, 3}));
  EXPECT_EQ(strides(make({2, 3, 4}).transpose()), (list{12, 1, 4}));
  EXPECT_EQ(extents(make({5}).transpose()), (list{5}));
}

TEST_F(TensorView, ReshapesPackedElementsOnly) {
  EXPECT_EQ(strides(*make({6, 4}).reshape({2, 3, 4})), (list{12, 4, 1}));
  EXPECT_EQ(code(make({6, 4}).transpose().reshape({24})), errc::layout_unsupported);
  EXPECT_EQ(code(make({6, 4}).reshape({5, 5})), errc::shape_mismatch);
  EXPECT_EQ(code(make({1}).reshape({1, 1, 1, 1, 1, 1, 1, 1, 1})), errc::invalid_argument);
}

TEST_F(TensorView, ReshapeIsNotFooledByNegativeExtentsOrByOverflow) {
  EXPECT_EQ(code(make({4}).reshape({-2, -2})), errc::invalid_argument);
  const std::int64_t root = std::int64_t{1} << 32;
  EXPECT_EQ(code(make({0}).reshape({root, root})), errc::invalid_argument);
  EXPECT_EQ(code(make({0}).reshape({0, huge, huge})), errc::invalid_argument);
}

TEST_F(TensorView, AsStridedStaysWithinTheBuffer) {
  const any_tensor t = make({100});  // its buffer has 65 536 bytes: 16 384 floats
  const list across{128};
  EXPECT_TRUE(t.as_strided({128}, across));
  EXPECT_EQ(code(t.as_strided({129}, across)), errc::invalid_argument);
  const auto later = t.slice(0, 1, 100);
  EXPECT_EQ(code(later->as_strided({16'384}, list{1})), errc::invalid_argument);
  EXPECT_TRUE(later->as_strided({16'383}, list{1}));
}

TEST_F(TensorView, AsStridedRefusesWhatCannotBe) {
  const any_tensor t = make({4}, dtype::c128);
  EXPECT_EQ(code(t.as_strided({4}, list{-1})), errc::invalid_argument);
  EXPECT_EQ(code(t.as_strided({-4}, list{1})), errc::invalid_argument);
  EXPECT_EQ(code(t.as_strided({4, 4}, list{1})), errc::invalid_argument);
  EXPECT_EQ(code(t.as_strided({2}, list{huge})), errc::invalid_argument);
  // (2^60 + 1) elements of 16 bytes are 16 bytes modulo 2^64.
  EXPECT_EQ(code(t.as_strided({2}, list{std::int64_t{1} << 60})), errc::invalid_argument);
  EXPECT_EQ(code(t.as_strided({huge, huge, huge}, list{0, 0, 0})), errc::invalid_argument);
}

TEST_F(TensorView, InjectiveSaysWhetherIndicesShareElements) {
  // By definition: every index tuple has an element of its own.
  const auto by_enumeration = [](const any_tensor& t) {
    std::set<std::int64_t> seen;
    for (std::int64_t i = 0; i < t.extent(0); ++i) {
      for (std::int64_t j = 0; j < t.extent(1); ++j) {
        for (std::int64_t k = 0; k < t.extent(2); ++k) {
          if (!seen.insert(i * t.stride(0) + j * t.stride(1) + k * t.stride(2)).second)
            return false;
        }
      }
    }
    return true;
  };
  std::mt19937 random(3);
  const auto up_to = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  const any_tensor whole = make({16'384});
  int injective = 0;
  for (int i = 0; i < 3'000; ++i) {
    const auto t =
        whole.as_strided({up_to(4), up_to(4), up_to(4)}, list{up_to(13), up_to(13), up_to(13)});
    ASSERT_TRUE(t);
    // May say no where strides interleave without meeting; must never say yes where two meet.
    if (t->injective()) {
      ASSERT_TRUE(by_enumeration(*t)) << t->to_string();
      ++injective;
    }
    if (t->packed()) {
      ASSERT_TRUE(t->injective()) << t->to_string();
    }
  }
  EXPECT_GT(injective, 500);
}

TEST_F(TensorView, PackedMeansRowMajorWithoutGaps) {
  EXPECT_TRUE(make({3, 1, 4}).packed());
  EXPECT_TRUE(make({3, 4}).as_strided({3, 1}, list{1, 77})->packed()) << "one index has no step";
  EXPECT_FALSE(make({3, 4}).slice(1, 0, 3)->packed());
  EXPECT_TRUE(make({3, 4}).slice(0, 1, 3)->packed());
  EXPECT_TRUE(make({3, 0}).as_strided({3, 0}, list{9, 9})->packed());
  EXPECT_FALSE(make({3}).as_strided({3}, list{0})->packed());
}

TEST_F(TensorView, OverlapsByTheBytesThatCanBeTouched) {
  const any_tensor t = make({4, 8});
  const any_tensor left = *t.slice(0, 0, 2);
  const any_tensor right = *t.slice(0, 2, 4);
  EXPECT_FALSE(left.overlaps(right));
  EXPECT_TRUE(left.overlaps(t));
  EXPECT_TRUE(t.slice(0, 1, 3)->overlaps(right));
  EXPECT_TRUE(t.slice(1, 0, 1)->overlaps(*t.slice(1, 7, 8))) << "columns interleave";
  EXPECT_FALSE(left.slice(1, 3, 3)->overlaps(left)) << "nothing overlaps with no elements";
}

TEST_F(TensorView, OfNoMemoryOverlapsNothing) {
  EXPECT_FALSE(any_tensor{}.overlaps(any_tensor{}));
  EXPECT_FALSE(any_tensor{}.overlaps(make({4})));
  EXPECT_FALSE(make({4}).overlaps(any_tensor{}));
}

TEST_F(TensorView, SameViewWantsTheSameElementsInTheSameOrder) {
  const any_tensor t = make({4, 4});
  EXPECT_TRUE(t.same_view(make({4, 4})));
  EXPECT_FALSE(t.same_view(t.transpose()));
  EXPECT_FALSE(t.same_view(make({4, 4}, dtype::i32)));
  EXPECT_FALSE(t.same_view(*t.slice(0, 0, 3)));
}

TEST_F(TensorView, ReachesNothingWithoutElements) {
  const auto none = make({4, 0, 4});
  EXPECT_EQ(none.reach().begin, 0);
  EXPECT_EQ(none.reach().end, 0);
}

TEST_F(TensorView, PrintsTypeExtentsAndStridesWhereTheyMatter) {
  EXPECT_EQ(make({2, 3}).to_string(), "<f32>[2, 3]");
  EXPECT_EQ(make({2, 3}).transpose().to_string(), "<f32>[3, 2] strides [1, 3]");
}

TEST_F(TensorView, EveryViewKeepsTheBufferAlive) {
  auto view = std::optional(*make({4, 4}).slice(0, 1, 2)->reshape({2, 2}));
  buffer_ = detail::buffer_ref();
  EXPECT_EQ(pool_->statistics().buffers, 1u);
  view.reset();
  EXPECT_EQ(pool_->statistics().buffers, 0u);
}

}  // namespace
}  // namespace troupe
