#include "combining.hpp"
#include "vectors.hpp"

#include <algorithm>

namespace troupe::conformance {
namespace {

using primitives::combination;

void expect_reduction(dtype type, std::int64_t n, content with, combination op, bool wide,
                      bool as_reply) {
  scene s;
  s.name(case_name(type, n, with) + " " + name_of(op));
  const std::vector<dtype> to = types_of_result(type, op);
  if (wide && to.size() < 2) return;
  auto& x = s.vector(type, n, n % 2 == 0 ? 3 : 1);
  fill_to_combine(s, x, with, op);
  auto& result = s.vector(to[wide ? 1 : 0], 1);
  const scalar reply = s.run(
      primitives::reduce{.x = x.view, .result = as_reply ? any_tensor() : result.view, .op = op});
  const combined all = combine(type, bits_before(x), op);
  if (as_reply) {
    expect_number(reply, type, all, s.note());
  } else {
    EXPECT_EQ(reply, scalar());
    expect_element(result.view.type(), bits_now(s, result)[0], type, all, s.note());
  }
}

TEST(PrimitivesReduce, CombinesEveryType) {
  for (const dtype type : ordered_types) {
    for (const combination op : combinations) {
      for (const std::int64_t n : lengths) {
        for (const content with : {content::any, content::special, content::equal}) {
          expect_reduction(type, n, with, op, false, false);
          expect_reduction(type, n, with, op, true, false);
          expect_reduction(type, n, with, op, false, true);
        }
      }
      expect_reduction(type, long_length, content::any, op, true, false);
      expect_reduction(type, long_length, content::any, op, false, true);
    }
  }
}

TEST(PrimitivesReduce, AddsTheSameWayEachTime) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::bf16}) {
    scene s;
    auto& x = s.vector(type, long_length);
    const scalar first = s.run(primitives::reduce{.x = x.view});
    for (int round = 0; round < 5; ++round)
      EXPECT_EQ(s.run(primitives::reduce{.x = x.view}), first);
  }
}

TEST(PrimitivesReduce, WrapsAroundInSixtyFourBits) {
  scene s;
  auto& x = s.vector(dtype::u64, 3);
  fill_bits(x, {{{~std::uint64_t{0}, 0}}, {{5, 0}}, {{std::uint64_t{1} << 63, 0}}});
  EXPECT_EQ(s.run(primitives::reduce{.x = x.view}), scalar((std::uint64_t{1} << 63) + 4));
}

TEST(PrimitivesReduce, HasANumberForNoElements) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  scene s;
  const auto of_none = [&](dtype type, combination op) {
    return s.run(primitives::reduce{.x = s.vector(type, 0).view, .op = op});
  };
  EXPECT_EQ(of_none(dtype::f32, combination::sum), scalar(0.0));
  EXPECT_EQ(of_none(dtype::f32, combination::product), scalar(1.0));
  EXPECT_EQ(of_none(dtype::f32, combination::minimum), scalar(infinity));
  EXPECT_EQ(of_none(dtype::f64, combination::maximum), scalar(-infinity));
  EXPECT_EQ(of_none(dtype::e4m3, combination::maximum), scalar(-448.0));
  EXPECT_EQ(of_none(dtype::i8, combination::minimum), scalar(127));
  EXPECT_EQ(of_none(dtype::u16, combination::maximum), scalar(0u));
  EXPECT_EQ(of_none(dtype::boolean, combination::minimum), scalar(true));
}

TEST(PrimitivesReduce, RefusesWhatCannotHoldTheResult) {
  scene s;
  s.refuse(primitives::reduce{.x = s.vector(dtype::i8, 4).view,
                              .result = s.vector(dtype::i64, 1).view,
                              .op = combination::minimum},
           errc::type_mismatch, "result must be i8, as x is, for a minimum or maximum; it is i64");
  s.refuse(primitives::reduce{.x = s.vector(dtype::boolean, 4).view,
                              .result = s.vector(dtype::boolean, 1).view},
           errc::type_mismatch, "result must be i64 for a sum or product of booleans");
}

template <class R>
void expect_search(bool smallest) {
  for (const dtype type : ordered_types) {
    for (const content with : contents) {
      for (const std::int64_t n : lengths) {
        for (const bool as_reply : {false, true}) {
          scene s;
          s.name(case_name(type, n, with));
          auto& x = s.vector(type, n, as_reply ? 2 : 1);
          fill_bits(s, x, with);
          auto& result = s.vector(dtype::i64, 1);
          const std::int64_t reply =
              s.run(R{.x = x.view, .result = as_reply ? any_tensor() : result.view});
          const std::int64_t found = as_reply ? reply : integers_now(s, result)[0];
          EXPECT_EQ(found, first_extreme(type, bits_before(x), smallest)) << s.note();
          if (!as_reply) {
            EXPECT_EQ(reply, 0);
          }
        }
      }
    }
  }
}

TEST(PrimitivesReduce, FindsTheFirstSmallest) { expect_search<primitives::argmin>(true); }
TEST(PrimitivesReduce, FindsTheFirstLargest) { expect_search<primitives::argmax>(false); }

TEST(PrimitivesReduce, CombinesEachSegment) {
  for (const dtype type : ordered_types) {
    for (const combination op : combinations) {
      for (const std::int64_t n : lengths) {
        for (const content with : {content::any, content::special}) {
          scene s;
          s.name(case_name(type, n, with) + " " + name_of(op));
          const std::vector<dtype> to = types_of_result(type, op);
          auto& x = s.vector(type, n, n % 2 == 0 ? 3 : 1);
          fill_to_combine(s, x, with, op);
          const auto at = random_offsets(s, n);
          auto& offsets = integers(s, at, n % 3 == 0 ? 2 : 1);
          auto& y = s.vector(to[s.generator()() % to.size()],
                             static_cast<std::int64_t>(at.size()) - 1, n % 5 == 0 ? 2 : 1);
          s.run(primitives::segmented_reduce{
              .x = x.view, .offsets = offsets.view, .y = y.view, .op = op});
          const auto before = bits_before(x);
          const auto now = bits_now(s, y);
          for (std::size_t i = 0; i + 1 < at.size(); ++i) {
            const std::vector<element_bits> segment(before.begin() + at[i],
                                                    before.begin() + at[i + 1]);
            expect_element(y.view.type(), now[i], type, combine(type, segment, op), s.note());
          }
        }
      }
    }
  }
}

TEST(PrimitivesReduce, FailsForOffsetsThatAreOutOfOrderOrRange) {
  for (const std::vector<std::int64_t>& wrong : {std::vector<std::int64_t>{0, 5, 3, 10},
                                                 {0, 11},
                                                 {-1, 10},
                                                 {0, std::int64_t{1} << 62, 10}}) {
    scene s;
    auto& x = s.vector(dtype::f32, 10);
    auto& y = s.vector(dtype::f32, static_cast<std::int64_t>(wrong.size()) - 1);
    auto& offsets = integers(s, wrong);
    const auto answer =
        s.attempt(primitives::segmented_reduce{.x = x.view, .offsets = offsets.view, .y = y.view});
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_NE(answer.error().message.find("offsets["), std::string::npos) << answer.error().message;
  }
}

}  // namespace
}  // namespace troupe::conformance
