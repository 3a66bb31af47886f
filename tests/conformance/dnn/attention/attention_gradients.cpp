#include "attention_cases.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::conformance {
namespace {

using attention_reference::attend;
using attention_reference::block;
using attention_reference::differentiate;
using attention_reference::gradients;

constexpr dtype types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};

void check_backward(const attention_case& c, bool masked_by_bias = false) {
  scene s;
  s.name(c.text());
  attention_stage stage(s, c);
  if (masked_by_bias) stage.mask_by_bias();
  stage.look_at_dropout();
  stage.add_gradients(attend(stage.problem()));
  if (!s.run_if_offered(stage.backward())) return;
  const gradients g =
      differentiate(stage.problem(), stage.given_o(), stage.given_d_o(), stage.given_statistics());
  // An error of a score, whose size is that of a statistic, is one of its probability.
  double most = 1;
  for (const double one : stage.given_statistics().values) {
    if (std::isfinite(one)) most = std::max(most, std::abs(one));
  }
  const auto terms = static_cast<std::int64_t>(
      most * static_cast<double>(c.d + c.d_v + stage.problem().k.size[2] + c.h * c.s_q));
  const dtype compute = s.on_gpu() || c.type == dtype::f64 ? c.type : dtype::f32;
  const auto expect = [&](const test_tensor& t, bool of_keys, const block& expected,
                          const block& size) {
    expect_block(s, t, stage.now(t, of_keys), expected, size, terms, compute);
  };
  expect(*stage.d_q, false, g.d_q, g.size_q);
  expect(*stage.d_k, true, g.d_k, g.size_k);
  expect(*stage.d_v, true, g.d_v, g.size_v);
  if (stage.d_bias != nullptr) {
    expect_block(s, *stage.d_bias, stage.plain_now(*stage.d_bias), g.d_bias, g.size_bias, terms,
                 compute);
  }
  if (stage.d_sinks != nullptr) {
    block now(g.d_sinks.size);
    const auto values = s.elements_now(*stage.d_sinks);
    std::ranges::transform(values, now.values.begin(), [](number n) { return n.real(); });
    expect_block(s, *stage.d_sinks, now, g.d_sinks, g.size_sinks, terms * c.b, compute);
  }
}

TEST(DnnAttentionBackward, IsTheDefinitionsForEveryTypeAndLayout) {
  for (const dtype type : types) {
    for (const head_layout layout : head_layouts) {
      for (const storage queries : {storage::plain, storage::packed}) {
        for (const storage keys : {storage::plain, storage::packed}) {
          check_backward({.type = type,
                          .layout = layout,
                          .keys = keys,
                          .queries = queries,
                          .lengths = queries != storage::plain || keys != storage::plain});
        }
      }
    }
  }
}

TEST(DnnAttentionBackward, IsTheDefinitionsForEveryOption) {
  for (const dtype type : types) {
    const attention_case base{.type = type, .h = 6, .h_k = 2, .h_v = 2, .s_q = 70, .s_kv = 150};
    std::vector<attention_case> all(18, base);
    all[1].h_k = all[1].h_v = 1;
    all[2].h_k = 3;
    all[3].right = 0;
    all[4].right = 0;
    all[4].diagonal = dnn::diagonal::bottom_right;
    all[4].s_q = 160;
    all[5].left = 10;
    all[5].right = 0;
    all[6].lengths = true;
    all[7].bias = std::array{true, true};
    all[8].bias = std::array{false, true};
    all[8].lengths = true;
    all[9].bias = std::array{true, false};
    all[9].f32_bias = true;
    all[10].alibi = true;
    all[10].right = 0;
    all[11].dropout = 0.5;
    all[12].scale = 0.75;
    all[12].d_v = 24;
    all[13].soft_cap = 2;
    all[13].bias = std::array{true, true};
    all[14].soft_cap = 50;
    all[14].alibi = true;
    all[14].right = 0;
    all[15].sinks = true;
    all[15].lengths = true;
    all[16].allowed = std::array{true, false, true};
    all[16].f32_bias = true;
    all[16].sinks = true;
    all[17].allowed = std::array{true, false, false};
    all[17].dropout = 0.5;
    all[17].soft_cap = 1;
    for (const attention_case& c : all)
      check_backward(c);
  }
}

TEST(DnnAttentionBackward, IsTheDefinitionsForRandomCases) {
  std::mt19937_64 random(test_seed() + 1);
  const int cases = scene().as_on_gpu() ? 100 : 300;  // there most have a plan of their own
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
    attention_case c = attention_case::random(types[random() % std::size(types)], random);
    if (c.keys == storage::paged) c.keys = storage::plain;
    check_backward(c);
  }
}

TEST(DnnAttentionBackward, IsZeroWhereABiasMasksAllKeys) {
  for (const dtype type : types) {
    for (const attention_case& c : attention_case::with_masking_bias(type))
      check_backward(c, true);
  }
}

// There it is within its tensors that such a sequence is read.
TEST(DnnAttentionBackward, OnAGpuGivesNanToASequenceWhoseLengthLeadsOutside) {
  for (const dtype type : types) {
    for (const bool of_keys : {false, true}) {
      scene s;
      if (!s.as_on_gpu()) return;
      const attention_case c{.type = type, .s_kv = 8, .lengths = true};
      s.name(c.text());
      attention_stage stage(s, c);
      stage.add_gradients(attend(stage.problem()));
      for (test_tensor* const t : {stage.q, stage.k, stage.v, stage.o_in, stage.d_o})
        s.fill(*t, 0.5);  // also what belongs to no sequence
      const auto r = stage.backward();
      stage.fill_content(of_keys ? r.mask.lengths_kv : r.mask.lengths_q, {4.0, 9.0});
      stage.fill_content(of_keys ? r.mask.lengths_q : r.mask.lengths_kv, {4.0, 4.0});
      if (!s.run_if_offered(r)) return;
      for (const test_tensor* const t : {stage.d_q, stage.d_k, stage.d_v}) {
        const auto all = s.elements_now(*t);
        for (std::size_t i = 0; i < all.size(); ++i)
          ASSERT_EQ(std::isnan(all[i].real()), i >= all.size() / 2) << i << s.note();
      }
    }
  }
}

/// Σ d_o · o, whose derivative by an operand is that operand's gradient.
double loss(const attention_reference::problem& p, const block& d_o) {
  const block o = attend(p).o;
  double sum = 0;
  for (std::size_t i = 0; i < o.values.size(); ++i)
    sum += o.values[i] * d_o.values[i];
  return sum;
}

TEST(DnnAttentionBackward, IsWhatDifferencesOfForwardAre) {
  std::vector<attention_case> all(6, {.type = dtype::f64,
                                      .b = 1,
                                      .h = 4,
                                      .h_k = 2,
                                      .h_v = 1,
                                      .s_q = 3,
                                      .s_kv = 5,
                                      .d = 3,
                                      .d_v = 2});
  all[1].right = 0;
  all[1].diagonal = dnn::diagonal::bottom_right;
  all[1].alibi = true;
  all[2].bias = std::array{false, true};
  all[2].left = 1;
  all[3].dropout = 0.4;
  all[4].soft_cap = 0.5;
  all[4].bias = std::array{true, true};
  all[4].sinks = true;
  all[5].sinks = true;
  all[5].dropout = 0.4;
  all[5].allowed = std::array{false, true, true};
  for (const attention_case& c : all) {
    scene s;
    s.name(c.text());
    attention_stage stage(s, c);
    stage.add_gradients(attend(stage.problem()));
    if (!s.run_if_offered(stage.backward())) continue;
    attention_reference::problem p = stage.problem();
    const auto compare = [&](block& by, const block& gradient) {
      constexpr double step = 1e-5;
      for (std::size_t i = 0; i < by.values.size(); ++i) {
        const double before = by.values[i];
        by.values[i] = before + step;
        const double up = loss(p, stage.given_d_o());
        by.values[i] = before - step;
        const double down = loss(p, stage.given_d_o());
        by.values[i] = before;
        EXPECT_NEAR(gradient.values[i], (up - down) / (2 * step), 1e-8) << s.note();
      }
    };
    compare(p.q, stage.now(*stage.d_q, false));
    compare(p.k, stage.now(*stage.d_k, true));
    compare(p.v, stage.now(*stage.d_v, true));
    if (stage.d_bias != nullptr) compare(p.bias, stage.plain_now(*stage.d_bias));
    if (stage.d_sinks != nullptr) {
      block now(p.sinks.size);
      const auto values = s.elements_now(*stage.d_sinks);
      std::ranges::transform(values, now.values.begin(), [](number n) { return n.real(); });
      compare(p.sinks, now);
    }
  }
}

TEST(DnnAttentionBackward, UsesTheDropoutMaskOfForward) {
  // With one key and v = 1, the gradient of v is how often it was kept, as is o.
  for (const dtype type : {dtype::f32, dtype::f16}) {
    attention_case c{.type = type, .b = 2, .h = 2, .h_k = 2, .h_v = 2, .s_q = 50, .s_kv = 1};
    c.dropout = 0.3;
    scene s;
    attention_stage stage(s, c);
    s.fill(*stage.v, 1.0);
    stage.add_gradients(attend(stage.problem()));
    if (!s.run_if_offered(stage.forward())) continue;
    const block o = stage.now(*stage.o, false);
    s.fill(*stage.d_o, 1.0);
    if (!s.run_if_offered(stage.backward())) continue;
    const block d_v = stage.now(*stage.d_v, true);
    for (std::int64_t b = 0; b < c.b; ++b) {
      for (std::int64_t head = 0; head < c.h; ++head) {
        double kept = 0;
        for (std::int64_t i = 0; i < c.s_q; ++i)
          kept += o(b, head, i, 0);
        EXPECT_NEAR(d_v(b, head, 0, 0), kept, 1e-4 + 4 * epsilon(type) * kept);
      }
    }
  }
}

TEST(DnnAttentionBackward, GivesTheSameBitsOnEveryRun) {
  for (const dtype type : types) {
    attention_case c{.type = type, .b = 2, .h = 8, .h_k = 2, .h_v = 2, .s_q = 200, .s_kv = 200};
    scene s;
    attention_stage stage(s, c);
    stage.add_gradients(attend(stage.problem()));
    auto r = stage.backward();
    r.deterministic = true;
    std::vector<std::vector<std::byte>> first;
    for (int run = 0; run < 3; ++run) {
      if (!s.run_if_offered(r)) break;
      std::vector<std::vector<std::byte>> bytes;
      for (const test_tensor* t : {stage.d_q, stage.d_k, stage.d_v})
        bytes.push_back(s.bytes_now(*t));
      if (run == 0) first = bytes;
      EXPECT_EQ(bytes, first);
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
