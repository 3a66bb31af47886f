#include <troupe/elementwise/cross_entropy.hpp>

namespace troupe::elementwise {
namespace {

using enum dtype;

struct loss_combination {
  dtype logits;
  dtype targets;
  dtype loss;
};
constexpr loss_combination loss_combinations[] = {
    {f64, i32, f64}, {f64, i64, f64}, {f32, i32, f32},  {f32, i64, f32},
    {f16, i32, f32}, {f16, i64, f32}, {bf16, i32, f32}, {bf16, i64, f32}};
constexpr auto logits_type = &loss_combination::logits;
constexpr auto targets_type = &loss_combination::targets;
constexpr auto loss_type = &loss_combination::loss;

template <class R>
void describe_options(description<R>& d) {
  d.value("label_smoothing", &R::label_smoothing, "weight of the mean over all classes")
      .range(0, 1);
  d.value("ignore_index", &R::ignore_index, "the target of rows that do not count");
}

}  // namespace

void cross_entropy::describe(description<cross_entropy>& d) {
  using R = cross_entropy;
  const extent batch = d.sizes("batch", 0, max_rank - 1);
  const extent c = d.size("c");
  d.about("Cross entropy of the softmax of logits with target classes.");
  d.reads("logits", &R::logits, {batch, c}, "unnormalised logarithms of probabilities");
  d.reads("targets", &R::targets, {batch}, "classes");
  d.writes("loss", &R::loss, {batch}, "result");
  d.types({&R::logits, &R::targets, &R::loss},
          type_rows::of(loss_combinations, logits_type, targets_type, loss_type));
  describe_options(d);
}
void cross_entropy_backward::describe(description<cross_entropy_backward>& d) {
  using R = cross_entropy_backward;
  const extent batch = d.sizes("batch", 0, max_rank - 1);
  const extent c = d.size("c");
  d.about("The gradient of cross_entropy by logits.");
  d.reads("logits", &R::logits, {batch, c}, "unnormalised logarithms of probabilities");
  d.reads("targets", &R::targets, {batch}, "classes");
  d.reads("dloss", &R::dloss, {batch}, "gradient of loss");
  d.writes("dlogits", &R::dlogits, {batch, c}, "gradient of logits").may_be(&R::logits);
  d.types({&R::logits, &R::targets, &R::dloss, &R::dlogits},
          type_rows::of(loss_combinations, logits_type, targets_type, loss_type, logits_type));
  describe_options(d);
}

}  // namespace troupe::elementwise
