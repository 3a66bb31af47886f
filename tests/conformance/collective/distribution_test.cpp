#include "conformance/collective/small_world.hpp"

namespace troupe::conformance {
namespace {

class CollectiveDistribution : public testing::TestWithParam<std::size_t> {
 protected:
  small_world w_{GetParam()};
  const std::size_t n_ = GetParam();

  std::vector<any_tensor> only(std::vector<any_tensor> of, std::size_t root) {
    for (std::size_t rank = 0; rank < of.size(); ++rank) {
      if (rank != root) of[rank] = {};
    }
    return of;
  }
};

TEST_P(CollectiveDistribution, CopiesEveryTypeBetweenRanks) {
  const auto n = static_cast<std::int64_t>(n_);
  const std::size_t root = n_ - 1;
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const auto small = w_.random(type, {13});
    const auto large = w_.random(type, {n, 13});
    const auto part = static_cast<std::size_t>(13 * size_of(type));
    std::vector<raw> s, l;
    for (std::size_t r = 0; r < n_; ++r) {
      s.push_back(w_.bytes_of(small, r));
      l.push_back(w_.bytes_of(large, r));
    }
    const auto to = w_.random(type, {13});
    w_.run(collective::broadcast{.x = only(small, root), .y = to, .root = n - 1}, type);
    for (std::size_t r = 0; r < n_; ++r)
      EXPECT_EQ(w_.bytes_of(to, r), s[root]);

    w_.run(collective::scatter{.x = only(large, root), .y = to, .root = n - 1}, type);
    for (std::size_t r = 0; r < n_; ++r)
      EXPECT_EQ(w_.bytes_of(to, r), part_of(l[root], r * part, part));

    const auto whole = w_.random(type, {n, 13});
    w_.run(collective::all_gather{.x = small, .y = whole}, type);
    for (std::size_t r = 0; r < n_; ++r) {
      for (std::size_t p = 0; p < n_; ++p)
        EXPECT_EQ(part_of(w_.bytes_of(whole, r), p * part, part), s[p]);
    }

    const auto gathered = w_.random(type, {n, 13});
    w_.run(collective::gather{.x = small, .y = only(gathered, root), .root = n - 1}, type);
    EXPECT_EQ(w_.bytes_of(gathered, root), w_.bytes_of(whole, 0));
  }
}

TEST_P(CollectiveDistribution, BroadcastsBetweenAnyViews) {
  const auto x = w_.random(dtype::i16, {4, 6});
  const auto y = w_.random(dtype::i16, {6, 4});
  std::vector<any_tensor> turned;
  for (const any_tensor& one : y)
    turned.push_back(one.transpose());
  w_.run(collective::broadcast{.x = only(x, 0), .y = turned}, dtype::i16);
  const any_tensor packed = w_.all.rank(n_ - 1).allocate(dtype::i16, {4, 6}).value();
  ASSERT_TRUE(w_.all.rank(n_ - 1).copy(turned[n_ - 1], packed).get_result());
  std::vector<any_tensor> copies(n_);
  copies[n_ - 1] = packed;
  EXPECT_EQ(w_.bytes_of(copies, n_ - 1), w_.bytes_of(x, 0));
  // The root's own tensor may be its copy.
  auto into = y;
  for (std::size_t r = 0; r < n_; ++r)
    into[r] = r == 0 ? x[0] : w_.all.rank(r).allocate(dtype::i16, {4, 6}).value();
  w_.run(collective::broadcast{.x = only(x, 0), .y = into}, dtype::i16);
  EXPECT_EQ(w_.bytes_of(into, n_ - 1), w_.bytes_of(x, 0));
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveDistribution, testing::Values(1, 2, 3));

}  // namespace
}  // namespace troupe::conformance
