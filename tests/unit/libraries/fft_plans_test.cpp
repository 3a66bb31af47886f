#include "libraries/fft/cuda/advanced_layout.hpp"
#include "libraries/fft/shared/plan_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using cuda::advanced_layout;
using cuda::advanced_side;

using extents = std::vector<std::int64_t>;

any_tensor view(dtype type, const extents& size, const extents& strides) {
  return any_tensor::unowned(nullptr, type, shape(std::span(size)), strides);
}

extents packed_strides(const extents& size) {
  extents strides(size.size());
  std::int64_t step = 1;
  for (std::size_t d = size.size(); d-- > 0; step *= size[d])
    strides[d] = step;
  return strides;
}

fft::transform transform_of(fft::kind kind, int rank, const any_tensor& in, const any_tensor& out) {
  fft::transform t;
  t.kind = kind;
  t.rank = rank;
  return fft::lay_out(t, in, out);
}

/// The positions of the numbers of all transforms in one operand, each transform's in the order of
/// its indices, the transforms in any order.
using placement = std::vector<std::vector<std::int64_t>>;

placement sorted(placement p) {
  std::ranges::sort(p);
  return p;
}

template <class Offset>
void for_each_index(const extents& size, Offset f) {
  if (std::ranges::find(size, 0) != size.end()) return;
  extents at(size.size());
  for (;;) {
    f(at);
    std::size_t d = size.size();
    while (d > 0 && ++at[d - 1] == size[d - 1])
      at[--d] = 0;
    if (d == 0) return;
  }
}

/// As the strides of the loops say.
placement wanted(const fft::transform& t, std::int64_t fft::loop::* side, bool complex) {
  extents batch;
  extents axes;
  for (int d = 0; d < t.batches; ++d)
    batch.push_back(t.batch[static_cast<std::size_t>(d)].n);
  for (int d = 0; d < t.rank; ++d)
    axes.push_back(t.extent(d, complex));
  placement all;
  for_each_index(batch, [&](const extents& b) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < b.size(); ++d)
      first += b[d] * t.batch[d].*side;
    auto& one = all.emplace_back();
    for_each_index(axes, [&](const extents& k) {
      std::int64_t offset = first;
      for (std::size_t d = 0; d < k.size(); ++d)
        offset += k[d] * t.axes[d].*side;
      one.push_back(offset);
    });
  });
  return all;
}

/// As cuFFT will find them.
placement found(const fft::transform& t, const advanced_layout& as, const advanced_side& lies,
                std::int64_t fft::loop::* side, bool complex) {
  extents outer;
  extents axes;
  for (int d = 0; d < as.outer_rank; ++d)
    outer.push_back(as.outer[static_cast<std::size_t>(d)].n);
  for (int d = 0; d < t.rank; ++d)
    axes.push_back(t.extent(d, complex));
  placement all;
  for_each_index(outer, [&](const extents& o) {
    std::int64_t first = 0;
    for (std::size_t d = 0; d < o.size(); ++d)
      first += o[d] * as.outer[d].*side;
    for (std::int64_t b = 0; b < as.batch; ++b) {
      auto& one = all.emplace_back();
      for_each_index(axes, [&](const extents& k) {
        std::int64_t place = 0;
        for (std::size_t d = 0; d < k.size(); ++d)
          place = place * (d > 0 ? lies.embed[d] : 1) + k[d];
        one.push_back(first + b * lies.distance + place * lies.stride);
      });
    }
  });
  return all;
}

void expect_same_places(const fft::transform& t, const advanced_layout& as) {
  EXPECT_EQ(sorted(found(t, as, as.in, &fft::loop::in, t.in_is_complex())),
            sorted(wanted(t, &fft::loop::in, t.in_is_complex())));
  EXPECT_EQ(sorted(found(t, as, as.out, &fft::loop::out, t.out_is_complex())),
            sorted(wanted(t, &fft::loop::out, t.out_is_complex())));
}

/// Strides of a random order of the dimensions, with random gaps.
extents random_strides(const extents& size, std::mt19937& random) {
  std::vector<std::size_t> order(size.size());
  std::iota(order.begin(), order.end(), 0u);
  if (random() % 2 == 0) std::ranges::shuffle(order, random);
  extents strides(size.size());
  std::int64_t step = 1 + static_cast<std::int64_t>(random() % 2);
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = step;
    step *= size[order[i]] + static_cast<std::int64_t>(random() % 3 == 0);
  }
  return strides;
}

TEST(FftAdvancedLayout, IsWhereTheStridesSayOrIsNotOffered) {
  std::mt19937 random(7);
  int offered = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto kind = static_cast<fft::kind>(random() % 3);
    const int rank = 1 + static_cast<int>(random() % 3);
    extents in(static_cast<std::size_t>(rank) + random() % 4);
    for (std::int64_t& n : in)
      n = 1 + static_cast<std::int64_t>(random() % 5);
    extents out = in;
    if (kind == fft::kind::r2c) out.back() = out.back() / 2 + 1;
    if (kind == fft::kind::c2r) in.back() = in.back() / 2 + 1;
    const dtype complex = dtype::c64;
    const dtype real = dtype::f32;
    const any_tensor from =
        view(kind == fft::kind::r2c ? real : complex, in, random_strides(in, random));
    const any_tensor to =
        view(kind == fft::kind::c2r ? real : complex, out, random_strides(out, random));
    const fft::transform t = transform_of(kind, rank, from, to);
    if (const auto as = cuda::advanced_layout_of(t)) {
      ++offered;
      expect_same_places(t, *as);
    }
    // Both copied to workspace is what is left where nothing else fits.
    const fft::transform both = transform_of(kind, rank, view(from.type(), in, packed_strides(in)),
                                             view(to.type(), out, packed_strides(out)));
    const auto as = cuda::advanced_layout_of(both);
    ASSERT_TRUE(as);
    EXPECT_EQ(as->outer_rank, 0);
    EXPECT_TRUE(cuda::input_fits(both) && cuda::output_fits(both));
    expect_same_places(both, *as);
    if (testing::Test::HasFailure()) {
      FAIL() << "round " << round << ", rank " << rank << ": " << from.to_string() << " to "
             << to.to_string();
    }
  }
  EXPECT_GT(offered, 5'000);
}

TEST(FftAdvancedLayout, TransformsAlongAMiddleDimensionInAFewCalls) {
  // [3, 8, 5] along the 8: five at distance 1, three times.
  const extents order{40, 1, 5};
  const any_tensor t = view(dtype::c64, {3, 5, 8}, order);
  const auto as = cuda::advanced_layout_of(transform_of(fft::kind::c2c, 1, t, t));
  ASSERT_TRUE(as);
  EXPECT_EQ(as->batch, 5);
  EXPECT_EQ(as->in.stride, 5);
  EXPECT_EQ(as->outer_rank, 1);
  EXPECT_EQ(as->outer[0].n, 3);
}

TEST(FftAdvancedLayout, LeavesManyCallsToACopy) {
  const any_tensor t = view(dtype::c64, {100, 100, 8}, {800, 1, 100});
  EXPECT_FALSE(cuda::advanced_layout_of(transform_of(fft::kind::c2c, 1, t, t)));
}

TEST(FftAdvancedLayout, WantsRealHalvesSideBySide) {
  const any_tensor out = view(dtype::f16, {5, 2}, {2, 1});
  for (const std::int64_t step : {1, 2}) {
    fft::transform t;
    t.kind = fft::kind::r2c;
    t.precision = dtype::f16;
    t = fft::lay_out(t, view(dtype::f16, {8}, {step}), out);
    EXPECT_EQ(cuda::input_fits(t), step == 1);
    EXPECT_TRUE(cuda::output_fits(t));
  }
}

TEST(FftPlanCache, KeepsSixtyFourPlansOf256MiB) {
  const auto key_of = [](std::int64_t number) {
    fft::plan_key key;
    key.add(number);
    return key;
  };
  fft::plan_cache<int> plans;
  for (int i = 0; i < 65; ++i)
    plans.add(key_of(i), i, 1);
  EXPECT_EQ(plans.size(), 64u);
  plans.add(key_of(65), 65, std::int64_t{256} << 20);
  EXPECT_EQ(plans.size(), 1u);
}

TEST(FftPlanCache, TellsTransformsApart) {
  const any_tensor packed = view(dtype::c64, {4, 6}, {6, 1});
  const any_tensor padded = view(dtype::c64, {4, 6}, {8, 1});
  std::vector<fft::transform> different;
  for (const any_tensor& in : {packed, padded}) {
    for (const any_tensor& out : {packed, padded}) {
      for (const int rank : {1, 2}) {
        fft::transform t = transform_of(fft::kind::c2c, rank, in, out);
        different.push_back(t);
        t.precision = dtype::f64;
        different.push_back(t);
        t.direction = fft::direction::inverse;
        different.push_back(t);
      }
    }
  }
  for (std::size_t i = 0; i < different.size(); ++i) {
    for (std::size_t j = 0; j < different.size(); ++j) {
      fft::plan_key one;
      fft::plan_key other;
      one.add(different[i]);
      other.add(different[j]);
      EXPECT_EQ(one == other, i == j) << i << " and " << j;
    }
  }
}

}  // namespace
}  // namespace troupe
