#include "conformance/dnn/attention/attention_cases.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace troupe::conformance {
namespace {

using attention_reference::attend;
using attention_reference::block;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr dtype attention_types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};

dtype computed_in(scene& s, dtype type) {
  // cuDNN rounds probabilities to the operands' type.
  if (s.on_gpu() || type == dtype::f64) return type;
  return dtype::f32;
}

/// How far off the result of a case may be: an error of a score is one of its probability.
struct bounds {
  block o, statistics;
  std::int64_t terms;

  explicit bounds(const attention_reference::problem& p, const attention_reference::answer& a)
      : o(a.size_of_o), statistics(a.statistics), terms(p.q.size[3] + p.k.size[2]) {
    double most = 1;
    for (const double one : a.statistics.values) {
      if (one != -infinity) most = std::max(most, std::abs(one));
    }
    for (double& one : o.values)
      one *= most;
    for (double& one : statistics.values)
      one = most;
  }
};

void check_forward(const attention_case& c) {
  scene s;
  s.name(c.text());
  attention_stage stage(s, c);
  stage.look_at_dropout();
  if (!s.run_if_offered(stage.forward())) return;
  const auto expected = attend(stage.problem());
  const bounds off(stage.problem(), expected);
  const dtype compute = computed_in(s, c.type);
  expect_block(s, *stage.o, stage.now(*stage.o, false), expected.o, off.o, off.terms, compute);
  expect_block(s, *stage.statistics, stage.plain_now(*stage.statistics), expected.statistics,
               off.statistics, off.terms, compute);
}

TEST(DnnAttentionForward, IsTheDefinitionsForEveryTypeAndLayout) {
  for (const dtype type : attention_types) {
    for (const head_layout layout : head_layouts) {
      for (const storage queries : {storage::plain, storage::packed}) {
        for (const storage keys : {storage::plain, storage::packed, storage::paged}) {
          check_forward({.type = type,
                         .layout = layout,
                         .keys = keys,
                         .queries = queries,
                         .lengths = queries != storage::plain || keys != storage::plain});
        }
      }
    }
  }
}

TEST(DnnAttentionForward, IsTheDefinitionsForEveryOption) {
  for (const dtype type : attention_types) {
    const attention_case base{.type = type, .h = 6, .h_k = 2, .h_v = 2, .s_q = 70, .s_kv = 150};
    std::vector<attention_case> all(25, base);
    all[1].h_k = all[1].h_v = 1;
    all[2].h_k = 3;
    all[3].right = 0;
    all[4].right = 0;
    all[4].diagonal = dnn::diagonal::bottom_right;
    all[5].left = 10;
    all[5].right = 0;
    all[6].left = 3;
    all[6].right = 5;
    all[6].diagonal = dnn::diagonal::bottom_right;
    all[7].left = 0;
    all[8].lengths = true;
    all[8].right = 0;
    all[8].diagonal = dnn::diagonal::bottom_right;
    all[9].bias = std::array{true, true};
    all[10].bias = std::array{false, true};
    all[11].bias = std::array{true, false};
    all[11].f32_bias = true;
    all[12].bias = std::array{false, false};
    all[12].right = 0;
    all[13].alibi = true;
    all[13].right = 0;
    all[14].dropout = 0.5;
    all[15].scale = 0.75;
    all[15].d_v = 24;
    all[16].s_q = 1;
    all[16].lengths = true;
    all[16].keys = storage::paged;
    all[17].s_q = 150;
    all[17].s_kv = 70;
    all[17].right = 0;
    all[17].diagonal = dnn::diagonal::bottom_right;
    all[18].s_q = all[18].s_kv = 1;
    all[18].bias = std::array{true, true};
    all[19].soft_cap = 2;
    all[19].bias = std::array{false, true};
    all[20].soft_cap = 50;
    all[20].alibi = true;
    all[20].right = 0;
    all[21].sinks = true;
    all[21].lengths = true;
    all[21].right = 0;
    all[22].sinks = true;
    all[22].f32_bias = true;
    all[22].left = 10;
    all[22].dropout = 0.5;
    all[23].allowed = std::array{true, false, false};
    all[23].lengths = true;
    all[23].keys = storage::paged;
    all[24].allowed = std::array{false, true, true};
    all[24].soft_cap = 1;
    all[24].sinks = true;
    for (const attention_case& c : all)
      check_forward(c);
  }
}

TEST(DnnAttentionForward, IsTheDefinitionsForRandomCases) {
  std::mt19937_64 random(test_seed());
  const int cases = scene().as_on_gpu() ? 150 : 400;  // there most have a plan of their own
  for (int i = 0; i < cases && !testing::Test::HasFailure(); ++i)
    check_forward(
        attention_case::random(attention_types[random() % std::size(attention_types)], random));
}

TEST(DnnAttentionForward, GivesZeroAndMinusInfinityWhereAQueryAttendsToNothing) {
  // Ten queries, four keys: the last six of causal attention from the bottom right have none.
  attention_case c{.b = 1, .s_q = 10, .s_kv = 4};
  c.right = 0;
  c.diagonal = dnn::diagonal::bottom_right;
  scene s;
  s.name(c.text());
  attention_stage stage(s, c);
  if (!s.run_if_offered(stage.forward())) return;
  const block o = stage.now(*stage.o, false);
  const block statistics = stage.plain_now(*stage.statistics);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(statistics(0, 0, i, 0) == -infinity, i < 6) << i;
    for (std::int64_t x = 0; x < 8; ++x)
      EXPECT_EQ(o(0, 0, i, x) == 0, i < 6) << i;
  }
}

TEST(DnnAttentionForward, TakesScoresThatExponentialsOfWouldOverflow) {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16}) {
    scene s;
    attention_case c{.type = type, .b = 1, .h = 1, .h_k = 1, .h_v = 1, .s_q = 1, .s_kv = 3};
    c.scale = 100;
    attention_stage stage(s, c);
    s.fill(*stage.q, 8.0);
    s.fill(*stage.k, std::vector<number>(24, 1.0));
    std::vector<number> keys(24, 8.0);
    std::fill(keys.begin() + 8, keys.begin() + 16, -8.0);
    s.fill(*stage.k, keys);
    std::vector<number> values(24, 1.0);
    std::fill(values.begin() + 16, values.end(), 3.0);
    s.fill(*stage.v, values);
    if (!s.run_if_offered(stage.forward())) continue;
    for (const number o : s.elements_now(*stage.o))
      EXPECT_EQ(o, 2.0);
  }
}

// Sequences of one request are what each is by itself, bit for bit where cuDNN has no part in it.
void check_same_bits(attention_case c) {
  scene s;
  s.name(c.text());
  attention_stage stage(s, c);
  if (stage.by_cudnn()) GTEST_SKIP() << "cuDNN chooses a kernel for each shape";
  s.run(stage.forward());
  const block o = stage.now(*stage.o, false);
  const block statistics = stage.plain_now(*stage.statistics);
  const auto& p = stage.problem();
  for (std::int64_t b = 0; b < c.b; ++b) {
    const auto n = static_cast<std::size_t>(b);
    attention_case alone = c;
    alone.b = 1;
    alone.s_q = p.lengths_q[n];
    alone.s_kv = p.lengths_kv[n];
    alone.keys = alone.queries = storage::plain;
    alone.lengths = false;
    scene other;
    other.name(alone.text());
    attention_stage single(other, alone);
    const auto give = [&](test_tensor& t, const block& from) {
      std::vector<number> values;
      for (std::int64_t head = 0; head < t.view.extent(1); ++head) {
        for (std::int64_t i = 0; i < t.view.extent(2); ++i) {
          for (std::int64_t x = 0; x < t.view.extent(3); ++x)
            values.emplace_back(from(b, head, i, x));
        }
      }
      other.fill(t, values);
    };
    give(*single.q, p.q);
    give(*single.k, p.k);
    give(*single.v, p.v);
    other.run(single.forward());
    const block o_alone = single.plain_now(*single.o);
    const block statistics_alone = single.plain_now(*single.statistics);
    for (std::int64_t head = 0; head < c.h; ++head) {
      for (std::int64_t i = 0; i < alone.s_q; ++i) {
        EXPECT_EQ(statistics(b, head, i, 0), statistics_alone(0, head, i, 0)) << s.note();
        for (std::int64_t x = 0; x < c.d_v; ++x)
          ASSERT_EQ(o(b, head, i, x), o_alone(0, head, i, x)) << s.note();
      }
    }
  }
}

TEST(DnnAttentionForward, OfPackedAndPagedSequencesIsThatOfEachByItself) {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16}) {
    for (const storage queries : {storage::plain, storage::packed}) {
      for (const storage keys : {storage::plain, storage::packed, storage::paged}) {
        for (const std::int64_t d : {16, 20}) {
          attention_case c{.type = type,
                           .b = 4,
                           .h = 4,
                           .s_q = 70,
                           .s_kv = 300,
                           .d = d,
                           .d_v = d,
                           .layout = head_layout::tokens_first,
                           .keys = keys,
                           .queries = queries,
                           .page_size = 16,
                           .lengths = true};
          c.right = 0;
          c.diagonal = dnn::diagonal::bottom_right;
          check_same_bits(c);
        }
      }
    }
  }
}

/// Fills a tensor with rows of another one, from row `skip` on.
void give_rows(scene& s, test_tensor& t, const block& from, std::int64_t skip) {
  std::vector<number> values;
  for (std::int64_t head = 0; head < t.view.extent(1); ++head) {
    for (std::int64_t i = 0; i < t.view.extent(2); ++i) {
      for (std::int64_t x = 0; x < t.view.extent(3); ++x)
        values.emplace_back(from(0, head, i + skip, x));
    }
  }
  s.fill(t, values);
}

TEST(DnnAttentionForward, OfAChunkIsThatPartOfTheWhole) {
  // Chunked prefill and decoding: causal from the bottom right.
  attention_case c{.b = 1, .h = 4, .s_q = 40, .s_kv = 40, .d = 16, .d_v = 16};
  c.right = 0;
  c.diagonal = dnn::diagonal::bottom_right;
  scene s;
  attention_stage whole(s, c);
  if (!s.run_if_offered(whole.forward())) return;
  const block expected = whole.now(*whole.o, false);
  for (const auto& [first, last] : {std::pair{0, 16}, std::pair{16, 39}, std::pair{39, 40}}) {
    scene part;
    attention_case of_part = c;
    of_part.s_q = last - first;
    of_part.s_kv = last;
    attention_stage stage(part, of_part);
    give_rows(part, *stage.q, whole.problem().q, first);
    give_rows(part, *stage.k, whole.problem().k, 0);
    give_rows(part, *stage.v, whole.problem().v, 0);
    part.run(stage.forward());
    const block o = stage.now(*stage.o, false);
    for (std::int64_t head = 0; head < c.h; ++head) {
      for (std::int64_t i = first; i < last; ++i) {
        for (std::int64_t x = 0; x < c.d_v; ++x)
          EXPECT_NEAR(o(0, head, i - first, x), expected(0, head, i, x), 1e-5);
      }
    }
  }
}

// Whichever rows are computed together: a chunk lies in other tiles than the whole does.
TEST(DnnAttentionForward, OfAQueryDependsOnItsOwnKeysAlone) {
  attention_case c{.type = dtype::f32, .b = 1, .s_q = 300, .s_kv = 300, .d = 16, .d_v = 16};
  c.left = 150;
  c.right = 0;
  c.diagonal = dnn::diagonal::bottom_right;
  scene s;
  attention_stage whole(s, c);
  s.run(whole.forward());
  const block expected = whole.now(*whole.o, false);
  constexpr std::int64_t first = 170;
  constexpr std::int64_t last = 270;
  scene part;
  attention_case of_part = c;
  of_part.s_q = last - first;
  of_part.s_kv = last;
  attention_stage stage(part, of_part);
  give_rows(part, *stage.q, whole.problem().q, first);
  give_rows(part, *stage.k, whole.problem().k, 0);
  give_rows(part, *stage.v, whole.problem().v, 0);
  part.run(stage.forward());
  const block o = stage.now(*stage.o, false);
  for (std::int64_t head = 0; head < c.h; ++head) {
    for (std::int64_t i = first; i < last; ++i) {
      for (std::int64_t x = 0; x < c.d_v; ++x)
        ASSERT_EQ(o(0, head, i - first, x), expected(0, head, i, x)) << "query " << i;
    }
  }
}

TEST(DnnAttentionForward, UsesNothingOfBiasBeyondTheMasks) {
  for (const dtype type : attention_types) {
    attention_case c{.type = type, .s_q = 20, .s_kv = 30};
    c.right = 0;
    c.bias = std::array{true, true};
    scene s;
    s.name(c.text());
    attention_stage stage(s, c);
    std::vector<number> values = stage.bias->values;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto query = static_cast<std::int64_t>(i) / c.s_kv % c.s_q;
      if (static_cast<std::int64_t>(i) % c.s_kv > query)
        values[i] = std::numeric_limits<double>::quiet_NaN();
    }
    s.fill(*stage.bias, values);
    if (!s.run_if_offered(stage.forward())) continue;
    const auto expected = attend(stage.problem());
    const bounds off(stage.problem(), expected);
    expect_block(s, *stage.o, stage.now(*stage.o, false), expected.o, off.o, off.terms,
                 computed_in(s, type));
  }
}

TEST(DnnAttentionForward, GivesZeroAndMinusInfinityWhereABiasMasksAllKeys) {
  for (const dtype type : attention_types) {
    for (const attention_case& c : attention_case::with_masking_bias(type)) {
      scene s;
      s.name(c.text());
      attention_stage stage(s, c);
      stage.mask_by_bias();
      if (!s.run_if_offered(stage.forward())) continue;
      const auto expected = attend(stage.problem());
      const bounds off(stage.problem(), expected);
      const dtype compute = computed_in(s, type);
      expect_block(s, *stage.o, stage.now(*stage.o, false), expected.o, off.o, off.terms, compute);
      expect_block(s, *stage.statistics, stage.plain_now(*stage.statistics), expected.statistics,
                   off.statistics, off.terms, compute);
    }
  }
}

void check_dropout(dtype type) {
  // One key in each of many: o is 0 or v / (1 − p).
  attention_case c{.type = type, .b = 4, .h = 8, .h_k = 8, .h_v = 8, .s_q = 200, .s_kv = 1};
  c.dropout = 0.3;
  const auto run = [&](std::uint64_t seed, std::int64_t offset) {
    scene s;
    attention_stage stage(s, c);
    s.fill(*stage.v, 1.0);
    auto r = stage.forward();
    r.dropout.seed = seed;
    r.dropout.offset = offset;
    std::vector<bool> kept;
    if (!s.run_if_offered(r)) return kept;
    for (const number o : s.elements_now(*stage.o)) {
      EXPECT_TRUE(o.real() == 0 || std::abs(o.real() - 1 / 0.7) < 1e-5 + 2 * epsilon(type)) << o;
      kept.push_back(o.real() != 0);
    }
    return kept;
  };
  const auto first = run(1, 0);
  if (first.empty()) return;
  const auto count = static_cast<double>(std::count(first.begin(), first.end(), true)) / 8;
  EXPECT_NEAR(count / 6400, 0.7, 5 * std::sqrt(0.21 / 6400));
  EXPECT_EQ(first, run(1, 0));
  EXPECT_NE(first, run(2, 0));
  EXPECT_NE(first, run(1, 64));
}

TEST(DnnAttentionForward, DropsAsOftenAsAskedAndTheSameForOneSeed) {
  for (const dtype type : {dtype::f32, dtype::f16})
    check_dropout(type);
}

}  // namespace
}  // namespace troupe::conformance
