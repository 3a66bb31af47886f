#include "libraries/dnn/cuda/convolution/convolution_case.hpp"

#include "libraries/dnn/cuda/limits.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::cuda {
namespace {

using graphs::place;

std::vector<std::int64_t> channels_last_strides(std::span<const std::int64_t> extents) {
  std::vector<std::int64_t> strides(extents.size());
  std::int64_t step = extents[1];
  strides[1] = 1;
  for (std::size_t d = extents.size(); d-- > 2;) {
    strides[d] = step;
    step *= extents[d];
  }
  strides[0] = step;
  return strides;
}

// cuDNN has no 1-D convolution: put a dimension of extent 1 before the spatial one.
void add_dimension(std::vector<std::int64_t>& extents, std::vector<std::int64_t>& strides) {
  if (extents.size() != 3) return;
  const std::int64_t step = extents[2] * strides[2];
  extents.insert(extents.begin() + 2, 1);
  strides.insert(strides.begin() + 2, step);
}

std::int64_t bits_of(double number) noexcept { return std::bit_cast<std::int64_t>(number); }

}  // namespace

std::vector<std::int64_t> convolution_case::staged_strides(std::span<const std::int64_t> extents,
                                                           const convolution_form& form) const {
  return operand_type(form) == dtype::f64 ? packed_strides(extents)
                                          : channels_last_strides(extents);
}

convolution_case::convolution_case(const dnn::convolution_forward& r)
    : geometry_(dnn::convolution_of(r)),
      kind_(kind::forward),
      follows_(epilogue_of(r)),
      full_precision_(r.math == dnn::math_mode::strict && r.x.type() == dtype::f32),
      deterministic_(r.deterministic),
      timed_(r.tuning == dnn::tuning::timed) {}
convolution_case::convolution_case(const dnn::convolution_backward_data& r)
    : geometry_(dnn::convolution_of(r)),
      kind_(kind::backward_data),
      follows_(epilogue_of(r, r.dx)),
      full_precision_(r.math == dnn::math_mode::strict && r.dx.type() == dtype::f32),
      deterministic_(r.deterministic),
      timed_(r.tuning == dnn::tuning::timed) {}
convolution_case::convolution_case(const dnn::convolution_backward_filter& r)
    : geometry_(dnn::convolution_of(r)),
      kind_(kind::backward_filter),
      follows_(epilogue_of(r, r.dw)),
      full_precision_(r.math == dnn::math_mode::strict && r.dw.type() == dtype::f32),
      deterministic_(r.deterministic),
      timed_(r.tuning == dnn::tuning::timed) {}
convolution_case::convolution_case(const dnn::convolution_transposed& r)
    : geometry_(dnn::convolution_of(r)),
      kind_(kind::backward_data),
      follows_(epilogue_of(r)),
      full_precision_(r.math == dnn::math_mode::strict && r.x.type() == dtype::f32),
      deterministic_(r.deterministic),
      timed_(r.tuning == dnn::tuning::timed) {}

const any_tensor& convolution_case::first() const noexcept {
  return kind_ == kind::forward ? geometry_.image.view : geometry_.response.view;
}
const any_tensor& convolution_case::second() const noexcept {
  return kind_ == kind::backward_filter ? geometry_.image.view : geometry_.filter.view;
}
const any_tensor& convolution_case::result() const noexcept {
  switch (kind_) {
    case kind::forward:
      return geometry_.response.view;
    case kind::backward_data:
      return geometry_.image.view;
    case kind::backward_filter:
      break;
  }
  return geometry_.filter.view;
}

void convolution_case::write(plan_words& key) const {
  key.clear();
  key.push_back(limits::cudnn::key_of_plans << 8 | static_cast<std::int64_t>(kind_));
  for (const any_tensor* const t : {&first(), &second(), &result(), &follows_.z, &follows_.bias}) {
    write_layout(key, *t);
    key.push_back(alignment_of(*t));
  }
  for (const auto* const list :
       {&geometry_.stride, &geometry_.dilation, &geometry_.padding, &geometry_.post_padding})
    key.insert(key.end(), list->begin(), list->end());
  key.push_back(std::int64_t{follows_.scales()} | std::int64_t{follows_.adds()} << 1 |
                std::int64_t{full_precision_} << 2 | std::int64_t{deterministic_} << 3 |
                std::int64_t{follows_.adds() && follows_.z.same_view(result())} << 4 |
                std::int64_t{timed_} << 5 | std::int64_t{follows_.beta.as<double>() != 1} << 6 |
                static_cast<std::int64_t>(follows_.activation) << 8);
  key.push_back(follows_.activation == dnn::activation::clipped_relu ? bits_of(follows_.upper) : 0);
  key.push_back(follows_.activation == dnn::activation::leaky_relu ? bits_of(follows_.slope) : 0);
  key.push_back(follows_.activation == dnn::activation::elu ? bits_of(follows_.elu_alpha) : 0);
}

bool convolution_case::can_fuse() const noexcept {
  return kind_ == kind::forward && !follows_.nothing() &&
         limits::cudnn::accepts_fusion(geometry_, follows_);
}

std::vector<convolution_form> convolution_case::forms() const {
  std::vector<convolution_form> tried;
  const bool integers = first().type() == dtype::i8;
  const bool narrow = result().type() != dtype::f32 && result().type() != dtype::f64;
  // The epilogue is applied before the sums are rounded.
  const bool wide = narrow && !follows_.nothing();
  // See limits::cudnn::convolution_i8_sums.
  if (integers) return {{.staged = true, .exact = true}};
  if (limits::cudnn::accepts_alignment(geometry_, follows_) &&
      limits::cudnn::accepts_order(geometry_, follows_) &&
      limits::cudnn::accepts_padding(geometry_)) {
    if (can_fuse()) tried.push_back({.fused = true});
    tried.push_back({.wide = wide});
  }
  tried.push_back({.wide = wide, .staged = true});
  if (narrow) tried.push_back({.wide = true, .staged = true, .widened = true});
  return tried;
}

std::vector<graphs::description> convolution_case::graphs() const {
  std::vector<graphs::description> made;
  for (const convolution_form& form : forms())
    made.push_back(graph(form));
  return made;
}

dtype convolution_case::sums_type(const convolution_form& form) const noexcept {
  if (form.exact) return dtype::f64;
  return form.wide ? dtype::f32 : result().type();
}

bool convolution_case::pads(const convolution_form& form) const noexcept {
  return form.staged && !limits::cudnn::accepts_padding(geometry_);
}

shape convolution_case::extents_of(const any_tensor& t, const convolution_form& form) const {
  std::vector<std::int64_t> extents(t.extents().begin(), t.extents().end());
  if (pads(form) && &t == &geometry_.image.view) {
    for (std::size_t d = 2; d < extents.size(); ++d)
      extents[d] += geometry_.padding[d - 2] + geometry_.post_padding[d - 2];
  }
  return shape(extents);
}

graphs::tensor convolution_case::tensor_of(const any_tensor& t, std::int64_t operand,
                                           const convolution_form& form) const {
  const shape wanted = extents_of(t, form);
  graphs::tensor made{.operand = operand,
                      .type = form.exact || form.widened ? operand_type(form) : t.type(),
                      .extents = {},
                      .strides = {},
                      .alignment = alignment_of(t)};
  made.extents.assign(wanted.extents().begin(), wanted.extents().end());
  if (form.staged) {
    made.strides = staged_strides(made.extents, form);
    made.alignment = well_aligned;
  } else {
    // The stride of an extent of 1 is arbitrary, but cuDNN deduces the layout from it.
    switch (dnn::order_of(t, dnn::dimension_order::channels_last)) {
      case dnn::dimension_order::channels_last:
        made.strides = channels_last_strides(made.extents);
        break;
      case dnn::dimension_order::channels_first:
        made.strides = packed_strides(made.extents);
        break;
      case dnn::dimension_order::other:
        made.strides.assign(t.strides().begin(), t.strides().end());
        break;
    }
  }
  add_dimension(made.extents, made.strides);
  return made;
}

graphs::description convolution_case::graph(const convolution_form& form) const {
  graphs::description made;
  made.deterministic = deterministic_;
  constexpr int candidates = 8;
  if (timed_) made.timed = candidates;
  made.full_precision = full_precision_;
  const dtype real = operand_type(form) == dtype::f64 ? dtype::f64 : dtype::f32;
  made.compute = real;
  made.intermediate = real;
  const auto add = [&](graphs::tensor t) {
    made.tensors.push_back(std::move(t));
    return static_cast<place>(made.tensors.size()) - 1;
  };
  const auto space = static_cast<std::size_t>(geometry_.space());
  const auto numbers = [&](const dnn::space_numbers& list, std::int64_t of_added,
                           bool none = false) {
    std::vector<std::int64_t> chosen(list.begin(),
                                     list.begin() + static_cast<std::ptrdiff_t>(space));
    if (none) std::ranges::fill(chosen, 0);
    if (space == 1) chosen.insert(chosen.begin(), of_added);
    return chosen;
  };
  made.without_heuristics = !limits::cudnn::accepts_heuristics(
      geometry_, kind_, first().type() == dtype::f32 || form.widened);
  const bool padded = pads(form);
  graphs::convolution sums{.what = kind_,
                           .first = add(tensor_of(first(), first_at + 1, form)),
                           .second = add(tensor_of(second(), second_at + 1, form)),
                           .result = -1,
                           .before = numbers(geometry_.padding, 0, padded),
                           .after = numbers(geometry_.post_padding, 0, padded),
                           .stride = numbers(geometry_.stride, 1),
                           .dilation = numbers(geometry_.dilation, 1)};
  const graphs::tensor stored = tensor_of(result(), result_at + 1, form);
  if (!form.fused) {
    graphs::tensor target = stored;
    target.type = sums_type(form);
    if (target.type != result().type()) target.alignment = well_aligned;  // in workspace
    sums.result = add(std::move(target));
    made.nodes.emplace_back(std::move(sums));
    if (!limits::cudnn::accepts_engine_71(kind_)) made.barred_engines = {71};
    return made;
  }
  graphs::tensor between = stored;
  between.operand = 0;
  between.type = made.intermediate;
  const auto number = [&](std::size_t operand) {
    const std::vector<std::int64_t> ones(stored.extents.size(), 1);
    return add({.operand = static_cast<std::int64_t>(operand) + 1,
                .type = real,
                .extents = ones,
                .strides = ones,
                .by_value = true});
  };
  place last = sums.result = add(between);
  made.nodes.emplace_back(std::move(sums));
  const auto apply = [&](graphs::pointwise p) {
    p.first = last;
    last = p.result = add(between);
    made.nodes.emplace_back(p);
  };
  using step = graphs::pointwise::kind;
  if (follows_.scales()) apply({.what = step::multiply, .second = number(alpha_at)});
  if (follows_.adds()) {
    place z = add(tensor_of(follows_.z, z_at + 1, form));
    if (follows_.beta.as<double>() != 1) {
      const place scaled = add(between);
      made.nodes.emplace_back(graphs::pointwise{
          .what = step::multiply, .first = z, .second = number(beta_at), .result = scaled});
      z = scaled;
    }
    apply({.what = step::add, .second = z});
  }
  if (!follows_.bias.null()) {
    graphs::tensor bias{.operand = bias_at + 1,
                        .type = follows_.bias.type(),
                        .extents = std::vector<std::int64_t>(stored.extents.size(), 1),
                        .strides = {},
                        .alignment = alignment_of(follows_.bias)};
    bias.extents[1] = follows_.bias.extent(0);
    bias.strides = channels_last_strides(bias.extents);
    apply({.what = step::add, .second = add(std::move(bias))});
  }
  switch (follows_.activation) {
    case dnn::activation::none:
      break;
    case dnn::activation::relu:
      apply({.what = step::relu});
      break;
    case dnn::activation::clipped_relu:
      apply({.what = step::relu, .upper = static_cast<float>(follows_.upper)});
      break;
    case dnn::activation::leaky_relu:
      apply({.what = step::relu, .slope = static_cast<float>(follows_.slope)});
      break;
    case dnn::activation::elu:
      apply({.what = step::elu, .elu_alpha = static_cast<float>(follows_.elu_alpha)});
      break;
    case dnn::activation::gelu:
      apply({.what = step::gelu});
      break;
    case dnn::activation::gelu_tanh:
      apply({.what = step::gelu_tanh});
      break;
    case dnn::activation::silu:
      apply({.what = step::silu});
      break;
    case dnn::activation::sigmoid:
      apply({.what = step::sigmoid});
      break;
    case dnn::activation::tanh:
      apply({.what = step::tanh});
      break;
    case dnn::activation::softplus:
      apply({.what = step::softplus});
      break;
  }
  made.tensors[static_cast<std::size_t>(last)] = stored;
  return made;
}

}  // namespace troupe::cuda
