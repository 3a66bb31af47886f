#include "libraries/dnn/requests/geometry.hpp"

#include <troupe/dnn/batch_norm.hpp>

namespace troupe::dnn {
namespace {

using enum dtype;

/// Types of elements, of weights beside them, and of statistics.
struct norm_combination {
  dtype x;
  dtype weight;
  dtype statistics;
};
constexpr norm_combination norm_combinations[] = {{f64, f64, f64},   {f32, f32, f32},
                                                  {f16, f16, f32},   {f16, f32, f32},
                                                  {bf16, bf16, f32}, {bf16, f32, f32}};

constexpr auto norm_element = &norm_combination::x;
constexpr auto weight_type = &norm_combination::weight;
constexpr auto statistics = &norm_combination::statistics;

constexpr std::string_view norm_source = "Ioffe, Szegedy, \"Batch Normalization\", 2015";

template <class R>
void describe_weights(description<R>& d, extent c) {
  d.reads("weight", &R::weight, {c}, "factors of normalised numbers").optional();
  if constexpr (requires(R r) { r.bias; })
    d.reads("bias", &R::bias, {c}, "added to the products").optional();
}
template <class R>
void describe_eps(description<R>& d) {
  d.value("eps", &R::eps, "added to the variance, so that it is not 0").at_least(0);
}

}  // namespace

void batch_norm_training::describe(description<batch_norm_training>& d) {
  using R = batch_norm_training;
  const extent n = d.size("n"), c = d.size("c"), space = d.sizes("space", 0, most_space);
  d.about("Normalises each channel over images and space, and updates running statistics.",
          norm_source);
  d.reads("x", &R::x, {n, c, space}, "images");
  describe_weights(d, c);
  d.writes("y", &R::y, {n, c, space}, "result").may_be(&R::x).ordered_as(&R::x);
  d.writes("mean", &R::mean, {c}, "mean of each channel");
  d.writes("rstd", &R::rstd, {c}, "reciprocal of each channel's standard deviation");
  d.updates("running_mean", &R::running_mean, {c}, "averaged over requests").optional();
  d.updates("running_variance", &R::running_variance, {c}, "averaged over requests")
      .optional()
      .given_where(d.given(&R::running_mean));
  d.value("momentum", &R::momentum, "part of the new in the running statistics").range(0, 1);
  describe_eps(d);
  d.types({&R::x, &R::y, &R::weight, &R::bias, &R::mean, &R::rstd, &R::running_mean,
           &R::running_variance},
          type_rows::of(norm_combinations, norm_element, norm_element, weight_type, weight_type,
                        statistics, statistics, statistics, statistics));
}

void batch_norm_inference::describe(description<batch_norm_inference>& d) {
  using R = batch_norm_inference;
  const extent n = d.size("n"), c = d.size("c"), space = d.sizes("space", 0, most_space);
  d.about("Normalises each channel by statistics that are given.", norm_source);
  d.reads("x", &R::x, {n, c, space}, "images");
  d.reads("mean", &R::mean, {c}, "mean of each channel");
  d.reads("variance", &R::variance, {c}, "variance of each channel");
  describe_weights(d, c);
  d.writes("y", &R::y, {n, c, space}, "result").may_be(&R::x).ordered_as(&R::x);
  describe_eps(d);
  d.types({&R::x, &R::y, &R::weight, &R::bias, &R::mean, &R::variance},
          type_rows::of(norm_combinations, norm_element, norm_element, weight_type, weight_type,
                        statistics, statistics));
}

void batch_norm_backward::describe(description<batch_norm_backward>& d) {
  using R = batch_norm_backward;
  const extent n = d.size("n"), c = d.size("c"), space = d.sizes("space", 0, most_space);
  d.about("The gradient of batch_norm_training by x, weight and bias.", norm_source);
  d.reads("x", &R::x, {n, c, space}, "images");
  d.reads("dy", &R::dy, {n, c, space}, "gradient of y");
  d.reads("mean", &R::mean, {c}, "mean of each channel");
  d.reads("rstd", &R::rstd, {c}, "reciprocal of each channel's standard deviation");
  describe_weights(d, c);
  d.writes("dx", &R::dx, {n, c, space}, "gradient of x")
      .may_be(&R::x)
      .may_be(&R::dy)
      .ordered_as(&R::x);
  d.writes("dweight", &R::dweight, {c}, "gradient of weight").optional();
  d.writes("dbias", &R::dbias, {c}, "gradient of bias").optional();
  d.types({&R::x, &R::dy, &R::dx, &R::weight, &R::dweight, &R::dbias, &R::mean, &R::rstd},
          type_rows::of(norm_combinations, norm_element, norm_element, norm_element, weight_type,
                        weight_type, weight_type, statistics, statistics));
}

}  // namespace troupe::dnn
