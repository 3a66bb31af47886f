#include "attention_cases.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

using attention_reference::attend;
using attention_reference::block;

struct factors {
  test_tensor *descale_q, *descale_k, *descale_v, *descale_s, *scale_s, *scale_o, *amax_s, *amax_o;

  explicit factors(scene& s) {
    for (test_tensor** one :
         {&descale_q, &descale_k, &descale_v, &descale_s, &scale_s, &scale_o, &amax_s, &amax_o})
      *one = &s.vector(dtype::f32, 1);
    s.fill(*descale_q, 0.5);
    s.fill(*descale_k, 4.0);
    s.fill(*descale_v, 0.25);
    s.fill(*descale_s, 1.0 / 256);
    s.fill(*scale_s, 256.0);
    s.fill(*scale_o, 32.0);
  }
  void give(dnn::attention_forward& r) const {
    r.fp8.descale_q = descale_q->view;
    r.fp8.descale_k = descale_k->view;
    r.fp8.descale_v = descale_v->view;
    r.fp8.descale_s = descale_s->view;
    r.fp8.scale_s = scale_s->view;
    if (r.o.type() == dtype::e4m3) r.fp8.scale_o = scale_o->view;
    r.fp8.amax_s = amax_s->view;
    r.fp8.amax_o = amax_o->view;
  }
};

void check(const attention_case& c, dtype result, bool masked_by_bias = false) {
  scene s;
  s.name(c.text());
  attention_stage stage(s, c, result);
  if (masked_by_bias) stage.mask_by_bias();
  const factors given(s);
  auto r = stage.forward();
  given.give(r);
  if (!s.run_if_offered(r)) return;
  auto& p = stage.problem();
  p.descale_scores = 2;
  p.scale_s = 256;
  p.descale_values = 0.25 / 256;
  const auto expected = attend(p);
  const double scale_o = result == dtype::e4m3 ? 32 : 1;
  const block o = stage.now(*stage.o, false);
  for (std::size_t i = 0; i < o.values.size(); ++i) {
    // A probability next to where rounding goes the other way may be rounded either way, and o, so
    // computed, again.
    const double size = expected.size_of_o.values[i] * scale_o;
    const double value = std::min(std::max(expected.o.values[i] * scale_o, -448.0), 448.0);
    const double limit =
        epsilon(dtype::e4m3) * size + epsilon(result) * std::abs(value) + smallest(result);
    ASSERT_NEAR(o.values[i], value, limit) << s.note();
  }
  // Exponentials are as far off as the differences of statistics and scores. Hopper's products of
  // fp8 are sums of some 13 bits, as in blaslt's tests.
  const double off = s.on_gpu() ? 0x1p-11 : 1e-5;
  const auto amax = [&](const test_tensor& t) { return s.elements_now(t)[0].real(); };
  EXPECT_NEAR(amax(*given.amax_s), expected.amax_s, off * expected.amax_s) << s.note();
  EXPECT_NEAR(amax(*given.amax_o), expected.amax_o, epsilon(dtype::e4m3) * expected.amax_o)
      << s.note();
  const block statistics = stage.plain_now(*stage.statistics);
  for (std::size_t i = 0; i < statistics.values.size(); ++i) {
    if (statistics.values[i] == expected.statistics.values[i]) continue;
    const double statistic = expected.statistics.values[i];
    const double limit = (s.on_gpu() ? off : 1e-4) * std::max(1.0, std::abs(statistic));
    ASSERT_NEAR(statistics.values[i], statistic, limit) << s.note();
  }
}

TEST(DnnAttentionForward, OfE4m3HasItsFactorsInEveryLayoutAndResultType) {
  for (const dtype result : {dtype::e4m3, dtype::f16, dtype::bf16}) {
    for (const head_layout layout : head_layouts) {
      for (const storage keys : {storage::plain, storage::packed, storage::paged}) {
        check({.type = dtype::e4m3,
               .s_kv = 20,
               .d = 16,
               .d_v = 16,
               .layout = layout,
               .keys = keys,
               .lengths = keys != storage::plain},
              result);
      }
    }
  }
}

TEST(DnnAttentionForward, OfE4m3IsTheDefinitionsForRandomCases) {
  std::mt19937_64 random(test_seed() + 2);
  for (int i = 0; i < 100 && !testing::Test::HasFailure(); ++i) {
    const attention_case c = attention_case::random(dtype::e4m3, random);
    check(c, random() % 2 == 0 ? dtype::e4m3 : dtype::bf16);
  }
}

TEST(DnnAttentionForward, OfE4m3IsTheDefinitionsForEveryOption) {
  const attention_case base{
      .type = dtype::e4m3, .h = 6, .h_k = 2, .h_v = 2, .s_q = 70, .s_kv = 150, .d = 32, .d_v = 32};
  std::vector<attention_case> all(9, base);
  all[1].right = 0;
  all[2].left = 10;
  all[2].right = 0;
  all[3].lengths = true;
  all[4].bias = std::array{true, true};
  all[5].alibi = true;
  all[5].right = 0;
  all[6].scale = 0.75;
  all[6].d_v = 48;
  all[7].keys = storage::paged;
  all[7].lengths = true;
  all[8].s_q = 1;
  all[8].keys = storage::paged;
  all[8].lengths = true;
  for (attention_case& c : all) {
    c.f32_bias = true;
    check(c, dtype::e4m3);
  }
  check(all[4], dtype::e4m3, true);
}

// Probabilities that e4m3 does not have are rounded to ones that it has, with the scale.
TEST(DnnAttentionForward, OfE4m3RoundsProbabilities) {
  attention_case c{.type = dtype::e4m3,
                   .b = 1,
                   .h = 1,
                   .h_k = 1,
                   .h_v = 1,
                   .s_q = 1,
                   .s_kv = 3,
                   .d = 16,
                   .d_v = 16};
  scene s;
  attention_stage stage(s, c, dtype::bf16);
  s.fill(*stage.q, 0.0);  // so each probability is 1/3
  s.fill(*stage.v, 1.0);
  if (!s.run_if_offered(stage.forward())) return;
  // 1/3 lies between 0.3125 and 0.34375, which is nearer.
  for (const number o : s.elements_now(*stage.o))
    EXPECT_EQ(o.real(), 3 * 0.34375);
}

}  // namespace
}  // namespace troupe::conformance
