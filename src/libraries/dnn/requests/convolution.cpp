#include "libraries/dnn/requests/rules.hpp"

#include <troupe/dnn/convolution.hpp>

namespace troupe::dnn {
namespace {

using numbers = std::vector<std::int64_t>;

constexpr auto element = &combination::x;
constexpr auto result_type = &combination::y;
constexpr auto bias_type = &combination::bias;

/// For images [n, c, in], a filter and responses [n, k, out].
struct convolution_extents {
  extent n, c, k, of_group, in, filter, out;

  template <class R>
  convolution_extents(description<R>& d, const char* channels_of_group)
      : n(d.size("n")),
        c(d.size("c")),
        k(d.size("k")),
        of_group(d.size(channels_of_group)),
        in(d.sizes("in", 1, most_space)),
        filter(d.sizes("filter", 1, most_space)),
        out(d.sizes("out", 1, most_space)) {}
};

/// How the filter goes over an image, and how sums of the type of `x` are computed.
template <class R>
void describe_sums(description<R>& d, any_tensor R::* x) {
  d.value("stride", &R::stride, "steps of the filter; 1 where empty");
  d.value("dilation", &R::dilation, "steps within the filter; 1 where empty");
  d.value("padding", &R::padding, "zeros before each dimension of space; 0 where empty");
  d.value("post_padding", &R::post_padding, "zeros after each; as padding where empty");
  if constexpr (requires { &R::output_padding; })
    d.value("output_padding", &R::output_padding, "added to the extents of y; 0 where empty");
  d.value("groups", &R::groups, "of channels, convolved apart").at_least(1);
  d.value("math", &R::math, "arithmetic of products of f32").only_where(d.is(x, {dtype::f32}));
  d.value("deterministic", &R::deterministic, "the same bits on every run");
  d.value("tuning", &R::tuning, "how a GPU's engine is chosen");
}

/// Describes y and the epilogue's fields.
template <class R>
void describe_result(description<R>& d, const convolution_extents& e) {
  d.updates("y", &R::y, {e.n, e.k, e.out}, "result")
      .updated_where(d.same_view(&R::z, &R::y))
      .may_be(&R::z)
      .ordered_as(&R::x);
  d.reads("z", &R::z, {e.n, e.k, e.out}, "addend").given_where(!d.zero(&R::beta));
  d.reads("bias", &R::bias, {e.k}, "added along dimension 1").optional();
  d.value("alpha", &R::alpha, "factor of the convolution");
  d.value("beta", &R::beta, "factor of z");
  d.value("activation", &R::activation, "applied last");
  d.value("upper", &R::upper, "the most that clipped_relu gives")
      .at_least(0)
      .only_where(d.is(&R::activation, {dnn::activation::clipped_relu}));
  d.value("slope", &R::slope, "factor of what leaky_relu gets below 0")
      .finite()
      .only_where(d.is(&R::activation, {dnn::activation::leaky_relu}));
  d.value("elu_alpha", &R::elu_alpha, "elu gives no less than its negative")
      .finite()
      .only_where(d.is(&R::activation, {dnn::activation::elu}));
  d.factors({&R::alpha, &R::beta}, &R::y);
  describe_sums(d, &R::x);
  d.layouts(layout::dense, {&R::x, &R::w, &R::y, &R::z, &R::bias});
}

/// The parameters of a gradient, which may be added to the old one.
template <class R>
void describe_gradient(description<R>& d, any_tensor R::* first, any_tensor R::* second,
                       any_tensor R::* gradient, const char* factor_of_old) {
  d.value("alpha", &R::alpha, "factor of the sums");
  d.value("beta", &R::beta, factor_of_old);
  describe_sums(d, first);
  d.layouts(layout::dense, {first, second, gradient});
  d.same_type({first, second, gradient}, {dtype::f64, dtype::f32, dtype::f16, dtype::bf16});
  d.factors({&R::alpha, &R::beta}, gradient);
}

template <class R>
void describe_rules(description<R>& d) {
  d.rule(numbers_rule, [](argument_checks& check, const R& r) {
    const int space = convolution_of(r).space();
    numbers_fit(check, "stride", r.stride, space, 1);
    numbers_fit(check, "dilation", r.dilation, space, 1);
    numbers_fit(check, "padding", r.padding, space, 0);
    numbers_fit(check, "post_padding", r.post_padding, space, 0);
  });
  d.rule(extents_rule,
         [](argument_checks& check, const R& r) { extents_fit(check, convolution_of(r)); });
  d.rule(channels_rule,
         [](argument_checks& check, const R& r) { channels_fit(check, convolution_of(r)); });
}
template <class R>
void describe_space_rule(description<R>& d) {
  d.rule(space_rule,
         [](argument_checks& check, const R& r) { space_fits(check, convolution_of(r)); });
}

/// Whether extents can be derived: before any check, from these two.
bool can_derive(const any_tensor& one, const any_tensor& two, const convolution& c) noexcept {
  const auto least = [](const space_numbers& all, int space, std::int64_t bound) {
    return std::all_of(all.begin(), all.begin() + space,
                       [&](std::int64_t n) { return n >= bound && n <= beyond; });
  };
  const int space = one.rank() - 2;
  return space >= 1 && space <= most_space && one.rank() == two.rank() && c.groups >= 1 &&
         least(c.stride, space, 1) && least(c.dilation, space, 1) && least(c.padding, space, 0) &&
         least(c.post_padding, space, 0);
}
bool all_one(const space_numbers& all, int space) noexcept {
  return std::all_of(all.begin(), all.begin() + space, [](std::int64_t n) { return n == 1; });
}
/// All or nothing: extents below 1 do not follow.
void keep_positive(numbers& extents) {
  if (std::ranges::any_of(extents, [](std::int64_t n) { return n < 1; })) extents.clear();
}

void derive_response(const convolution_forward& r, numbers& out) {
  const convolution c = convolution_of(r);
  if (!can_derive(r.x, r.w, c)) return;
  for (int d = 0; d < c.space(); ++d)
    out.push_back(response_extent(c, c.in(d), c.taps(d), static_cast<std::size_t>(d)));
  keep_positive(out);
}

void derive_image(const convolution_backward_data& r, numbers& in) {
  const convolution c = convolution_of(r);
  if (!can_derive(r.dy, r.w, c) || !all_one(c.stride, c.space())) return;
  for (int d = 0; d < c.space(); ++d)
    in.push_back(image_extent(c, c.out(d), c.taps(d), static_cast<std::size_t>(d)));
  keep_positive(in);
}

void derive_filter(const convolution_backward_filter& r, numbers& filter) {
  const convolution c = convolution_of(r);
  const int space = r.x.rank() - 2;
  if (!can_derive(r.x, r.dy, c) || !all_one(c.stride, space) || !all_one(c.dilation, space)) return;
  for (int i = 0; i < space; ++i) {
    const auto d = static_cast<std::size_t>(i);
    filter.push_back(c.in(i) + c.padding[d] + c.post_padding[d] - c.out(i) + 1);
  }
  keep_positive(filter);
}

void derive_transposed(const convolution_transposed& r, numbers& out) {
  const convolution c = convolution_of(r);
  if (!can_derive(r.x, r.w, c)) return;
  const space_numbers more = numbers_of(r.output_padding, 0);
  for (int i = 0; i < c.space(); ++i) {
    const auto d = static_cast<std::size_t>(i);
    out.push_back(image_extent(c, c.out(i), c.taps(i), d) + more[d]);
  }
  keep_positive(out);
}

/// The channels of an image, from its filter.
template <class R>
void derive_channels(const R& r, numbers& channels) {
  if (r.w.rank() >= 2 && r.groups >= 1 &&
      r.groups <= beyond / std::max<std::int64_t>(1, r.w.extent(1)))
    channels.push_back(r.w.extent(1) * r.groups);
}

}  // namespace

void convolution_forward::describe(description<convolution_forward>& d) {
  using r = convolution_forward;
  const convolution_extents e(d, "c_of_group");
  d.about("Convolves images with a filter: y = activation(alpha · (x ∗ w) + beta · z + bias).",
          "cuDNN documentation, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR");
  d.reads("x", &r::x, {e.n, e.c, e.in}, "images");
  d.reads("w", &r::w, {e.k, e.of_group, e.filter}, "filter");
  describe_result(d, e);
  d.types(
      {&r::x, &r::w, &r::y, &r::z, &r::bias},
      type_rows::of(combinations, element, &combination::w, result_type, result_type, bias_type));
  d.derived(e.out, derive_response);
  describe_rules(d);
  describe_space_rule(d);
  d.rule(types_rule, [](argument_checks& check, const r& request) {
    const bool plain = request.alpha.as<double>() == 1.0;
    types_fit(check, convolution_of(request), *combination_of(request.x.type(), request.y.type()),
              plain && request.beta.is_zero() && request.bias.null() &&
                  request.activation == dnn::activation::none);
  });
}

void convolution_backward_data::describe(description<convolution_backward_data>& d) {
  using r = convolution_backward_data;
  const convolution_extents e(d, "c_of_group");
  d.about("The gradient of a convolution by its images: dx = alpha · Σ dy · w + beta · dx.",
          "cuDNN documentation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR");
  d.reads("dy", &r::dy, {e.n, e.k, e.out}, "gradient of y");
  d.reads("w", &r::w, {e.k, e.of_group, e.filter}, "filter");
  d.updates("dx", &r::dx, {e.n, e.c, e.in}, "gradient of x")
      .old_content_unless(d.zero(&r::beta))
      .ordered_as(&r::dy);
  describe_gradient(d, &r::dy, &r::w, &r::dx, "factor of the old dx");
  d.derived(e.c, derive_channels<r>);
  d.derived(e.in, derive_image);
  describe_rules(d);
  describe_space_rule(d);
}

void convolution_backward_filter::describe(description<convolution_backward_filter>& d) {
  using r = convolution_backward_filter;
  const convolution_extents e(d, "c_of_group");
  d.about("The gradient of a convolution by its filter: dw = alpha · Σ dy · x + beta · dw.",
          "cuDNN documentation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR");
  d.reads("x", &r::x, {e.n, e.c, e.in}, "images");
  d.reads("dy", &r::dy, {e.n, e.k, e.out}, "gradient of y");
  d.updates("dw", &r::dw, {e.k, e.of_group, e.filter}, "gradient of w")
      .old_content_unless(d.zero(&r::beta))
      .ordered_as(&r::x);
  describe_gradient(d, &r::x, &r::dy, &r::dw, "factor of the old dw");
  d.derived(e.of_group, [](const r& request, numbers& channels) {
    if (request.x.rank() >= 2 && request.groups >= 1)
      channels.push_back(request.x.extent(1) / request.groups);
  });
  d.derived(e.filter, derive_filter);
  describe_rules(d);
  describe_space_rule(d);
}

void convolution_transposed::describe(description<convolution_transposed>& d) {
  using r = convolution_transposed;
  const convolution_extents e(d, "k_of_group");
  d.about(
      "The transposed convolution, which makes images larger: "
      "y = activation(alpha · Σ x · w + beta · z + bias).",
      "cuDNN documentation, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR");
  d.reads("x", &r::x, {e.n, e.c, e.in}, "images");
  d.reads("w", &r::w, {e.c, e.of_group, e.filter}, "filter");
  describe_result(d, e);
  d.same_type({&r::x, &r::w, &r::y, &r::z, &r::bias},
              {dtype::f64, dtype::f32, dtype::f16, dtype::bf16});
  d.derived(e.k, derive_channels<r>);
  d.derived(e.out, derive_transposed);
  describe_rules(d);
  d.rule("output_padding has numbers from 0 to stride − 1, and y the extents that follow from x",
         [](argument_checks& check, const r& request) {
           transposed_space_fits(check, convolution_of(request), request.output_padding);
         });
}

}  // namespace troupe::dnn
