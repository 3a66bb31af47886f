#include "conformance/collective/small_world.hpp"

namespace troupe::conformance {
namespace {

class CollectiveExchange : public testing::TestWithParam<std::size_t> {
 protected:
  small_world w_{GetParam()};
  const std::size_t n_ = GetParam();
};

TEST_P(CollectiveExchange, GivesEachRankItsPartOfEveryRank) {
  const auto n = static_cast<std::int64_t>(n_);
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const auto large = w_.random(type, {n, 13});
    const auto whole = w_.random(type, {n, 13});
    const auto part = static_cast<std::size_t>(13 * size_of(type));
    std::vector<raw> l;
    for (std::size_t r = 0; r < n_; ++r)
      l.push_back(w_.bytes_of(large, r));
    w_.run(collective::all_to_all{.x = large, .y = whole}, type);
    for (std::size_t r = 0; r < n_; ++r) {
      for (std::size_t p = 0; p < n_; ++p)
        EXPECT_EQ(part_of(w_.bytes_of(whole, r), p * part, part), part_of(l[p], r * part, part));
    }

    // Rank p sends p + r elements to rank r.
    std::vector<std::int64_t> counts;
    for (std::size_t k = 0; k < n_ * n_; ++k)
      counts.push_back(static_cast<std::int64_t>(k / n_ + k % n_));
    w_.run(collective::all_to_allv{.x = large, .y = whole, .counts = counts}, type);
    const auto element = static_cast<std::size_t>(size_of(type));
    for (std::size_t r = 0; r < n_; ++r) {
      std::size_t at = 0;
      for (std::size_t p = 0; p < n_; ++p) {
        std::size_t from = 0;
        for (std::size_t before = 0; before < r; ++before)
          from += (p + before) * element;
        const std::size_t count = (p + r) * element;
        EXPECT_EQ(part_of(w_.bytes_of(whole, r), at, count), part_of(l[p], from, count));
        at += count;
      }
    }
  }
  w_.run(collective::barrier{}, dtype::u8);
}

// Each rank sends to the next one, transposed, and the first one within itself.
TEST_P(CollectiveExchange, CopiesWhateverIsNamed) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const auto x = w_.random(type, {5, 3});
    const auto y = w_.random(type, {3, 5});
    const auto within = w_.random(type, {5, 3});
    std::vector<any_tensor> from{x[0].transpose()}, to{within[0].transpose()};
    for (std::size_t r = 0; r < n_; ++r) {
      from.push_back(x[r].transpose());
      to.push_back(y[(r + 1) % n_]);
    }
    w_.run(collective::exchange{.x = w_.all.by_rank(from), .y = w_.all.by_rank(to)}, type);
    EXPECT_EQ(w_.bytes_of(within, 0), w_.bytes_of(x, 0));
    const auto element = static_cast<std::size_t>(size_of(type));
    for (std::size_t r = 0; r < n_; ++r) {
      const raw sent = w_.bytes_of(x, r), got = w_.bytes_of(y, (r + 1) % n_);
      for (std::size_t i = 0; i < 15; ++i) {
        EXPECT_EQ(part_of(got, (i % 3 * 5 + i / 3) * element, element),
                  part_of(sent, i * element, element));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveExchange, testing::Values(1, 2, 3));

TEST(CollectiveRefusal, OfAnExchangeNamesTheEndThatIsWrong) {
  small_world w(2);
  const auto x = w.random(dtype::f32, {4});
  const auto y = w.random(dtype::f32, {4});
  const auto ints = w.random(dtype::i32, {4});
  const auto pair = w.random(dtype::f32, {2, 4});
  const any_tensor host = w.all.rank(0).allocate_host(dtype::f32, {4}).value();
  using collective::exchange;
  const auto& by_rank = [&](auto... some) { return w.all.by_rank({some...}); };
  w.refuse(exchange{}, errc::invalid_argument, "x must hold a tensor per rank for each item");
  w.refuse(exchange{.x = x, .y = by_rank(y[0])}, errc::invalid_argument,
           "x must hold one tensor for each item; item 0 has 2");
  w.refuse(exchange{.x = by_rank(x[0], x[1]), .y = by_rank(y[1])}, errc::invalid_argument,
           "x and y must hold equally many tensors; they hold 4 and 2");
  w.refuse(exchange{.x = by_rank(x[0]), .y = by_rank(ints[1])}, errc::type_mismatch,
           "y[1] must have the type of x[0], f32; it has i32");
  w.refuse(exchange{.x = by_rank(x[0]), .y = by_rank(pair[1])}, errc::shape_mismatch, "y[1] must");
  w.refuse(exchange{.x = by_rank(x[0], y[1]), .y = by_rank(y[1], y[0])}, errc::aliasing, "y[1]");
  w.refuse(exchange{.x = by_rank(host), .y = by_rank(y[1])}, errc::foreign_buffer,
           "is in host memory");
}

TEST(CollectiveRefusal, OfFactorsNamesTheOneThatIsWrong) {
  small_world w(2);
  const auto x = w.random(dtype::f32, {4});
  const auto y = w.random(dtype::f32, {4});
  const auto ints = w.random(dtype::i32, {4});
  using collective::all_reduce;
  const auto scalars = w.random(dtype::f32, {1});
  w.refuse(all_reduce{.x = ints, .y = ints, .factors = scalars}, errc::invalid_argument,
           "factors must not be given");
  w.refuse(all_reduce{.x = x, .y = y, .factors = {scalars[0]}}, errc::invalid_argument,
           "factors must hold a tensor per rank");
  w.refuse(all_reduce{.x = x, .y = y, .factor = 2, .factors = scalars}, errc::invalid_argument,
           "factor must be 1");
  w.refuse(all_reduce{.x = x, .y = y, .factors = y}, errc::shape_mismatch,
           "factors[0] must have one element");
  w.refuse(all_reduce{.x = x, .y = y, .factors = w.random(dtype::f64, {1})}, errc::type_mismatch,
           "factors[0] must be f32, because x[0] is f32; it is f64");
}

TEST(CollectiveRefusal, NamesTheTensorAndTheRuleOfEachOperation) {
  small_world w(2);
  const auto x = w.random(dtype::f32, {4});
  const auto y = w.random(dtype::f32, {4});
  w.refuse(collective::broadcast{.x = {x[0], any_tensor()}, .y = y, .root = 2},
           errc::invalid_argument, "root must be a rank, 0 to 1; it is 2");
  w.refuse(collective::broadcast{.x = x, .y = y}, errc::invalid_argument,
           "x[1] must not be given: only rank 0, the root, has one");
  w.refuse(collective::all_gather{.x = x, .y = y}, errc::shape_mismatch,
           "y[0] must have 8 elements");
  w.refuse(collective::all_to_allv{.x = x, .y = y, .counts = {1, 2, 3}}, errc::invalid_argument,
           "counts must hold 2 × 2 numbers");
  w.refuse(collective::all_to_allv{.x = x, .y = y, .counts = {1, -2, 3, 0}}, errc::invalid_argument,
           "counts[1] must be 0");
  w.refuse(collective::all_to_allv{.x = x, .y = y, .counts = {1, 4, 0, 0}}, errc::shape_mismatch,
           "x[0] must have at least 5 elements");
}

TEST(CollectiveRefusal, NamesTheTensorAndTheRule) {
  small_world w(2);
  const auto x = w.random(dtype::f32, {4});
  const auto y = w.random(dtype::f32, {4});
  using collective::all_reduce;
  w.refuse(all_reduce{.x = {x[0]}, .y = y}, errc::invalid_argument,
           "x must hold a tensor per rank");
  w.refuse(all_reduce{.y = y}, errc::invalid_argument, "x must hold a tensor per rank");
  w.refuse(all_reduce{.x = {x[1], x[0]}, .y = y}, errc::foreign_buffer,
           "x[0] must be on device 0, which is rank 0; it belongs to device 1");
  w.refuse(all_reduce{.x = {x[0], any_tensor()}, .y = y}, errc::invalid_argument, "x[1]");
  const any_tensor host = w.all.rank(0).allocate_host(dtype::f32, {4}).value();
  w.refuse(all_reduce{.x = {host, x[1]}, .y = y}, errc::foreign_buffer, "is in host memory");
  w.refuse(all_reduce{.x = {x[0], w.random(dtype::f32, {5})[1]}, .y = y}, errc::shape_mismatch,
           "x[1] must have the extents of the other ranks");
  w.refuse(all_reduce{.x = {x[0], w.random(dtype::i32, {4})[1]}, .y = y}, errc::type_mismatch,
           "x[1] must have the type of the other ranks, f32; it has i32");
  w.refuse(all_reduce{.x = x, .y = w.random(dtype::f32, {5})}, errc::shape_mismatch, "y[0] must");
  w.refuse(all_reduce{.x = x, .y = {x[0], y[1]}, .factor = 1.0 / 0.0}, errc::invalid_argument,
           "factor");
  const auto ints = w.random(dtype::i32, {4});
  w.refuse(all_reduce{.x = ints, .y = ints, .factor = 2}, errc::invalid_argument,
           "factor must be 1");
  const auto pair = w.random(dtype::f32, {2, 4});
  std::vector<any_tensor> one, shifted;
  for (const any_tensor& t : pair) {
    const any_tensor flat = t.reshape({8}).value();
    one.push_back(flat.slice(0, 0, 4).value());
    shifted.push_back(flat.slice(0, 2, 6).value());
  }
  w.refuse(all_reduce{.x = one, .y = shifted}, errc::aliasing, "y[0]");
  std::vector<any_tensor> twice = y;
  twice.insert(twice.end(), y.begin(), y.end());
  std::vector<any_tensor> inputs = x;
  inputs.insert(inputs.end(), one.begin(), one.end());
  w.refuse(all_reduce{.x = inputs, .y = twice}, errc::aliasing, "y[0]");

  w.all.rank(1).release(y[1]);
  w.refuse(all_reduce{.x = x, .y = y}, errc::stale_buffer, "y is stale");
  auto frozen = w.random(dtype::f32, {4});
  frozen[1] = w.all.rank(1).allocate(dtype::f32, {4}, initial::zero, placement::own).value();
  ASSERT_TRUE(w.all.rank(1).freeze(frozen[1]).get_result());
  w.refuse(all_reduce{.x = x, .y = frozen}, errc::frozen_buffer, "frozen");
  w.run(all_reduce{.x = frozen, .y = w.random(dtype::f32, {4})}, dtype::f32);

  const auto alone = w.all.rank(0).ask(all_reduce{.x = x, .y = x}).get_result();
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().code, errc::unsupported);
}

}  // namespace
}  // namespace troupe::conformance
