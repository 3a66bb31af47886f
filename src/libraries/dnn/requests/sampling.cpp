#include <troupe/dnn/sampling.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <cstdint>

namespace troupe::dnn {
namespace {

using enum dtype;

// Sums of 2^22 weights of 40 bits have 62.
constexpr std::int64_t longest_row = std::int64_t{1} << 22;

void rows_are_short(argument_checks& check, const sample_rows& r) {
  if (!check.good()) return;
  check.rule(r.x.extent(1) >= 1, errc::shape_mismatch, [&] {
    return fmt::format("x must have elements in its rows; it is {}", r.x.to_string());
  });
  check.rule(r.x.extent(1) <= longest_row, errc::size_overflow, [&] {
    return fmt::format("x must have at most {} elements in a row; it has {}", longest_row,
                       r.x.extent(1));
  });
}

}  // namespace

void sample_rows::describe(description<sample_rows>& d) {
  using R = sample_rows;
  const extent rows = d.size("rows");
  const extent n = d.size("n");
  d.about("Draws a token from each row of logits.",
          "Maddison, Tarlow, Minka, \"A* Sampling\", 2014; Holtzman et al., \"The Curious Case of "
          "Neural Text Degeneration\", 2020");
  d.reads("x", &R::x, {rows, n}, "logits");
  d.writes("tokens", &R::tokens, {rows}, "token of each row; −1 where there is none");
  d.writes("logprobs", &R::logprobs, {rows}, "logarithm of its probability").optional();
  d.reads("temperature", &R::temperature, {rows}, "divides the logits; 0: the largest; else 1")
      .optional();
  d.reads("top_k", &R::top_k, {rows}, "how many of the largest may be drawn; 0: all").optional();
  d.reads("top_p", &R::top_p, {rows}, "share of the probability that may be drawn; else 1")
      .optional();
  d.reads("min_p", &R::min_p, {rows}, "least weight beside the largest; else 0").optional();
  d.reads("seeds", &R::seeds, {rows}, "which stream the noise is drawn from; else 0").optional();
  d.reads("positions", &R::positions, {rows}, "which subsequence of it; else 0").optional();
  d.same_type({&R::x}, {f32, f16, bf16});
  d.same_type({&R::tokens, &R::top_k}, {i32});
  d.same_type({&R::logprobs, &R::temperature, &R::top_p, &R::min_p}, {f32});
  d.same_type({&R::seeds}, {u64});
  d.same_type({&R::positions}, {i64});
  d.rule("a row has 1 to 2^22 elements", rows_are_short);
}

}  // namespace troupe::dnn
