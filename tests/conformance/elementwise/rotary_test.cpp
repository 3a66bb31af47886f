#include "named_cases.hpp"

#include <troupe/elementwise.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

using namespace elementwise_reference;
using elementwise::rotary_pairs;

struct rotary_case {
  extents size;  ///< batch…, s, heads, 2 · half
  extents strides;
};
const std::vector<rotary_case>& rotary_cases() {
  static const std::vector<rotary_case> all = {{{1, 1, 2}, {2, 2, 1}},
                                               {{2, 5, 3, 8}, {120, 24, 8, 1}},
                                               {{2, 5, 3, 6}, {90, 6, 30, 1}},
                                               {{3, 7, 1, 128}, {1000, 130, 130, 1}},
                                               {{2, 3, 5, 2, 4}, {300, 60, 10, 5, 1}},
                                               {{0, 2, 2}, {4, 2, 1}}};
  return all;
}

reals rotated(const reals& x, const extents& size, const reals& cos, const reals& sin,
              rotary_pairs pairs, double sign) {
  const std::size_t rank = size.size();
  const auto n = static_cast<std::size_t>(size[rank - 1]);
  const auto heads = static_cast<std::size_t>(size[rank - 2]);
  const auto positions = static_cast<std::size_t>(size[rank - 3]);
  reals y(x.size());
  for (std::size_t first = 0; first < x.size(); first += n) {
    const std::size_t position = first / n / heads % positions;
    for (std::size_t i = 0; i < n / 2; ++i) {
      const bool halves = pairs == rotary_pairs::halves;
      const std::size_t a = first + (halves ? i : 2 * i);
      const std::size_t b = first + (halves ? n / 2 + i : 2 * i + 1);
      const double c = cos[position * (n / 2) + i];
      const double d = sign * sin[position * (n / 2) + i];
      y[a] = x[a] * c - x[b] * d;
      y[b] = x[b] * c + x[a] * d;
    }
  }
  return y;
}

TEST(ElementwiseRotaryEmbedding, RotatesPairsAndBack) {
  for (const dtype type : norm_types) {
    for (const dtype table : {type, wide_type(type)}) {
      for (const rotary_case& c : rotary_cases()) {
        for (const rotary_pairs pairs : {rotary_pairs::halves, rotary_pairs::interleaved}) {
          for (const bool in_place : {false, true}) {
            scene s;
            name_case(s, type, c.size, in_place ? 1 : 0);
            const std::int64_t half = c.size.back() / 2;
            const std::int64_t positions = c.size[c.size.size() - 3];
            auto& x = s.tensor(type, c.size, c.strides);
            auto& cos = s.tensor(table, {positions, half}, {half + 1, 1});
            auto& sin = s.tensor(table, {positions, half}, {half, 1});
            auto& y = in_place ? s.again(x, x.view) : s.tensor(type, c.size, c.strides);
            const auto wanted = [&](double sign) {
              return rotated(content(x), c.size, content(cos), content(sin), pairs, sign);
            };
            s.run(elementwise::rotary_embedding{
                .x = x.view, .cos = cos.view, .sin = sin.view, .y = y.view, .pairs = pairs});
            expect_reals(s, y, wanted(1));
            s.run(elementwise::rotary_embedding_backward{
                .dy = x.view, .cos = cos.view, .sin = sin.view, .dx = y.view, .pairs = pairs});
            expect_reals(s, y, wanted(-1));
          }
        }
      }
    }
  }
}

TEST(ElementwiseRotaryEmbedding, RefusesAnOddNumberOfElements) {
  scene s;
  auto& x = s.tensor(dtype::f32, {2, 1, 5}, {5, 5, 1});
  auto& table = s.tensor(dtype::f32, {2, 2}, {2, 1});
  s.refuse(
      elementwise::rotary_embedding{.x = x.view, .cos = table.view, .sin = table.view, .y = x.view},
      errc::shape_mismatch);
}

}  // namespace
}  // namespace troupe::conformance
