#include "libraries/dnn/cpu/convolution/onednn_plan.hpp"

#include "libraries/dnn/cpu/limits.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <omp.h>

#include <bit>
#include <limits>
#include <string_view>

namespace troupe::cpu {
namespace {

using dims = dnnl::memory::dims;
using desc = dnnl::memory::desc;
using dnn::dimension_order;

dnnl::memory::data_type type_of(dtype type) {
  return type == dtype::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Extents and strides of a dense tensor in one of the two orders that oneDNN has kernels for.
struct layout_of_images {
  dims extents;
  dims strides;
  dnnl::memory::data_type type{};

  explicit layout_of_images(const any_tensor& t, dimension_order order)
      : extents(t.extents().begin(), t.extents().end()),
        strides(extents.size()),
        type(type_of(t.type())) {
    std::int64_t step = 1;
    const auto next = [&](std::size_t d) {
      strides[d] = step;
      step *= extents[d];
    };
    if (order == dimension_order::channels_last) next(1);
    for (std::size_t d = extents.size(); d-- > 2;)
      next(d);
    if (order == dimension_order::channels_first) next(1);
    next(0);
  }
  /// A filter's first dimension by groups.
  void split(std::int64_t groups) {
    extents[0] /= groups;
    const std::int64_t of_group = extents[0] * strides[0];
    extents.insert(extents.begin(), groups);
    strides.insert(strides.begin(), of_group);
  }
  [[nodiscard]] desc as_it_is() const { return {extents, type, strides}; }
  [[nodiscard]] desc any(dnnl::memory::data_type as) const {
    return {extents, as, dnnl::memory::format_tag::any};
  }
  [[nodiscard]] desc any() const { return any(type); }
};

struct geometry {
  dims stride, dilation, padding, post_padding;

  explicit geometry(const dnn::convolution& c) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(c.space()); ++d) {
      stride.push_back(c.stride[d]);
      dilation.push_back(c.dilation[d] - 1);
      padding.push_back(c.padding[d]);
      post_padding.push_back(c.post_padding[d]);
    }
  }
};

struct activation_terms {
  dnnl::algorithm what{};
  float alpha = 0;
};

/// Nothing for those that follow the plan.
std::optional<activation_terms> terms_of(const epilogue& after) {
  using dnnl::algorithm;
  switch (after.activation) {
    case dnn::activation::none:
    case dnn::activation::relu:
    case dnn::activation::clipped_relu:
    case dnn::activation::elu:
    case dnn::activation::softplus:
      return std::nullopt;
    case dnn::activation::leaky_relu:
      return activation_terms{algorithm::eltwise_relu, static_cast<float>(after.slope)};
    case dnn::activation::gelu:
      return activation_terms{algorithm::eltwise_gelu_erf};
    case dnn::activation::gelu_tanh:
      return activation_terms{algorithm::eltwise_gelu_tanh};
    case dnn::activation::silu:
      return activation_terms{algorithm::eltwise_swish, 1.F};
    case dnn::activation::sigmoid:
      return activation_terms{algorithm::eltwise_logistic};
    case dnn::activation::tanh:
      return activation_terms{algorithm::eltwise_tanh};
  }
  return std::nullopt;
}

void append_activation(dnnl::post_ops& ops, const epilogue& after) {
  if (const auto terms = terms_of(after)) ops.append_eltwise(1.F, terms->what, terms->alpha, 0.F);
}

/// oneDNN's reference code is slower than our loops.
template <class Description>
bool is_fast(const Description& pd) {
  return static_cast<bool>(pd) &&
         std::string_view(pd.impl_info_str()).find("ref") == std::string_view::npos;
}

class planning {
 public:
  planning(const dnn::convolution& c, const epilogue& after)
      : c_(c),
        after_(after),
        g_(c),
        image_(c.image.view, order_of(c.image)),
        filter_(c.filter.view, order_of(c.filter)),
        response_(c.response.view, order_of(c.response)) {
    if (c.groups > 1) filter_.split(c.groups);
    plan_.describe(image_place, image_.as_it_is());
    plan_.describe(filter_place, filter_.as_it_is());
    plan_.describe(response_place, response_.as_it_is());
  }

  static dimension_order order_of(const operand& t) { return dnn::order_of(t.view); }

  std::optional<onednn_plan> forward() {
    if (rounds_twice(after_.activation, c_.response.view.type())) return std::nullopt;
    const bool scales = after_.alpha.as<float>() != 1;
    if (scales && !after_.bias.null()) return std::nullopt;
    dnnl::primitive_attr attributes = onednn_plan::with_own_scratchpad();
    dnnl::post_ops ops;
    if (scales)
      ops.append_eltwise(1.F, dnnl::algorithm::eltwise_linear, after_.alpha.as<float>(), 0.F);
    if (!after_.z.null()) ops.append_sum(after_.beta.as<float>());
    append_activation(ops, after_);
    attributes.set_post_ops(ops);
    const dnnl::convolution_forward::primitive_desc pd =
        forward_description(attributes, !after_.bias.null());
    if (!is_fast(pd)) return std::nullopt;
    const auto x = plan_.moved(image_place, pd.src_desc());
    const auto w = plan_.moved(filter_place, pd.weights_desc());
    const bool in_place = pd.dst_desc() == plan_.desc(response_place);
    const auto y = in_place ? response_place : plan_.workspace(pd.dst_desc());
    if (!after_.z.null()) {
      plan_.describe(z_place, layout_of_images(after_.z, dnn::order_of(after_.z)).as_it_is());
      // If z is y, it may be there already.
      if (!in_place || !after_.z.same_view(c_.response.view)) plan_.add_move(z_place, y);
    }
    std::vector<std::pair<int, onednn_plan::place>> arguments{
        {DNNL_ARG_SRC, x},
        {DNNL_ARG_WEIGHTS, w},
        {DNNL_ARG_DST, y},
        {DNNL_ARG_SCRATCHPAD, plan_.workspace(pd.scratchpad_desc())}};
    if (!after_.bias.null()) {
      plan_.describe(bias_place, bias());
      arguments.emplace_back(DNNL_ARG_BIAS, bias_place);
    }
    plan_.add(dnnl::convolution_forward(pd), std::move(arguments));
    if (!in_place) plan_.add_move(y, response_place);
    return std::move(plan_);
  }

  std::optional<onednn_plan> backward_data() {
    // An epilogue of bf16 sums is computed in f32, and rounded once.
    const bool follows = !after_.bias.null() || terms_of(after_).has_value();
    if (follows && c_.image.view.type() != dtype::f32) return std::nullopt;
    if (rounds_twice(after_.activation, c_.image.view.type())) return std::nullopt;
    const bool combines = combines_sums();
    const auto hint = forward_description({}, false);
    if (!hint) return std::nullopt;
    const dnnl::convolution_backward_data::desc what(
        dnnl::algorithm::convolution_direct, sums_desc(image_, combines), filter_.any(),
        response_.any(), g_.stride, g_.dilation, g_.padding, g_.post_padding);
    const dnnl::convolution_backward_data::primitive_desc pd(
        what, onednn_plan::with_own_scratchpad(), onednn_plan::engine(), hint, true);
    if (!is_fast(pd)) return std::nullopt;
    const auto w = plan_.moved(filter_place, pd.weights_desc());
    const auto dy = plan_.moved(response_place, pd.diff_dst_desc());
    const auto dx = target(image_place, pd.diff_src_desc(), combines);
    plan_.add(dnnl::convolution_backward_data(pd),
              {{DNNL_ARG_DIFF_DST, dy},
               {DNNL_ARG_WEIGHTS, w},
               {DNNL_ARG_DIFF_SRC, dx},
               {DNNL_ARG_SCRATCHPAD, plan_.workspace(pd.scratchpad_desc())}});
    finish(dx, image_place, c_.image.view);
    if (follows) add_bias_and_activation();
    return std::move(plan_);
  }

  std::optional<onednn_plan> backward_filter() {
    const bool combines = combines_sums();
    const auto hint = forward_description({}, false);
    if (!hint) return std::nullopt;
    const dnnl::convolution_backward_weights::desc what(
        dnnl::algorithm::convolution_direct, image_.any(), sums_desc(filter_, combines),
        response_.any(), g_.stride, g_.dilation, g_.padding, g_.post_padding);
    const dnnl::convolution_backward_weights::primitive_desc pd(
        what, onednn_plan::with_own_scratchpad(), onednn_plan::engine(), hint, true);
    if (!is_fast(pd)) return std::nullopt;
    const auto x = plan_.moved(image_place, pd.src_desc());
    const auto dy = plan_.moved(response_place, pd.diff_dst_desc());
    const auto dw = target(filter_place, pd.diff_weights_desc(), combines);
    plan_.add(dnnl::convolution_backward_weights(pd),
              {{DNNL_ARG_DIFF_DST, dy},
               {DNNL_ARG_SRC, x},
               {DNNL_ARG_DIFF_WEIGHTS, dw},
               {DNNL_ARG_SCRATCHPAD, plan_.workspace(pd.scratchpad_desc())}});
    finish(dw, filter_place, c_.filter.view);
    return std::move(plan_);
  }

 private:
  [[nodiscard]] desc bias() const {
    const dims extents{after_.bias.extent(0)};
    return {extents, type_of(after_.bias.type()), dnnl::memory::format_tag::a};
  }
  [[nodiscard]] bool combines_sums() const {
    return after_.alpha.as<float>() != 1 || !after_.z.null();
  }
  static desc sums_desc(const layout_of_images& of, bool combines) {
    return of.any(combines ? dnnl::memory::data_type::f32 : of.type);
  }
  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward_description(
      const dnnl::primitive_attr& attributes, bool with_bias) const {
    using dnnl::algorithm;
    using dnnl::prop_kind;
    using forward = dnnl::convolution_forward;
    if (with_bias) {
      const forward::desc what(prop_kind::forward_inference, algorithm::convolution_direct,
                               image_.any(), filter_.any(), bias(), response_.any(), g_.stride,
                               g_.dilation, g_.padding, g_.post_padding);
      return {what, attributes, onednn_plan::engine(), true};
    }
    const forward::desc what(prop_kind::forward_training, algorithm::convolution_direct,
                             image_.any(), filter_.any(), response_.any(), g_.stride, g_.dilation,
                             g_.padding, g_.post_padding);
    return {what, attributes, onednn_plan::engine(), true};
  }

  /// The target of sums: the operand, unless they have another layout or are combined with it.
  onednn_plan::place target(onednn_plan::place operand, const desc& sums, bool combines) {
    return !combines && sums == plan_.desc(operand) ? operand : plan_.workspace(sums);
  }
  void finish(onednn_plan::place sums, onednn_plan::place operand, const any_tensor& result) {
    if (sums == operand) return;
    const bool adds = !after_.z.null();
    if (adds && !after_.z.same_view(result)) {
      plan_.describe(z_place, layout_of_images(after_.z, dnn::order_of(after_.z)).as_it_is());
      plan_.add_move(z_place, operand);
    }
    plan_.add_move(sums, operand, after_.alpha.as<float>(), adds ? after_.beta.as<float>() : 0.F);
  }
  /// To the image, in place.
  void add_bias_and_activation() {
    const desc& image = plan_.desc(image_place);
    if (!after_.bias.null()) {
      dnnl::post_ops ops;
      append_activation(ops, after_);
      dnnl::primitive_attr attributes;
      attributes.set_post_ops(ops);
      dims one(image_.extents.size(), 1);
      one[1] = after_.bias.extent(0);
      dims strides(one.size(), 1);
      strides[0] = one[1];
      const desc added(one, type_of(after_.bias.type()), strides);
      plan_.describe(bias_place, added);
      const dnnl::binary::desc what(dnnl::algorithm::binary_add, image, added, image);
      plan_.add(dnnl::binary(dnnl::binary::primitive_desc(what, attributes, onednn_plan::engine())),
                {{DNNL_ARG_SRC_0, image_place},
                 {DNNL_ARG_SRC_1, bias_place},
                 {DNNL_ARG_DST, image_place}});
      return;
    }
    const auto terms = terms_of(after_);
    if (!terms) return;
    const dnnl::eltwise_forward::desc what(dnnl::prop_kind::forward_inference, terms->what, image,
                                           terms->alpha, 0.F);
    plan_.add(
        dnnl::eltwise_forward(dnnl::eltwise_forward::primitive_desc(what, onednn_plan::engine())),
        {{DNNL_ARG_SRC, image_place}, {DNNL_ARG_DST, image_place}});
  }

  const dnn::convolution& c_;
  const epilogue& after_;
  geometry g_;
  layout_of_images image_;
  layout_of_images filter_;
  layout_of_images response_;
  onednn_plan plan_;
};

using plan_key = number_key<64>;

void add(plan_key& key, double number) { key.add(std::bit_cast<std::int64_t>(number)); }

plan_key key_of(direction way, const dnn::convolution& c, const epilogue& after) {
  plan_key key;
  key.add(static_cast<std::int64_t>(way));
  for (const operand* t : {&c.image, &c.filter, &c.response}) {
    key.add(static_cast<std::int64_t>(t->view.type()));
    key.add(static_cast<std::int64_t>(dnn::order_of(t->view)));
    key.add(t->view.rank());
    for (const std::int64_t extent : t->view.extents())
      key.add(extent);
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(c.space()); ++d) {
    key.add(c.stride[d]);
    key.add(c.dilation[d]);
    key.add(c.padding[d]);
    key.add(c.post_padding[d]);
  }
  key.add(c.groups);
  const any_tensor& result = way == direction::forward         ? c.response.view
                             : way == direction::backward_data ? c.image.view
                                                               : c.filter.view;
  key.add(after.z.null() ? 0 : after.z.same_view(result) ? 1 : 2);
  key.add(after.z.null() ? 0 : static_cast<std::int64_t>(dnn::order_of(after.z)));
  key.add(after.bias.null() ? 0 : 1);
  key.add(static_cast<std::int64_t>(after.activation));
  add(key, after.alpha.as<double>());
  add(key, after.beta.as<double>());
  add(key, after.upper);
  add(key, after.slope);
  add(key, after.elu_alpha);
  return key;
}

onednn_plans<plan_key>& the_plans() {
  // Never destroyed: a lane's thread may still hold a plan when the program's statics end.
  static onednn_plans<plan_key>& one = *new onednn_plans<plan_key>;
  return one;
}

/// Fewer products for each thread are done sooner by one: threads have to meet after each step.
constexpr std::int64_t products_per_thread = std::int64_t{1} << 20;

int threads_of(const dnn::convolution& c) {
  std::int64_t taps = 1;
  for (int d = 0; d < c.space(); ++d)
    taps *= c.taps(d);
  const std::int64_t products = c.response.view.count() * (c.channels() / c.groups) * taps;
  return static_cast<int>(
      threads_for(std::numeric_limits<std::int64_t>::max(), products, products_per_thread));
}

std::shared_ptr<const onednn_plan> make_plan(direction way, const dnn::convolution& c,
                                             const epilogue& after) {
  if (!limits::onednn::accepts_windows(c)) return nullptr;
  // Primitives are made for the number of threads that they will run on.
  omp_set_num_threads(threads_of(c));
  try {
    planning p(c, after);
    std::optional<onednn_plan> made = way == direction::forward         ? p.forward()
                                      : way == direction::backward_data ? p.backward_data()
                                                                        : p.backward_filter();
    if (made) {
      made->set_threads(threads_of(c));
      return std::make_shared<const onednn_plan>(*std::move(made));
    }
  } catch (const dnnl::error&) {
    // Something that it does not do; our loops do everything.
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const onednn_plan> onednn_plan_for(direction way, const dnn::convolution& c,
                                                   const epilogue& after) {
  return the_plans().find(key_of(way, c, after), [&] { return make_plan(way, c, after); });
}

}  // namespace troupe::cpu
