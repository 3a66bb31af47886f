#include "request/aliasing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace troupe {
namespace {

constexpr std::int64_t elements = 512;

class Aliasing : public testing::Test {
 protected:
  [[nodiscard]] int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  /// A view of up to three dimensions within the elements, with strides of those given.
  [[nodiscard]] any_tensor some_view(const std::vector<std::int64_t>& strides) {
    for (;;) {
      std::array<std::int64_t, 3> extents{};
      std::array<std::int64_t, 3> steps{};
      const auto rank = static_cast<std::size_t>(1 + below(3));
      std::int64_t reach = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        extents[d] = below(12) == 0 ? 0 : 1 + below(6);
        steps[d] = strides[static_cast<std::size_t>(below(static_cast<int>(strides.size())))];
        reach += std::max<std::int64_t>(extents[d] - 1, 0) * steps[d];
      }
      if (reach >= elements) continue;
      const int first = below(static_cast<int>(elements - reach));
      return any_tensor::unowned(memory_.data() + std::size_t{4} * static_cast<std::size_t>(first),
                                 dtype::f32, shape(std::span(extents).first(rank)),
                                 std::span(steps).first(rank));
    }
  }

  [[nodiscard]] static bool has_stride_twice(const any_tensor& view) {
    const std::set<std::int64_t> strides(view.strides().begin(), view.strides().end());
    return strides.size() < view.strides().size();
  }

  /// By going through all of its elements.
  [[nodiscard]] static std::set<const std::byte*> addresses_of(const any_tensor& view) {
    std::set<const std::byte*> all;
    const auto go = [&](auto& self, int dimension, const std::byte* at) -> void {
      if (dimension == view.rank()) {
        all.insert(at);
        return;
      }
      for (std::int64_t i = 0; i < view.extent(dimension); ++i)
        self(self, dimension + 1, at + 4 * i * view.stride(dimension));
    };
    go(go, 0, view.address());
    return all;
  }

  std::mt19937 random_{20261124};
  std::array<std::byte, std::size_t{4} * elements> memory_{};
};

TEST_F(Aliasing, SharedElementsAreFoundAndOnlyThose) {
  // Blocks of one matrix, of one batch of matrices, of every other element, and strides that do not
  // nest.
  const std::vector<std::vector<std::int64_t>> lattices{{1, 16}, {1, 7, 63}, {2, 24}, {1, 3, 5}};
  int shared = 0;
  int apart_though_they_overlap = 0;
  for (int round = 0; round < 300'000; ++round) {
    const auto& strides = lattices[static_cast<std::size_t>(round) % lattices.size()];
    const any_tensor a = some_view(strides);
    const any_tensor b = some_view(strides);
    const auto of_a = addresses_of(a);
    const auto of_b = addresses_of(b);
    const bool expected =
        std::ranges::any_of(of_a, [&](const std::byte* at) { return of_b.contains(at); });
    const bool found = share_elements(a, b);
    ASSERT_EQ(found, share_elements(b, a)) << round;
    const bool nest = strides != lattices.back() && !has_stride_twice(a) && !has_stride_twice(b);
    if (nest) {
      ASSERT_EQ(found, expected) << round;
    }
    if (expected) {
      ASSERT_TRUE(found) << round;
      ++shared;
    } else if (!found && a.overlaps(b)) {
      ++apart_though_they_overlap;
    }
  }
  EXPECT_GT(shared, 10'000);
  EXPECT_GT(apart_though_they_overlap, 10'000);
}

}  // namespace
}  // namespace troupe
