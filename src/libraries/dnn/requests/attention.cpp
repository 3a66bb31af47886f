#include "libraries/dnn/requests/attention_sizes.hpp"
#include "libraries/dnn/requests/rules.hpp"

#include <troupe/dnn/attention.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::dnn {
namespace {

using enum dtype;

template <class R>
void heads_fit(argument_checks& check, const R& r) {
  if (!check.good()) return;
  const attention_sizes s = sizes_of(r);
  const auto divides = [&](std::string_view name, std::string_view tensor, std::int64_t n) {
    check.rule(n > 0 ? s.heads % n == 0 : s.heads == 0, errc::shape_mismatch, [&] {
      return fmt::format(
          "h must be a multiple of {}, so that each head of {} serves equally many of q; h is {}, "
          "{} is {}",
          name, tensor, s.heads, name, n);
    });
  };
  divides("h_k", "k", s.key_heads);
  divides("h_v", "v", s.value_heads);
}

template <class R>
void lengths_given(argument_checks& check, const R& r) {
  check.rule(!packs_queries(r) || !r.lengths_q.null(), errc::invalid_argument, [&] {
    return std::string("lengths_q must be given because offsets_q is; it is not given");
  });
  check.rule((!packs_keys(r) && !has_pages(r)) || !r.lengths_kv.null(), errc::invalid_argument,
             [&] {
               return fmt::format("lengths_kv must be given because {} is; it is not given",
                                  packs_keys(r) ? "offsets_k" : "table_k");
             });
}

template <class R>
void bias_fits(argument_checks& check, const R& r) {
  if (!check.good() || r.bias.null()) return;
  const attention_sizes s = sizes_of(r);
  const auto is = [&](int at, std::int64_t whole) {
    return r.bias.extent(at) == whole || r.bias.extent(at) == 1;
  };
  check.rule(
      is(0, s.batch) && is(1, s.heads) && r.bias.extent(2) == s.s_q && r.bias.extent(3) == s.s_kv,
      errc::shape_mismatch, [&] {
        return fmt::format(
            "bias must be [1 or b, 1 or h, s_q, s_kv] with b = {}, h = {}, s_q = {}, "
            "s_kv = {}; it is {}",
            s.batch, s.heads, s.s_q, s.s_kv, r.bias.to_string());
      });
}

template <class R>
void statistics_fit(argument_checks& check, const R& r) {
  if (!check.good() || r.statistics.null() || !packs_queries(r)) return;
  const attention_sizes s = sizes_of(r);
  check.rule(r.statistics.extent(2) == s.s_q, errc::shape_mismatch, [&] {
    return fmt::format("statistics must be [{}, {}, {}, 1] because {} is {}; it is {}", s.batch,
                       s.heads, s.s_q, r.longest_q > 0 ? "longest_q" : "q's number of tokens",
                       s.s_q, r.statistics.to_string());
  });
}

template <class R>
void dropout_fits(argument_checks& check, const R& r) {
  check.rule(r.dropout < 1, errc::invalid_argument,
             [&] { return fmt::format("dropout must be less than 1; it is {}", r.dropout); });
  if (!check.good() || r.dropout == 0) return;
  const std::int64_t words = sizes_of(r).scores();
  check.rule(words <= longest_stream && r.offset <= longest_stream - words, errc::size_overflow,
             [&] {
               return fmt::format(
                   "offset must leave room for {} words within the {} of the stream; it is "
                   "{}",
                   words, longest_stream, r.offset);
             });
}

struct attention_symbols {
  extent b, h, h_k, h_v, s_q, s_kv, d, d_v, t_q, t_kv, bias_b, bias_h;

  template <class R>
  explicit attention_symbols(description<R>& of)
      : b(of.size("b")),
        h(of.size("h")),
        h_k(of.size("h_k")),
        h_v(of.size("h_v")),
        s_q(of.size("s_q")),
        s_kv(of.size("s_kv")),
        d(of.size("d")),
        d_v(of.size("d_v")),
        t_q(of.size("t_q")),
        t_kv(of.size("t_kv")),
        bias_b(of.size("bias_b")),
        bias_h(of.size("bias_h")) {}
};

template <class R>
void describe_masks(description<R>& d, const attention_symbols& n) {
  d.value("scale", &R::scale, "factor of the scores; 0 stands for 1/√d").finite();
  d.value("diagonal", &R::diagonal, "where the diagonal ends that bounds are counted from");
  d.value("left", &R::left, "keys before the diagonal that a query attends to; −1: all")
      .at_least(-1);
  d.value("right", &R::right, "keys behind the diagonal; −1: all, 0: causal").at_least(-1);
  d.reads("lengths_q", &R::lengths_q, {n.b}, "queries of each sequence").optional();
  d.reads("lengths_kv", &R::lengths_kv, {n.b}, "keys of each sequence").optional();
  d.reads("bias", &R::bias, {n.bias_b, n.bias_h, n.s_q, n.s_kv}, "added to the scores").optional();
}

template <class R>
void describe_dropout(description<R>& d) {
  d.value("alibi", &R::alibi, "adds slope · (j − c) to the scores");
  d.value("dropout", &R::dropout, "probability of dropping a probability").range(0, 1);
  d.value("seed", &R::seed, "which stream dropout draws from");
  d.value("offset", &R::offset, "where in it, in words of 32 bits").at_least(0);
}

template <class R>
void describe_packing(description<R>& d, const attention_symbols& n) {
  d.reads("offsets_q", &R::offsets_q, {n.b + 1}, "where packed sequences begin in q").optional();
  d.reads("offsets_k", &R::offsets_k, {n.b + 1}, "where packed sequences begin in k").optional();
  d.reads("offsets_v", &R::offsets_v, {n.b + 1}, "where packed sequences begin in v")
      .given_where(d.given(&R::offsets_k));
  d.reads("offsets_o", &R::offsets_o, {n.b + 1}, "where packed sequences begin in o")
      .given_where(d.given(&R::offsets_q));
  d.value("longest_q", &R::longest_q, "bound of lengths_q of packed sequences; 0: all tokens")
      .at_least(0)
      .only_where(d.given(&R::offsets_q));
  d.value("longest_kv", &R::longest_kv, "bound of lengths_kv of packed sequences; 0: all tokens")
      .at_least(0)
      .only_where(d.given(&R::offsets_k));
  d.same_type({&R::lengths_q, &R::lengths_kv}, {i32});
  d.same_type({&R::offsets_q, &R::offsets_k, &R::offsets_v, &R::offsets_o}, {i64});
}

template <class R>
void describe_attention_rules(description<R>& d) {
  d.rule("h is a multiple of h_k and of h_v", heads_fit<R>);
  d.rule("packed sequences and pages come with lengths", lengths_given<R>);
  d.rule("bias is [1 or b, 1 or h, s_q, s_kv]", bias_fits<R>);
  d.rule("statistics of packed sequences are [b, h, longest_q, 1]", statistics_fit<R>);
  d.rule("dropout is less than 1, and the stream reaches as far as it draws", dropout_fits<R>);
}

void scale_o_fits(argument_checks& check, const attention_forward& r) {
  check.rule(r.scale_o.null() || r.o.type() == e4m3, errc::invalid_argument, [&] {
    return fmt::format("scale_o must not be given because o is {}, not e4m3",
                       to_string(r.o.type()));
  });
}

}  // namespace

void attention_forward::describe(description<attention_forward>& d) {
  using R = attention_forward;
  const attention_symbols n(d);
  const extent pages_k = d.size("pages_k");
  const extent pages_v = d.size("pages_v");
  const extent page_size = d.size("page_size");
  const extent per_sequence = d.size("n");
  const condition packed_q = d.given(&R::offsets_q);
  const condition packed_k = d.given(&R::offsets_k);
  const condition paged = d.given(&R::table_k);
  const condition fp8 = d.is(&R::q, {e4m3});
  d.about("Attention: o = softmax(scale · q · kᵀ + masks) · v.",
          "Vaswani et al., \"Attention Is All You Need\", 2017; cuDNN documentation, Scaled Dot "
          "Product Attention");
  d.reads("q", &R::q, {n.b, n.h, n.s_q, n.d}, "queries").shape_where(packed_q, {n.t_q, n.h, n.d});
  d.reads("k", &R::k, {n.b, n.h_k, n.s_kv, n.d}, "keys")
      .shape_where(packed_k, {n.t_kv, n.h_k, n.d})
      .shape_where(paged, {pages_k, n.h_k, page_size, n.d});
  d.reads("v", &R::v, {n.b, n.h_v, n.s_kv, n.d_v}, "values")
      .shape_where(packed_k, {n.t_kv, n.h_v, n.d_v})
      .shape_where(paged, {pages_v, n.h_v, page_size, n.d_v});
  d.writes("o", &R::o, {n.b, n.h, n.s_q, n.d_v}, "result")
      .shape_where(packed_q, {n.t_q, n.h, n.d_v})
      .ordered_as(&R::q);
  d.writes("statistics", &R::statistics, {n.b, n.h, n.s_q, 1}, "log Σ exp of each query's scores")
      .optional();
  describe_masks(d, n);
  d.value(
      "all_attend", &R::all_attend,
      "promises that every query attends to a key, and lengths, offsets and tables are in range");
  describe_dropout(d);
  describe_packing(d, n);
  d.reads("table_k", &R::table_k, {n.b, per_sequence}, "pages of each sequence in k")
      .optional()
      .only_where(!packed_k);
  d.reads("table_v", &R::table_v, {n.b, per_sequence}, "pages of each sequence in v")
      .given_where(paged);
  const auto factor = [&](std::string_view name, any_tensor R::* m, std::string_view text) {
    d.reads(name, m, {1}, text).optional().only_where(fp8);
  };
  factor("descale_q", &R::descale_q, "factor of q; 1 where not given");
  factor("descale_k", &R::descale_k, "factor of k; 1 where not given");
  factor("descale_v", &R::descale_v, "factor of v; 1 where not given");
  factor("descale_s", &R::descale_s, "factor of rounded probabilities; 1 where not given");
  factor("scale_s", &R::scale_s, "factor of probabilities before they are rounded; else 1");
  factor("scale_o", &R::scale_o, "factor of o before it is rounded; 1 where not given");
  d.writes("amax_s", &R::amax_s, {1}, "the largest probability").optional().only_where(fp8);
  d.writes("amax_o", &R::amax_o, {1}, "the largest magnitude of o").optional().only_where(fp8);
  d.types({&R::q, &R::k, &R::v, &R::o, &R::bias}, {{f64, f64, f64, f64, f64},
                                                   {f32, f32, f32, f32, f32},
                                                   {f16, f16, f16, f16, f16},
                                                   {f16, f16, f16, f16, f32},
                                                   {bf16, bf16, bf16, bf16, bf16},
                                                   {bf16, bf16, bf16, bf16, f32},
                                                   {e4m3, e4m3, e4m3, e4m3, f32},
                                                   {e4m3, e4m3, e4m3, f16, f32},
                                                   {e4m3, e4m3, e4m3, bf16, f32}});
  d.types({&R::q, &R::statistics}, {{f64, f64}, {f32, f32}, {f16, f32}, {bf16, f32}, {e4m3, f32}});
  d.same_type({&R::table_k, &R::table_v}, {i32});
  d.same_type({&R::descale_q, &R::descale_k, &R::descale_v, &R::descale_s, &R::scale_s, &R::scale_o,
               &R::amax_s, &R::amax_o},
              {f32});
  describe_attention_rules(d);
  d.rule("scale_o is given for o of e4m3 alone", scale_o_fits);
}

void attention_backward::describe(description<attention_backward>& d) {
  using R = attention_backward;
  const attention_symbols n(d);
  const condition packed_q = d.given(&R::offsets_q);
  const condition packed_k = d.given(&R::offsets_k);
  d.about("The gradients of attention_forward by q, k, v and bias.",
          "Dao et al., \"FlashAttention\", 2022; cuDNN documentation, Scaled Dot Product Attention "
          "Backward");
  d.reads("q", &R::q, {n.b, n.h, n.s_q, n.d}, "queries").shape_where(packed_q, {n.t_q, n.h, n.d});
  d.reads("k", &R::k, {n.b, n.h_k, n.s_kv, n.d}, "keys")
      .shape_where(packed_k, {n.t_kv, n.h_k, n.d});
  d.reads("v", &R::v, {n.b, n.h_v, n.s_kv, n.d_v}, "values")
      .shape_where(packed_k, {n.t_kv, n.h_v, n.d_v});
  d.reads("o", &R::o, {n.b, n.h, n.s_q, n.d_v}, "result of forward")
      .shape_where(packed_q, {n.t_q, n.h, n.d_v});
  d.reads("d_o", &R::d_o, {n.b, n.h, n.s_q, n.d_v}, "gradient of o")
      .shape_where(packed_q, {n.t_q, n.h, n.d_v});
  d.reads("statistics", &R::statistics, {n.b, n.h, n.s_q, 1}, "statistics of forward");
  d.writes("d_q", &R::d_q, {n.b, n.h, n.s_q, n.d}, "gradient of q")
      .shape_where(packed_q, {n.t_q, n.h, n.d})
      .ordered_as(&R::q);
  d.writes("d_k", &R::d_k, {n.b, n.h_k, n.s_kv, n.d}, "gradient of k")
      .shape_where(packed_k, {n.t_kv, n.h_k, n.d})
      .ordered_as(&R::k);
  d.writes("d_v", &R::d_v, {n.b, n.h_v, n.s_kv, n.d_v}, "gradient of v")
      .shape_where(packed_k, {n.t_kv, n.h_v, n.d_v})
      .ordered_as(&R::v);
  describe_masks(d, n);
  d.writes("d_bias", &R::d_bias, {n.bias_b, n.bias_h, n.s_q, n.s_kv}, "gradient of bias")
      .optional()
      .only_where(d.given(&R::bias))
      .ordered_as(&R::bias);
  describe_dropout(d);
  describe_packing(d, n);
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  d.same_type({&R::q, &R::k, &R::v, &R::o, &R::d_o, &R::d_q, &R::d_k, &R::d_v},
              {f64, f32, f16, bf16});
  d.types({&R::q, &R::bias, &R::d_bias}, {{f64, f64, f64},
                                          {f32, f32, f32},
                                          {f16, f16, f16},
                                          {f16, f32, f32},
                                          {bf16, bf16, bf16},
                                          {bf16, f32, f32}});
  d.types({&R::q, &R::statistics}, {{f64, f64}, {f32, f32}, {f16, f32}, {bf16, f32}});
  describe_attention_rules(d);
}

}  // namespace troupe::dnn
