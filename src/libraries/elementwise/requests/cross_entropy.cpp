#include <troupe/elementwise/cross_entropy.hpp>

namespace troupe::elementwise {
namespace {

using enum dtype;

struct loss_combination {
  dtype classes;
  dtype targets;
  dtype loss;
};
constexpr loss_combination loss_combinations[] = {
    {f64, i32, f64}, {f64, i64, f64}, {f32, i32, f32},  {f32, i64, f32},
    {f16, i32, f32}, {f16, i64, f32}, {bf16, i32, f32}, {bf16, i64, f32}};
constexpr auto classes_type = &loss_combination::classes;
constexpr auto targets_type = &loss_combination::targets;
constexpr auto loss_type = &loss_combination::loss;

struct loss_sizes {
  extent batch;
  extent c;
};
template <class R>
loss_sizes sizes_of_loss(description<R>& d) {
  return {.batch = d.sizes("batch", 0, max_rank - 1), .c = d.size("c")};
}

template <class R>
void describe_smoothing(description<R>& d) {
  d.value("label_smoothing", &R::label_smoothing, "weight of the mean over all classes")
      .range(0, 1);
}
template <class R>
void describe_counting(description<R>& d, const loss_sizes& sizes) {
  d.value("ignore_index", &R::ignore_index, "the target of rows that do not count");
  d.reads("weights", &R::weights, {sizes.c}, "a factor for each class").optional();
}
/// The results of a loss, the fields behind its operands, and the types of all; `x` has the
/// classes.
template <class R>
void describe_loss(description<R>& d, const loss_sizes& sizes, any_tensor R::* x) {
  d.reads("targets", &R::targets, {sizes.batch}, "classes");
  d.writes("loss", &R::loss, {sizes.batch}, "result");
  if constexpr (requires(R r) { r.label_smoothing; }) describe_smoothing(d);
  describe_counting(d, sizes);
  d.writes("total", &R::total, {1}, "sum of the weights of the targets that count").optional();
  d.writes("mean", &R::mean, {1}, "sum of the losses by total")
      .optional()
      .only_where(d.given(&R::total));
  d.types({x, &R::targets, &R::loss, &R::weights, &R::total, &R::mean},
          type_rows::of(loss_combinations, classes_type, targets_type, loss_type, loss_type,
                        loss_type, loss_type));
}
template <class R>
void describe_gradient_operands(description<R>& d, const loss_sizes& sizes) {
  d.reads("targets", &R::targets, {sizes.batch}, "classes");
  d.reads("dloss", &R::dloss, {sizes.batch}, "gradient of loss");
}
template <class R>
void describe_total(description<R>& d) {
  d.reads("total", &R::total, {1}, "as the loss wrote it, which the gradient is divided by")
      .optional();
}

}  // namespace

void cross_entropy::describe(description<cross_entropy>& d) {
  using R = cross_entropy;
  const loss_sizes sizes = sizes_of_loss(d);
  d.about("Cross entropy of the softmax of logits with target classes.",
          "PyTorch documentation, cross_entropy");
  d.reads("logits", &R::logits, {sizes.batch, sizes.c}, "unnormalised logarithms of probabilities");
  describe_loss(d, sizes, &R::logits);
}
void cross_entropy_backward::describe(description<cross_entropy_backward>& d) {
  using R = cross_entropy_backward;
  const loss_sizes sizes = sizes_of_loss(d);
  d.about("The gradient of cross_entropy by logits.");
  d.reads("logits", &R::logits, {sizes.batch, sizes.c}, "unnormalised logarithms of probabilities");
  describe_gradient_operands(d, sizes);
  d.writes("dlogits", &R::dlogits, {sizes.batch, sizes.c}, "gradient of logits").may_be(&R::logits);
  describe_smoothing(d);
  describe_counting(d, sizes);
  describe_total(d);
  d.types({&R::logits, &R::targets, &R::dloss, &R::dlogits, &R::weights, &R::total},
          type_rows::of(loss_combinations, classes_type, targets_type, loss_type, classes_type,
                        loss_type, loss_type));
}

void nll_loss::describe(description<nll_loss>& d) {
  const loss_sizes sizes = sizes_of_loss(d);
  d.about("Negative log likelihood of target classes.", "PyTorch documentation, nll_loss");
  d.reads("x", &nll_loss::x, {sizes.batch, sizes.c}, "logarithms of probabilities");
  describe_loss(d, sizes, &nll_loss::x);
}
void nll_loss_backward::describe(description<nll_loss_backward>& d) {
  using R = nll_loss_backward;
  const loss_sizes sizes = sizes_of_loss(d);
  d.about("The gradient of nll_loss by the logarithms of probabilities.");
  describe_gradient_operands(d, sizes);
  d.writes("dx", &R::dx, {sizes.batch, sizes.c}, "gradient of x");
  describe_counting(d, sizes);
  describe_total(d);
  d.types({&R::dx, &R::targets, &R::dloss, &R::weights, &R::total},
          type_rows::of(loss_combinations, classes_type, targets_type, loss_type, loss_type,
                        loss_type));
}

}  // namespace troupe::elementwise
