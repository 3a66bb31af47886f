#include <troupe/elementwise/rotary.hpp>

namespace troupe::elementwise {
namespace {

using enum dtype;

const type_rows& rotary_combinations() {
  static const type_rows rows = {{f64, f64, f64, f64},     {f32, f32, f32, f32},
                                 {f16, f16, f16, f16},     {f16, f32, f32, f16},
                                 {bf16, bf16, bf16, bf16}, {bf16, f32, f32, bf16}};
  return rows;
}

template <class R>
void describe_rotation(description<R>& d, std::string_view from_name, any_tensor R::* from,
                       std::string_view from_text, std::string_view to_name, any_tensor R::* to,
                       std::string_view to_text) {
  const extent batch = d.sizes("batch", 0, max_rank - 3);
  const extent s = d.size("s");
  const extent heads = d.size("heads");
  const extent half = d.size("half");
  d.reads(from_name, from, {batch, s, heads, 2 * half}, from_text);
  d.reads("cos", &R::cos, {s, half}, "cosine of each angle");
  d.reads("sin", &R::sin, {s, half}, "sine of each angle");
  d.writes(to_name, to, {batch, s, heads, 2 * half}, to_text).may_be(from);
  d.types({from, &R::cos, &R::sin, to}, rotary_combinations());
  d.value("pairs", &R::pairs, "which elements make a pair");
}

}  // namespace

void rotary_embedding::describe(description<rotary_embedding>& d) {
  using R = rotary_embedding;
  d.about("Rotates pairs of elements by an angle for each position.",
          "Su et al., \"RoFormer: Enhanced Transformer with Rotary Position Embedding\", 2021");
  describe_rotation(d, "x", &R::x, "queries or keys", "y", &R::y, "result");
}
void rotary_embedding_backward::describe(description<rotary_embedding_backward>& d) {
  using R = rotary_embedding_backward;
  d.about("The gradient of rotary_embedding: rotates by the opposite angles.");
  describe_rotation(d, "dy", &R::dy, "gradient of y", "dx", &R::dx, "gradient of x");
}

}  // namespace troupe::elementwise
