#include "attention_cases.hpp"

#include <cmath>

namespace troupe::conformance {
namespace {

using dnn::attention_backward;
using dnn::attention_forward;

TEST(DnnAttentionForward, RefusesWhatDoesNotGoTogether) {
  scene s;
  attention_stage stage(s, {.h = 4, .lengths = true});
  const attention_forward good = stage.forward();
  auto r = good;
  const auto& three_heads = s.tensor(dtype::f32, {2, 3, 7, 8}, {168, 56, 8, 1});
  r.k = three_heads.view;
  s.refuse(r, errc::shape_mismatch,
           "h must be a multiple of h_k, so that each head of k serves "
           "equally many of q; h is 4, h_k is 3");
  r = good;
  r.v = three_heads.view;
  s.refuse(r, errc::shape_mismatch, "h_v is 3");
  r = good;
  r.bias = s.tensor(dtype::f32, {2, 3, 5, 7}, {105, 35, 7, 1}).view;
  s.refuse(r, errc::shape_mismatch,
           "bias must be [1 or b, 1 or h, s_q, s_kv] with b = 2, h = 4, s_q = 5, s_kv = 7");
  r = good;
  r.mask.allowed = s.tensor(dtype::boolean, {2, 3, 1, 7}, {21, 7, 7, 1}).view;
  s.refuse(r, errc::shape_mismatch,
           "mask.allowed must be [1 or b, 1 or h, 1 or s_q, s_kv] with b = 2, h = 4, s_q = 5, "
           "s_kv = 7");
  r.mask.allowed = s.tensor(dtype::u8, {2, 4, 1, 7}, {28, 7, 7, 1}).view;
  s.refuse(r, errc::type_mismatch, "mask.allowed");
  r = good;
  r.soft_cap = -1;
  s.refuse(r, errc::invalid_argument, "soft_cap");
  r = good;
  r.sinks = s.vector(dtype::f32, 3).view;
  s.refuse(r, errc::shape_mismatch, "sinks");
  r.sinks = s.vector(dtype::f64, 4).view;
  s.refuse(r, errc::type_mismatch, "sinks");
  r = good;
  r.dropout.probability = 1;
  s.refuse(r, errc::invalid_argument, "dropout.probability must be less than 1; it is 1");
  r = good;
  r.dropout.probability = 0.5;
  r.dropout.offset = std::int64_t{1} << 62;
  s.refuse(r, errc::size_overflow, "dropout.offset must leave room for 280 words");
  r = good;
  r.mask.left = -2;
  s.refuse(r, errc::invalid_argument, "mask.left");
  r = good;
  r.packed.longest_q = 5;
  s.refuse(r, errc::invalid_argument, "packed.longest_q");
  r = good;
  r.pages.k = s.tensor(dtype::i32, {2, 2}, {2, 1}).view;
  s.refuse(r, errc::invalid_argument, "pages.v");
  r = good;
  r.fp8.scale_s = s.vector(dtype::f32, 1).view;
  s.refuse(r, errc::invalid_argument, "scale_s");
  r = good;
  r.o = r.q;
  s.refuse(r, errc::aliasing);
  r = good;
  r.mask.lengths_q = s.vector(dtype::i64, 2).view;
  s.refuse(r, errc::type_mismatch, "mask.lengths_q");
}

TEST(DnnAttentionForward, RefusesPackedSequencesAndPagesWithoutLengths) {
  for (const storage keys : {storage::packed, storage::paged}) {
    scene s;
    attention_stage stage(s, {.keys = keys, .lengths = true});
    auto r = stage.forward();
    r.mask.lengths_kv = any_tensor();
    s.refuse(r, errc::invalid_argument,
             keys == storage::packed ? "mask.lengths_kv must be given because packed.offsets_k is"
                                     : "mask.lengths_kv must be given because pages.k is");
  }
  scene s;
  attention_stage stage(s, {.queries = storage::packed, .lengths = true});
  auto r = stage.forward();
  r.mask.lengths_q = any_tensor();
  s.refuse(r, errc::invalid_argument, "mask.lengths_q must be given because packed.offsets_q is");
  r = stage.forward();
  r.packed.longest_q = 4;
  s.refuse(r, errc::shape_mismatch,
           "statistics must be [2, 2, 4, 1] because packed.longest_q is 4");
}

TEST(DnnAttentionForward, RefusesScaleOWhereOIsNotE4m3) {
  scene s;
  attention_stage stage(s, {.type = dtype::e4m3}, dtype::f16);
  auto r = stage.forward();
  r.fp8.scale_o = s.vector(dtype::f32, 1).view;
  s.refuse(r, errc::invalid_argument, "fp8.scale_o must not be given because o is f16, not e4m3");
}

TEST(DnnAttentionBackward, RefusesAGradientOfBiasWithoutBias) {
  scene s;
  attention_stage stage(s, {.bias = std::array{true, true}});
  stage.add_gradients(attend(stage.problem()));
  auto r = stage.backward();
  r.bias = any_tensor();
  s.refuse(r, errc::invalid_argument, "dbias");
}

// Content of memory is checked when the request runs, if possible.
TEST(DnnAttentionForward, OnTheCpuRefusesWhatLeadsOutsideItsTensors) {
  const auto refuse = [](storage keys, auto change, std::string_view text) {
    scene s;
    if (s.as_on_gpu()) return;
    s.keep_layouts();
    attention_stage stage(s, {.b = 1, .keys = keys, .lengths = true});
    const auto r = stage.forward();
    const auto fill = [&](const any_tensor& view, const std::vector<number>& values) {
      stage.fill_content(view, values);
    };
    change(r, fill);
    const auto answer = s.attempt(r);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, errc::invalid_argument);
    EXPECT_NE(answer.error().message.find(text), std::string::npos) << answer.error().message;
  };
  refuse(
      storage::plain, [](const auto& r, auto fill) { fill(r.mask.lengths_q, {6.0}); },
      "mask.lengths_q[0] must be from 0 to 5; it is 6");
  refuse(
      storage::plain, [](const auto& r, auto fill) { fill(r.mask.lengths_kv, {-1.0}); },
      "mask.lengths_kv[0] must be from 0 to 7; it is -1");
  refuse(
      storage::packed,
      [](const auto& r, auto fill) {
        fill(r.mask.lengths_kv, {1.0});
        fill(r.packed.offsets_v, {1e6, 1e6});
      },
      "packed.offsets_v[0] must leave room in v");
  refuse(
      storage::paged,
      [](const auto& r, auto fill) {
        fill(r.mask.lengths_kv, {7.0});
        fill(r.pages.k, {0.0, 100.0});
      },
      "pages.k[0, 1] must be a page of k, from 0 to 3; it is 100");
}

// There it is within its tensors that such a sequence is read and written.
TEST(DnnAttentionForward, OnAGpuGivesNanToASequenceThatLeadsOutsideItsTensors) {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16}) {
    const auto check = [&](attention_case c, auto change) {
      scene s;
      if (!s.as_on_gpu()) return;
      c.type = type;
      c.lengths = true;
      c.b = 2;
      s.name(c.text());
      s.keep_layouts();
      attention_stage stage(s, c);
      for (test_tensor* const t : {stage.q, stage.k, stage.v})
        s.fill(*t, 0.5);  // also what belongs to no sequence as yet
      const auto r = stage.forward();
      change(r, [&](const any_tensor& view, const std::vector<number>& values) {
        stage.fill_content(view, values);
      });
      if (!s.run_if_offered(r)) return;
      const auto o = stage.plain_now(*stage.o);
      const auto statistics = stage.plain_now(*stage.statistics);
      for (std::int64_t head = 0; head < c.h; ++head) {
        for (std::int64_t i = 0; i < c.s_q; ++i) {
          EXPECT_EQ(std::isnan(statistics(0, head, i, 0)), false) << s.note();
          EXPECT_EQ(std::isnan(statistics(1, head, i, 0)), true) << s.note();
          for (std::int64_t x = 0; x < c.d_v; ++x) {
            EXPECT_EQ(std::isnan(o(0, head, i, x)), false) << s.note();
            EXPECT_EQ(std::isnan(o(1, head, i, x)), true) << s.note();
          }
        }
      }
    };
    check({}, [](const auto& r, auto fill) { fill(r.mask.lengths_q, {3.0, 6.0}); });
    check({}, [](const auto& r, auto fill) { fill(r.mask.lengths_kv, {2.0, -1.0}); });
    check({.keys = storage::packed}, [](const auto& r, auto fill) {
      fill(r.mask.lengths_kv, {1.0, 1.0});
      fill(r.packed.offsets_v, {0.0, 1e6, 1e6});
    });
    check({.keys = storage::paged}, [](const auto& r, auto fill) {
      fill(r.mask.lengths_kv, {4.0, 7.0});
      fill(r.pages.k, {0.0, 100.0, 0.0, 100.0});
    });
  }
}

}  // namespace
}  // namespace troupe::conformance
