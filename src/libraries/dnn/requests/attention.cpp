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

// A bound that f32 has, too.
constexpr double most_soft_cap = 1e30;

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
  check.rule(!packs_queries(r) || !r.mask.lengths_q.null(), errc::invalid_argument, [&] {
    return std::string("mask.lengths_q must be given because packed.offsets_q is; it is not given");
  });
  check.rule((!packs_keys(r) && !has_pages(r)) || !r.mask.lengths_kv.null(), errc::invalid_argument,
             [&] {
               return fmt::format("mask.lengths_kv must be given because {} is; it is not given",
                                  packs_keys(r) ? "packed.offsets_k" : "pages.k");
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
void allowed_fits(argument_checks& check, const R& r) {
  const any_tensor& t = r.mask.allowed;
  if (!check.good() || t.null()) return;
  const attention_sizes s = sizes_of(r);
  const auto is = [&](int at, std::int64_t whole) {
    return t.extent(at) == whole || t.extent(at) == 1;
  };
  check.rule(is(0, s.batch) && is(1, s.heads) && is(2, s.s_q) && t.extent(3) == s.s_kv,
             errc::shape_mismatch, [&] {
               return fmt::format(
                   "mask.allowed must be [1 or b, 1 or h, 1 or s_q, s_kv] with b = {}, h = {}, "
                   "s_q = {}, s_kv = {}; it is {}",
                   s.batch, s.heads, s.s_q, s.s_kv, t.to_string());
             });
}

template <class R>
void statistics_fit(argument_checks& check, const R& r) {
  if (!check.good() || r.statistics.null() || !packs_queries(r)) return;
  const attention_sizes s = sizes_of(r);
  check.rule(r.statistics.extent(2) == s.s_q, errc::shape_mismatch, [&] {
    return fmt::format("statistics must be [{}, {}, {}, 1] because {} is {}; it is {}", s.batch,
                       s.heads, s.s_q,
                       r.packed.longest_q > 0 ? "packed.longest_q" : "q's number of tokens", s.s_q,
                       r.statistics.to_string());
  });
}

template <class R>
void dropout_fits(argument_checks& check, const R& r) {
  check.rule(r.dropout.probability < 1, errc::invalid_argument, [&] {
    return fmt::format("dropout.probability must be less than 1; it is {}", r.dropout.probability);
  });
  if (!check.good() || r.dropout.probability == 0) return;
  const std::int64_t words = sizes_of(r).scores();
  check.rule(words <= longest_stream && r.dropout.offset <= longest_stream - words,
             errc::size_overflow, [&] {
               return fmt::format(
                   "dropout.offset must leave room for {} words within the {} of the stream; it is "
                   "{}",
                   words, longest_stream, r.dropout.offset);
             });
}

struct attention_symbols {
  extent b, h, h_k, h_v, s_q, s_kv, d, d_v, t_q, t_kv, bias_b, bias_h, mask_b, mask_h, mask_q;

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
        bias_h(of.size("bias_h")),
        mask_b(of.size("mask_b")),
        mask_h(of.size("mask_h")),
        mask_q(of.size("mask_q")) {}
};

template <class R>
void describe_masks(description<R>& d, const attention_symbols& n) {
  d.value("scale", &R::scale, "factor of the scores; 0 stands for 1/√d").finite();
  d.value("mask.diagonal", d.in(&R::mask, &attention_mask::diagonal),
          "where the diagonal ends that bounds are counted from");
  d.value("mask.left", d.in(&R::mask, &attention_mask::left),
          "keys before the diagonal that a query attends to; −1: all")
      .at_least(-1);
  d.value("mask.right", d.in(&R::mask, &attention_mask::right),
          "keys behind the diagonal; −1: all, 0: causal")
      .at_least(-1);
  d.reads("mask.lengths_q", d.in(&R::mask, &attention_mask::lengths_q), {n.b},
          "queries of each sequence")
      .optional();
  d.reads("mask.lengths_kv", d.in(&R::mask, &attention_mask::lengths_kv), {n.b},
          "keys of each sequence")
      .optional();
  d.reads("bias", &R::bias, {n.bias_b, n.bias_h, n.s_q, n.s_kv}, "added to the scores").optional();
}

/// Those that came last.
template <class R>
void describe_scores(description<R>& d, const attention_symbols& n) {
  const auto allowed = d.in(&R::mask, &attention_mask::allowed);
  d.reads("mask.allowed", allowed, {n.mask_b, n.mask_h, n.mask_q, n.s_kv},
          "true where a query may attend to a key")
      .optional();
  d.value("soft_cap", &R::soft_cap, "c: scores become c · tanh(score / c); 0: none")
      .range(0, most_soft_cap);
  d.reads("sinks", &R::sinks, {n.h}, "a logit of each head that denominators have, too").optional();
  d.same_type({allowed}, {boolean});
}

template <class R>
void describe_dropout(description<R>& d) {
  d.value("alibi", &R::alibi, "adds slope · (j − c) to the scores");
  d.value("dropout.probability", d.in(&R::dropout, &attention_dropout::probability),
          "probability of dropping a probability")
      .range(0, 1);
  d.value("dropout.seed", d.in(&R::dropout, &attention_dropout::seed),
          "which stream is drawn from");
  d.value("dropout.offset", d.in(&R::dropout, &attention_dropout::offset),
          "where in it, in words of 32 bits")
      .at_least(0);
}

template <class R>
void describe_packing(description<R>& d, const attention_symbols& n) {
  const auto in = [&](auto packed_sequences::* m) { return d.in(&R::packed, m); };
  const auto offsets_q = in(&packed_sequences::offsets_q);
  const auto offsets_k = in(&packed_sequences::offsets_k);
  const auto offsets_v = in(&packed_sequences::offsets_v);
  const auto offsets_o = in(&packed_sequences::offsets_o);
  const condition packs_q = d.given(offsets_q);
  const condition packs_k = d.given(offsets_k);
  d.reads("packed.offsets_q", offsets_q, {n.b + 1}, "where sequences begin in q").optional();
  d.reads("packed.offsets_k", offsets_k, {n.b + 1}, "where sequences begin in k").optional();
  d.reads("packed.offsets_v", offsets_v, {n.b + 1}, "where they begin in v").given_where(packs_k);
  d.reads("packed.offsets_o", offsets_o, {n.b + 1}, "where they begin in o").given_where(packs_q);
  d.value("packed.longest_q", in(&packed_sequences::longest_q), "bound of lengths_q; 0: all tokens")
      .at_least(0)
      .only_where(packs_q);
  d.value("packed.longest_kv", in(&packed_sequences::longest_kv),
          "bound of lengths_kv; 0: all tokens")
      .at_least(0)
      .only_where(packs_k);
  d.same_type(
      {d.in(&R::mask, &attention_mask::lengths_q), d.in(&R::mask, &attention_mask::lengths_kv)},
      {i32});
  d.same_type({offsets_q, offsets_k, offsets_v, offsets_o}, {i64});
}

template <class R>
void describe_attention_rules(description<R>& d) {
  d.rule("h is a multiple of h_k and of h_v", heads_fit<R>);
  d.rule("packed sequences and pages come with lengths", lengths_given<R>);
  d.rule("bias is [1 or b, 1 or h, s_q, s_kv]", bias_fits<R>);
  d.rule("mask.allowed is [1 or b, 1 or h, 1 or s_q, s_kv]", allowed_fits<R>);
  d.rule("statistics of packed sequences are [b, h, packed.longest_q, 1]", statistics_fit<R>);
  d.rule("dropout.probability is less than 1, and the stream reaches as far as it draws",
         dropout_fits<R>);
}

void scale_o_fits(argument_checks& check, const attention_forward& r) {
  check.rule(r.fp8.scale_o.null() || r.o.type() == e4m3, errc::invalid_argument, [&] {
    return fmt::format("fp8.scale_o must not be given because o is {}, not e4m3",
                       to_string(r.o.type()));
  });
}

void describe_fp8(description<attention_forward>& d) {
  using R = attention_forward;
  const condition fp8 = d.is(&R::q, {e4m3});
  const auto in = [&](any_tensor attention_fp8::* m) { return d.in(&R::fp8, m); };
  const auto factor = [&](std::string_view name, any_tensor attention_fp8::* m,
                          std::string_view text) {
    d.reads(name, in(m), {1}, text).optional().only_where(fp8);
  };
  factor("fp8.descale_q", &attention_fp8::descale_q, "factor of q; 1 where not given");
  factor("fp8.descale_k", &attention_fp8::descale_k, "factor of k; 1 where not given");
  factor("fp8.descale_v", &attention_fp8::descale_v, "factor of v; 1 where not given");
  factor("fp8.descale_s", &attention_fp8::descale_s,
         "factor of rounded probabilities; 1 where not given");
  factor("fp8.scale_s", &attention_fp8::scale_s,
         "factor of probabilities before they are rounded; else 1");
  factor("fp8.scale_o", &attention_fp8::scale_o,
         "factor of o before it is rounded; 1 where not given");
  d.writes("fp8.amax_s", in(&attention_fp8::amax_s), {1}, "the largest probability")
      .optional()
      .only_where(fp8);
  d.writes("fp8.amax_o", in(&attention_fp8::amax_o), {1}, "the largest magnitude of o")
      .optional()
      .only_where(fp8);
  d.same_type(
      {in(&attention_fp8::descale_q), in(&attention_fp8::descale_k), in(&attention_fp8::descale_v),
       in(&attention_fp8::descale_s), in(&attention_fp8::scale_s), in(&attention_fp8::scale_o),
       in(&attention_fp8::amax_s), in(&attention_fp8::amax_o)},
      {f32});
}

}  // namespace

void attention_forward::describe(description<attention_forward>& d) {
  using R = attention_forward;
  const attention_symbols n(d);
  const extent pages_k = d.size("pages_k");
  const extent pages_v = d.size("pages_v");
  const extent page_size = d.size("page_size");
  const extent per_sequence = d.size("n");
  const condition packed_q = d.given(d.in(&R::packed, &packed_sequences::offsets_q));
  const condition packed_k = d.given(d.in(&R::packed, &packed_sequences::offsets_k));
  const auto pages_of_k = d.in(&R::pages, &attention_pages::k);
  const auto pages_of_v = d.in(&R::pages, &attention_pages::v);
  const condition paged = d.given(pages_of_k);
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
  d.reads("pages.k", pages_of_k, {n.b, per_sequence}, "pages of each sequence in k")
      .optional()
      .only_where(!packed_k);
  d.reads("pages.v", pages_of_v, {n.b, per_sequence}, "pages of each sequence in v")
      .given_where(paged);
  describe_fp8(d);
  describe_scores(d, n);
  d.types({&R::q, &R::sinks},
          {{f64, f64}, {f32, f32}, {f16, f16}, {f16, f32}, {bf16, bf16}, {bf16, f32}, {e4m3, f32}});
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
  d.same_type({pages_of_k, pages_of_v}, {i32});
  describe_attention_rules(d);
  d.rule("fp8.scale_o is given for o of e4m3 alone", scale_o_fits);
}

void attention_backward::describe(description<attention_backward>& d) {
  using R = attention_backward;
  const attention_symbols n(d);
  const condition packed_q = d.given(d.in(&R::packed, &packed_sequences::offsets_q));
  const condition packed_k = d.given(d.in(&R::packed, &packed_sequences::offsets_k));
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
  d.reads("dout", &R::dout, {n.b, n.h, n.s_q, n.d_v}, "gradient of o")
      .shape_where(packed_q, {n.t_q, n.h, n.d_v});
  d.reads("statistics", &R::statistics, {n.b, n.h, n.s_q, 1}, "statistics of forward");
  d.writes("dq", &R::dq, {n.b, n.h, n.s_q, n.d}, "gradient of q")
      .shape_where(packed_q, {n.t_q, n.h, n.d})
      .ordered_as(&R::q);
  d.writes("dk", &R::dk, {n.b, n.h_k, n.s_kv, n.d}, "gradient of k")
      .shape_where(packed_k, {n.t_kv, n.h_k, n.d})
      .ordered_as(&R::k);
  d.writes("dv", &R::dv, {n.b, n.h_v, n.s_kv, n.d_v}, "gradient of v")
      .shape_where(packed_k, {n.t_kv, n.h_v, n.d_v})
      .ordered_as(&R::v);
  describe_masks(d, n);
  d.writes("dbias", &R::dbias, {n.bias_b, n.bias_h, n.s_q, n.s_kv}, "gradient of bias")
      .optional()
      .only_where(d.given(&R::bias))
      .ordered_as(&R::bias);
  describe_dropout(d);
  describe_packing(d, n);
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  describe_scores(d, n);
  d.writes("dsinks", &R::dsinks, {n.h}, "gradient of sinks")
      .optional()
      .only_where(d.given(&R::sinks));
  d.types({&R::q, &R::sinks, &R::dsinks}, {{f64, f64, f64},
                                           {f32, f32, f32},
                                           {f16, f16, f16},
                                           {f16, f32, f32},
                                           {bf16, bf16, bf16},
                                           {bf16, f32, f32}});
  d.same_type({&R::q, &R::k, &R::v, &R::o, &R::dout, &R::dq, &R::dk, &R::dv},
              {f64, f32, f16, bf16});
  d.types({&R::q, &R::bias, &R::dbias}, {{f64, f64, f64},
                                         {f32, f32, f32},
                                         {f16, f16, f16},
                                         {f16, f32, f32},
                                         {bf16, bf16, bf16},
                                         {bf16, f32, f32}});
  d.types({&R::q, &R::statistics}, {{f64, f64}, {f32, f32}, {f16, f32}, {bf16, f32}});
  describe_attention_rules(d);
}

}  // namespace troupe::dnn
