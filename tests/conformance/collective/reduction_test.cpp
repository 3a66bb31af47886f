#include "conformance/collective/small_world.hpp"

#include <troupe/memory/fill.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <optional>

namespace troupe::conformance {
namespace {

using collective::reduction;

constexpr reduction every_op[] = {reduction::sum, reduction::prod, reduction::min, reduction::max,
                                  reduction::avg};

// The reference: one element of all ranks, in rank order, in the type that the page says.
template <class T, class Wide>
T combined(reduction op, const std::vector<float>& factors, const std::vector<T>& of) {
  const auto scaled = [&](std::size_t r) {
    return static_cast<Wide>(of[r]) * static_cast<Wide>(factors[r % factors.size()]);
  };
  Wide sum = scaled(0);
  for (std::size_t r = 1; r < of.size(); ++r) {
    const Wide x = scaled(r);
    if (op == reduction::sum || op == reduction::avg) sum = sum + x;
    if constexpr (!requires { sum.real(); }) {
      if (op == reduction::prod) sum = sum * x;
      if (op == reduction::min) sum = std::isnan(double(sum)) || sum < x ? sum : x;
      if (op == reduction::max) sum = std::isnan(double(sum)) || sum > x ? sum : x;
    }
  }
  if (op == reduction::avg) sum = sum / static_cast<Wide>(static_cast<float>(of.size()));
  return static_cast<T>(sum);
}
template <std::integral T, class>
T combined(reduction op, const std::vector<float>&, const std::vector<T>& of) {
  T all = of[0];
  for (std::size_t r = 1; r < of.size(); ++r) {
    using bits = std::uint64_t;
    if (op == reduction::sum || op == reduction::avg) all = T(bits(all) + bits(of[r]));
    if (op == reduction::prod) all = T(bits(all) * bits(of[r]));
    if (op == reduction::min) all = std::min(all, of[r]);
    if (op == reduction::max) all = std::max(all, of[r]);
  }
  return op == reduction::avg ? T(all / T(of.size())) : all;
}

template <class T, class Wide = T>
std::vector<std::byte> wanted_as(reduction op, const std::vector<float>& factors,
                                 const std::vector<std::vector<std::byte>>& from) {
  std::vector<std::byte> all(from[0].size());
  for (std::size_t at = 0; at < all.size(); at += sizeof(T)) {
    std::vector<T> of(from.size());
    for (std::size_t r = 0; r < from.size(); ++r)
      std::memcpy(static_cast<void*>(&of[r]), from[r].data() + at, sizeof(T));
    const T one = combined<T, Wide>(op, factors, of);
    std::memcpy(all.data() + at, &one, sizeof(T));
  }
  return all;
}

// One factor for all ranks, or one for each.
std::vector<std::byte> wanted(dtype type, reduction op, const std::vector<float>& factors,
                              const std::vector<std::vector<std::byte>>& from) {
  switch (type) {
    case dtype::f64:
      return wanted_as<double>(op, factors, from);
    case dtype::f32:
      return wanted_as<float, float>(op, factors, from);
    case dtype::f16:
      return wanted_as<f16, float>(op, factors, from);
    case dtype::bf16:
      return wanted_as<bf16, float>(op, factors, from);
    case dtype::e4m3:
      return wanted_as<e4m3, float>(op, factors, from);
    case dtype::e5m2:
      return wanted_as<e5m2, float>(op, factors, from);
    case dtype::c64:
      return wanted_as<std::complex<float>>(op, factors, from);
    case dtype::c128:
      return wanted_as<std::complex<double>>(op, factors, from);
    case dtype::i8:
      return wanted_as<std::int8_t>(op, factors, from);
    case dtype::u8:
    case dtype::boolean:
      return wanted_as<std::uint8_t>(op, factors, from);
    case dtype::i16:
      return wanted_as<std::int16_t>(op, factors, from);
    case dtype::u16:
      return wanted_as<std::uint16_t>(op, factors, from);
    case dtype::i32:
      return wanted_as<std::int32_t>(op, factors, from);
    case dtype::u32:
      return wanted_as<std::uint32_t>(op, factors, from);
    case dtype::i64:
      return wanted_as<std::int64_t>(op, factors, from);
    case dtype::u64:
      return wanted_as<std::uint64_t>(op, factors, from);
  }
  return {};
}

bool is_there(dtype type, reduction op) {
  if (is_complex(type)) return op == reduction::sum || op == reduction::avg;
  if (type == dtype::boolean) return op == reduction::min || op == reduction::max;
  return op != reduction::prod || (type != dtype::e4m3 && type != dtype::e5m2);
}

std::vector<std::vector<std::byte>> all_bytes(small_world& w, const std::vector<any_tensor>& of) {
  std::vector<std::vector<std::byte>> all;
  for (std::size_t k = 0; k < of.size(); ++k)
    all.push_back(w.bytes_of(of, k));
  return all;
}

class CollectiveReduction : public testing::TestWithParam<std::size_t> {
 protected:
  small_world w_{GetParam()};
};

TEST_P(CollectiveReduction, CombinesEveryTypeInRankOrder) {
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    for (const reduction op : every_op) {
      // More than two slots of the staging memory.
      const auto x = w_.random(type, {1, 1031});
      const auto y = w_.random(type, {1, 1031});
      if (!is_there(type, op)) {
        w_.refuse(collective::all_reduce{.x = x, .y = y, .op = op}, errc::type_mismatch,
                  "is not there for");
        continue;
      }
      const bool scales =
          (is_float(type) || is_complex(type)) && (op == reduction::sum || op == reduction::avg);
      const float factor = scales ? 0.75F : 1.0F;
      const auto from = all_bytes(w_, x);
      const auto result = wanted(type, op, {factor}, from);
      w_.run(collective::all_reduce{.x = x, .y = y, .op = op, .factor = factor}, type);
      for (std::size_t rank = 0; rank < w_.all.size(); ++rank)
        EXPECT_EQ(w_.bytes_of(y, rank), result) << to_string(type) << " op " << int(op);
      w_.run(collective::all_reduce{.x = x, .y = x, .op = op, .factor = factor}, type);
      for (std::size_t rank = 0; rank < w_.all.size(); ++rank)
        EXPECT_EQ(w_.bytes_of(x, rank), result) << "in place, " << to_string(type);
    }
  }
}

// By the algorithms of long inputs, in several pieces.
TEST_P(CollectiveReduction, CombinesEveryTypeInSlices) {
  for (const std::string algorithm : {"two_shot", "sliced"}) {
    small_world w(GetParam(), 16 << 10, algorithm);
    for (int t = 0; t < dtype_count; ++t) {
      const auto type = static_cast<dtype>(t);
      const reduction op = type == dtype::boolean ? reduction::max : reduction::avg;
      for (const std::int64_t count : {5, 7001}) {
        const auto x = w.random(type, {count});
        const auto y = algorithm == "sliced" ? x : w.random(type, {count});
        const auto result = wanted(type, op, {1}, all_bytes(w, x));
        w.run(collective::all_reduce{.x = x, .y = y, .op = op}, type);
        for (std::size_t rank = 0; rank < w.all.size(); ++rank)
          EXPECT_EQ(w.bytes_of(y, rank), result) << to_string(type) << ' ' << algorithm;
      }
    }
  }
}

TEST_P(CollectiveReduction, GivesOneRankTheResultOrEachItsPart) {
  const auto n = static_cast<std::int64_t>(w_.all.size());
  for (int t = 0; t < dtype_count; ++t) {
    const auto type = static_cast<dtype>(t);
    const reduction op = type == dtype::boolean ? reduction::max : reduction::sum;
    const auto x = w_.random(type, {n, 17});
    const auto from = all_bytes(w_, x);
    const auto result = wanted(type, op, {1}, from);
    const auto part = w_.random(type, {17});
    w_.run(collective::reduce_scatter{.x = x, .y = part, .op = op}, type);
    for (std::size_t rank = 0; rank < w_.all.size(); ++rank) {
      const auto got = w_.bytes_of(part, rank);
      EXPECT_EQ(std::memcmp(got.data(), result.data() + rank * got.size(), got.size()), 0);
    }
    const std::int64_t root = n - 1;
    auto y = w_.random(type, {n, 17});
    for (std::int64_t rank = 0; rank < root; ++rank)
      y[static_cast<std::size_t>(rank)] = {};
    w_.run(collective::reduce{.x = x, .y = y, .op = op, .root = root}, type);
    EXPECT_EQ(w_.bytes_of(y, static_cast<std::size_t>(root)), result);
  }
}

TEST_P(CollectiveReduction, ScalesByANumberOfEachRank) {
  const auto n = static_cast<std::int64_t>(w_.all.size());
  const std::vector<float> numbers{0.75F, -3.0F, 0.1F, 2.5F};
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::c64, dtype::c128}) {
    const bool is_double = type == dtype::f64 || type == dtype::c128;
    const auto factors = w_.all.allocate(is_double ? dtype::f64 : dtype::f32, {}).value();
    for (std::size_t rank = 0; rank < w_.all.size(); ++rank) {
      const memory::fill number{.to = factors[rank], .value = double{numbers[rank]}};
      ASSERT_TRUE(w_.all.rank(rank).ask(number).get_result());
    }
    // In pieces through staging memory, and longer than what passes through it.
    for (const std::int64_t count : {3001, 60'000}) {
      const auto x = w_.random(type, {n, count});
      const auto result = wanted(type, reduction::sum, numbers, all_bytes(w_, x));
      const auto y = w_.random(type, {n, count});
      const auto part = w_.random(type, {1, count});
      w_.run(collective::all_reduce{.x = x, .y = y, .factors = factors}, type);
      w_.run(collective::reduce_scatter{.x = x, .y = part, .factors = factors}, type);
      w_.run(collective::all_reduce{.x = x, .y = x, .factors = factors}, type);
      for (std::size_t rank = 0; rank < w_.all.size(); ++rank) {
        EXPECT_EQ(w_.bytes_of(y, rank), result) << to_string(type);
        EXPECT_EQ(w_.bytes_of(x, rank), result) << "in place, " << to_string(type);
        const auto got = w_.bytes_of(part, rank);
        EXPECT_EQ(std::memcmp(got.data(), result.data() + rank * got.size(), got.size()), 0);
      }
    }
  }
}

// Longer than what passes through staging memory out of place, and of more than two ranks in two
// steps; and several items at once.
TEST_P(CollectiveReduction, TakesEveryLengthAndSeveralItems) {
  for (const std::int64_t count : {0, 1, 3, 1025, 200'003}) {
    auto x = w_.random(dtype::f32, {count});
    auto y = w_.random(dtype::f32, {count});
    const auto second = w_.random(dtype::bf16, {3, 5});
    const auto from = all_bytes(w_, x);
    const auto other = all_bytes(w_, second);
    x.insert(x.end(), second.begin(), second.end());
    const bool in_place = count % 2 == 0;
    const auto to = in_place ? second : w_.random(dtype::bf16, {3, 5});
    y.insert(y.end(), to.begin(), to.end());
    w_.run(collective::all_reduce{.x = x, .y = y}, dtype::f32);
    for (std::size_t rank = 0; rank < w_.all.size(); ++rank) {
      EXPECT_EQ(w_.bytes_of(y, rank), wanted(dtype::f32, reduction::sum, {1}, from)) << count;
      EXPECT_EQ(w_.bytes_of(y, rank + w_.all.size()),
                wanted(dtype::bf16, reduction::sum, {1}, other));
    }
  }
}

TEST_P(CollectiveReduction, LetsANanWin) {
  const auto x = w_.all.tensors<float>({2}).value();
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> values{rank + 1 == x.size() ? nan : 1.0F, rank == 0 ? nan : 2.0F};
    ASSERT_TRUE(w_.all.rank(rank).copy(values, x[rank]).get_result());
  }
  for (const reduction op : {reduction::min, reduction::max}) {
    const auto y = w_.all.tensors<float>({2}).value();
    w_.run(collective::all_reduce{.x = x, .y = y, .op = op}, dtype::f32);
    std::vector<float> got(2);
    ASSERT_TRUE(w_.all.rank(0).copy(y[0], got).get_result());
    EXPECT_TRUE(std::isnan(got[0]) && std::isnan(got[1]));
  }
}

TEST_P(CollectiveReduction, TakesAnyOrderOfDimensionsThatAllRanksShare) {
  const auto x = w_.random(dtype::i32, {5, 7});
  const auto y = w_.random(dtype::i32, {5, 7});
  std::vector<any_tensor> xt, yt;
  for (std::size_t rank = 0; rank < x.size(); ++rank) {
    xt.push_back(x[rank].transpose());
    yt.push_back(y[rank].transpose());
  }
  w_.run(collective::all_reduce{.x = xt, .y = yt}, dtype::i32);
  EXPECT_EQ(w_.bytes_of(y, 0), wanted(dtype::i32, reduction::sum, {1}, all_bytes(w_, x)));
  if (w_.all.size() > 1) {
    xt[1] = w_.all.rank(1).allocate(dtype::i32, {7, 5}).value();
    w_.refuse(collective::all_reduce{.x = xt, .y = yt}, errc::layout_unsupported, "x[1] must");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectiveReduction, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace troupe::conformance
