#include "random_convolutions.hpp"

#include "libraries/dnn/requests/combinations.hpp"
#include "libraries/dnn/requests/geometry.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

class convolution_drawing {
 public:
  convolution_drawing(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views) {}

  void fill(dnn::convolution_forward& r) {
    draw_geometry(r, true);
    r.x = view(types_.x, image_);
    r.w = view(types_.w, filter_);
    draw_result(r, response_);
  }
  void fill(dnn::convolution_transposed& r) {
    draw_geometry(r, false);
    r.x = view(types_.x, response_);
    r.w = view(types_.w, filter_);
    r.output_padding = output_padding_;
    draw_result(r, image_);
  }
  void fill(dnn::convolution_backward_data& r) {
    draw_geometry(r, false);
    r.dy = view(types_.x, response_);
    r.w = view(types_.x, filter_);
    r.dx = view(types_.x, image_);
  }
  void fill(dnn::convolution_backward_filter& r) {
    draw_geometry(r, false);
    r.x = view(types_.x, image_);
    r.dy = view(types_.x, response_);
    r.dw = view(types_.x, filter_);
  }

 private:
  [[nodiscard]] std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  [[nodiscard]] bool one_in(std::int64_t n) { return from(1, n) == 1; }

  template <class R>
  void draw_geometry(R& r, bool forward) {
    do {
      types_ = dnn::combinations[static_cast<std::size_t>(
          from(0, static_cast<std::int64_t>(dnn::combinations.size()) - 1))];
    } while (!forward && types_.forward_only);
    const auto space = static_cast<std::size_t>(from(1, dnn::most_space));
    const auto list = [&](std::int64_t least, std::int64_t most) {
      numbers all(one_in(3) ? 0 : one_in(2) ? 1 : space);
      for (std::int64_t& n : all)
        n = from(least, most);
      return all;
    };
    r.stride = list(1, 3);
    r.dilation = list(1, 2);
    r.padding = list(0, 2);
    r.post_padding = list(0, 2);
    const std::int64_t unit = types_.channel_unit;
    r.groups = unit > 1 ? 1 : from(1, 3);
    const std::int64_t channels = unit * from(1, 3);
    const std::int64_t responses = unit * from(1, 3);
    const std::int64_t n = one_in(8) ? 0 : from(1, 2);
    image_ = {n, r.groups * channels};
    filter_ = {r.groups * responses, channels};
    response_ = {n, r.groups * responses};
    output_padding_.clear();
    const any_tensor none;
    const dnn::convolution c = dnn::laid_out(r, {"", none}, {"", none}, {"", none});
    for (std::size_t d = 0; d < space; ++d) {
      const std::int64_t taps = from(1, 3);
      // From what the response has, so that there is one.
      const std::int64_t out = from(1, 4);
      const std::int64_t least = dnn::image_extent(c, out, taps, d);
      const std::int64_t more = from(0, c.stride[d] - 1);
      const std::int64_t in = std::max<std::int64_t>(1, least + more);
      image_.push_back(in);
      filter_.push_back(taps);
      response_.push_back(dnn::response_extent(c, in, taps, d));
      output_padding_.push_back(in - dnn::image_extent(c, response_.back(), taps, d));
    }
    if (types_.x != dtype::f32) r.math = dnn::math_mode::strict;
    if (!types_.plain) return;
    r.alpha = 1;
    r.beta = 0;
  }

  template <class R>
  void draw_result(R& r, const numbers& extents) {
    r.y = view(types_.y, extents);
    if (types_.plain) {
      r.activation = dnn::activation::none;
      r.upper = R{}.upper;
      r.slope = R{}.slope;
      r.elu_alpha = R{}.elu_alpha;
    }
    r.z = any_tensor();
    if (!r.beta.is_zero()) r.z = one_in(2) ? r.y : view(types_.y, extents);
    r.bias = any_tensor();
    if (!types_.plain && one_in(2)) r.bias = view(types_.bias, {extents[1]});
  }

  [[nodiscard]] any_tensor view(dtype type, const numbers& extents) {
    std::vector<std::size_t> outermost_first(extents.size());
    std::iota(outermost_first.begin(), outermost_first.end(), std::size_t{0});
    if (types_.channel_unit > 1 && extents.size() > 1) {
      std::rotate(outermost_first.begin() + 1, outermost_first.begin() + 2, outermost_first.end());
    } else if (one_in(3)) {
      std::ranges::shuffle(outermost_first, random_);
    }
    numbers strides(extents.size());
    std::int64_t step = 1;
    for (std::size_t i = outermost_first.size(); i-- > 0;) {
      strides[outermost_first[i]] = step;
      step *= std::max<std::int64_t>(1, extents[outermost_first[i]]);
    }
    return views_(type, shape(std::span(extents)), strides, memory_space::device);
  }

  std::mt19937_64& random_;
  const view_source& views_;
  dnn::combination types_ = dnn::combinations[0];
  numbers image_, filter_, response_, output_padding_;
};

}  // namespace

bool draw_convolution(const request_type& type, void* request, std::mt19937_64& random,
                      const view_source& views) {
  return drawn_by<convolution_drawing, dnn::convolution_forward, dnn::convolution_backward_data,
                  dnn::convolution_backward_filter, dnn::convolution_transposed>(type, request,
                                                                                 random, views);
}

}  // namespace troupe::testing_requests
