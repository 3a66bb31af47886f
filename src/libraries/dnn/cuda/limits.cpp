#include "libraries/dnn/cuda/limits.hpp"

#include "libraries/dnn/cuda/plan/layout.hpp"

#include <algorithm>
#include <initializer_list>

namespace troupe::limits::cudnn {

using cuda::alignment_of;
using cuda::well_aligned;

bool accepts_order(const dnn::convolution& c, const dnn::epilogue& follows) noexcept {
  using enum dnn::dimension_order;
  const auto all_lie = [&](dnn::dimension_order as) {
    const auto lies = [&](const any_tensor& t) { return t.null() || dnn::order_of(t, as) == as; };
    return lies(c.image.view) && lies(c.filter.view) && lies(c.response.view) && lies(follows.z);
  };
  return all_lie(channels_first) ||
         (c.filter.view.type() != dtype::f64 && all_lie(channels_last)) ||
         is_lifted<convolution_order>();
}

bool accepts_alignment(const dnn::convolution& c, const dnn::epilogue& follows) noexcept {
  for (const any_tensor* const t :
       {&c.image.view, &c.filter.view, &c.response.view, &follows.z, &follows.bias}) {
    if (!t->null() && alignment_of(*t) != well_aligned) return is_lifted<convolution_alignment>();
  }
  return true;
}

bool accepts_padding(const dnn::convolution& c) noexcept {
  if (c.padding != c.post_padding) return is_lifted<convolution_padding>();
  for (int at = 0; at < c.space(); ++at) {
    const auto i = static_cast<std::size_t>(at);
    if (c.padding[i] >= dnn::spread(c.taps(at), c.dilation[i]))
      return is_lifted<convolution_padding>();
  }
  return true;
}

bool accepts_heuristics(const dnn::convolution& c, cuda::graphs::convolution::kind way,
                        bool in_f32) noexcept {
  if (way != cuda::graphs::convolution::kind::backward_data || !in_f32 || c.space() < 3)
    return true;
  for (int at = 0; at < c.space(); ++at) {
    const auto i = static_cast<std::size_t>(at);
    if (dnn::spread(c.taps(at), c.dilation[i]) < c.stride[i])
      return is_lifted<convolution_heuristics>();
  }
  return true;
}

bool accepts_fusion(const dnn::convolution& c, const dnn::epilogue& follows) noexcept {
  const any_tensor& image = c.image.view;
  const any_tensor& filter = c.filter.view;
  if (size_of(image.type()) > 2 && !is_lifted<fusion_types>()) return false;
  if (follows.adds() && follows.z.same_view(c.response.view) && !is_lifted<fusion_in_place>())
    return false;
  if ((follows.adds() || follows.scales()) && follows.activation == dnn::activation::clipped_relu &&
      !is_lifted<fusion_clipped_relu>())
    return false;
  const std::int64_t unit = well_aligned / size_of(image.type());
  return (filter.extent(1) == image.extent(1) && image.extent(1) % unit == 0 &&
          filter.extent(0) % unit == 0) ||
         is_lifted<fusion_channels>();
}

bool accepts_in_graph(const any_tensor& t, bool with_convolution) noexcept {
  const auto begins_rows = [&] {
    if (alignment_of(t) != well_aligned) return false;
    for (int d = 0; d < t.rank(); ++d) {
      if (t.extent(d) > 1 && t.stride(d) != 1 &&
          t.stride(d) * size_of(t.type()) % well_aligned != 0)
        return false;
    }
    return true;
  };
  const auto has_order = [&] {
    const auto longer = std::ranges::count_if(t.extents(), [](std::int64_t e) { return e > 1; });
    if (with_convolution && longer > 1) {
      constexpr auto last = dnn::dimension_order::channels_last;
      return dnn::order_of(t, last) == last;
    }
    const int last = t.rank() - 1;
    for (int d = std::max(last - 1, 0); d <= last; ++d) {
      if (t.extent(d) == 1 || t.stride(d) == 1) return true;
    }
    return t.rank() == 0;
  };
  return (begins_rows() || is_lifted<graph_rows>()) && (has_order() || is_lifted<graph_order>());
}

bool has_aligned_rows(const any_tensor& t) noexcept {
  if (alignment_of(t) != well_aligned || t.stride(t.rank() - 1) != 1) return false;
  for (int d = 0; d + 1 < t.rank(); ++d) {
    if (t.extent(d) > 1 && t.stride(d) * size_of(t.type()) % well_aligned != 0) return false;
  }
  return true;
}

bool accepts_bias(const any_tensor& t) noexcept {
  if (t.extent(2) == 1 && t.extent(3) == 1)
    return t.packed() || is_lifted<attention_bias_of_heads>();
  if (t.extent(3) % attention_row_unit == 0)
    return has_aligned_rows(t) || is_lifted<attention_bias_rows>();
  return t.stride(3) == 1 || t.extent(3) == 1;
}

}  // namespace troupe::limits::cudnn
