#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/norms.hpp>

#include <fmt/format.h>

namespace troupe::elementwise {
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

constexpr auto element = &norm_combination::x;
constexpr auto weight_type = &norm_combination::weight;
constexpr auto statistics = &norm_combination::statistics;

template <class R>
void describe_eps(description<R>& d) {
  d.value("eps", &R::eps, "added to the mean square, so that it is not 0").at_least(0);
}

/// The fields of a norm with a mean, whose statistics have `row` as shape.
template <class R>
void describe_norm(description<R>& d, std::initializer_list<extent> all, extent channels,
                   std::initializer_list<extent> row) {
  d.reads("x", &R::x, all, "numbers");
  d.reads("weight", &R::weight, {channels}, "factors of normalised numbers").optional();
  d.reads("bias", &R::bias, {channels}, "added to the products").optional();
  d.writes("y", &R::y, all, "result").may_be(&R::x);
  d.writes("mean", &R::mean, row, "mean of each row").optional();
  d.writes("rstd", &R::rstd, row, "reciprocal of each row's standard deviation")
      .optional()
      .given_where(d.given(&R::mean));
  d.types({&R::x, &R::y, &R::weight, &R::bias, &R::mean, &R::rstd},
          type_rows::of(norm_combinations, element, element, weight_type, weight_type, statistics,
                        statistics));
}
template <class R>
void describe_norm_backward(description<R>& d, std::initializer_list<extent> all, extent channels,
                            std::initializer_list<extent> row) {
  d.reads("x", &R::x, all, "numbers");
  d.reads("dy", &R::dy, all, "gradient of y");
  d.reads("mean", &R::mean, row, "mean of each row");
  d.reads("rstd", &R::rstd, row, "reciprocal of each row's standard deviation");
  d.reads("weight", &R::weight, {channels}, "factors of normalised numbers").optional();
  d.writes("dx", &R::dx, all, "gradient of x").may_be(&R::x).may_be(&R::dy);
  d.writes("dweight", &R::dweight, {channels}, "gradient of weight").optional();
  d.writes("dbias", &R::dbias, {channels}, "gradient of bias").optional();
  d.types({&R::x, &R::dy, &R::dx, &R::weight, &R::dweight, &R::dbias, &R::mean, &R::rstd},
          type_rows::of(norm_combinations, element, element, element, weight_type, weight_type,
                        weight_type, statistics, statistics));
}

template <class R>
void describe_groups(description<R>& d) {
  d.value("groups", &R::groups, "number of groups of channels").at_least(1);
  d.rule("groups divides the number of channels; statistics have one element for each group",
         [](argument_checks& check, const R& r) {
           const std::int64_t c = r.x.extent(1);
           check.rule(c % r.groups == 0 && (c > 0 || r.groups == 1), errc::shape_mismatch, [&] {
             return fmt::format("groups is {} and does not divide the {} channels of x", r.groups,
                                c);
           });
           check.rule(r.mean.null() || r.mean.extent(1) == r.groups, errc::shape_mismatch, [&] {
             return fmt::format("mean and rstd must have {} columns (groups); they have {}",
                                r.groups, r.mean.extent(1));
           });
         });
}

constexpr int most_space = max_rank - 3;  // as [n, groups, c / groups, space…]

template <class R>
void describe_norm_axis(description<R>& d) {
  d.value("axis", &R::axis, "the axis that sums go along; a negative one counts from the last");
  d.value("eps", &R::eps, "least divisor").at_least(0);
  d.rule("the axis exists",
         [](argument_checks& check, const R& r) { check_axis(check, r.axis, r.x.rank()); });
}

}  // namespace

void layer_norm::describe(description<layer_norm>& d) {
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  d.about("Normalises along the last dimension: y = (x − mean) · rstd · weight + bias.",
          "Ba, Kiros, Hinton, \"Layer Normalization\", 2016");
  describe_norm(d, {batch, n}, n, {batch});
  describe_eps(d);
}
void layer_norm_backward::describe(description<layer_norm_backward>& d) {
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  d.about("The gradient of layer_norm by x, weight and bias.");
  describe_norm_backward(d, {batch, n}, n, {batch});
}

void rms_norm::describe(description<rms_norm>& d) {
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  d.about("Divides by the root mean square along the last dimension: y = x · rstd · weight.",
          "Zhang, Sennrich, \"Root Mean Square Layer Normalization\", 2019");
  d.reads("x", &rms_norm::x, {batch, n}, "numbers");
  d.reads("weight", &rms_norm::weight, {n}, "factors of normalised numbers").optional();
  d.writes("y", &rms_norm::y, {batch, n}, "result").may_be(&rms_norm::x);
  d.writes("rstd", &rms_norm::rstd, {batch}, "reciprocal of each row's root mean square")
      .optional();
  d.types({&rms_norm::x, &rms_norm::y, &rms_norm::weight, &rms_norm::rstd},
          type_rows::of(norm_combinations, element, element, weight_type, statistics));
  describe_eps(d);
}
void rms_norm_backward::describe(description<rms_norm_backward>& d) {
  using R = rms_norm_backward;
  const extent batch = d.sizes("batch", 0);
  const extent n = d.size("n");
  d.about("The gradient of rms_norm by x and weight.");
  d.reads("x", &R::x, {batch, n}, "numbers");
  d.reads("dy", &R::dy, {batch, n}, "gradient of y");
  d.reads("rstd", &R::rstd, {batch}, "reciprocal of each row's root mean square");
  d.reads("weight", &R::weight, {n}, "factors of normalised numbers").optional();
  d.writes("dx", &R::dx, {batch, n}, "gradient of x").may_be(&R::x).may_be(&R::dy);
  d.writes("dweight", &R::dweight, {n}, "gradient of weight").optional();
  d.types({&R::x, &R::dy, &R::dx, &R::weight, &R::dweight, &R::rstd},
          type_rows::of(norm_combinations, element, element, element, weight_type, weight_type,
                        statistics));
}

void group_norm::describe(description<group_norm>& d) {
  const extent n = d.size("n");
  const extent c = d.size("c");
  const extent g = d.size("g");
  const extent space = d.sizes("space", 0, most_space);
  d.about("Normalises each group of channels: y = (x − mean) · rstd · weight + bias.",
          "Wu, He, \"Group Normalization\", 2018");
  describe_norm(d, {n, c, space}, c, {n, g});
  describe_eps(d);
  describe_groups(d);
}
void group_norm_backward::describe(description<group_norm_backward>& d) {
  const extent n = d.size("n");
  const extent c = d.size("c");
  const extent g = d.size("g");
  const extent space = d.sizes("space", 0, most_space);
  d.about("The gradient of group_norm by x, weight and bias.");
  describe_norm_backward(d, {n, c, space}, c, {n, g});
  describe_groups(d);
}

void instance_norm::describe(description<instance_norm>& d) {
  const extent n = d.size("n");
  const extent c = d.size("c");
  const extent space = d.sizes("space", 0, most_space);
  d.about("Normalises each channel: y = (x − mean) · rstd · weight + bias.",
          "Ulyanov, Vedaldi, Lempitsky, \"Instance Normalization\", 2016");
  describe_norm(d, {n, c, space}, c, {n, c});
  describe_eps(d);
}
void instance_norm_backward::describe(description<instance_norm_backward>& d) {
  const extent n = d.size("n");
  const extent c = d.size("c");
  const extent space = d.sizes("space", 0, most_space);
  d.about("The gradient of instance_norm by x, weight and bias.");
  describe_norm_backward(d, {n, c, space}, c, {n, c});
}

void l2_normalize::describe(description<l2_normalize>& d) {
  const extent all = d.sizes("shape", 1);
  d.about("Divides by the Euclidean length along an axis: y = x / max(√Σx², eps).");
  d.reads("x", &l2_normalize::x, {all}, "numbers");
  d.writes("y", &l2_normalize::y, {all}, "result").may_be(&l2_normalize::x);
  d.same_type({&l2_normalize::x, &l2_normalize::y}, norm_types);
  describe_norm_axis(d);
}
void l2_normalize_backward::describe(description<l2_normalize_backward>& d) {
  using R = l2_normalize_backward;
  const extent all = d.sizes("shape", 1);
  d.about("The gradient of l2_normalize.");
  d.reads("x", &R::x, {all}, "numbers");
  d.reads("dy", &R::dy, {all}, "gradient of y");
  d.writes("dx", &R::dx, {all}, "gradient of x").may_be(&R::x).may_be(&R::dy);
  d.same_type({&R::x, &R::dy, &R::dx}, norm_types);
  describe_norm_axis(d);
}

}  // namespace troupe::elementwise
