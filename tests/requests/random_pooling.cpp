#include "random_pooling.hpp"

#include "libraries/dnn/requests/pooling.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace troupe::testing_requests {
namespace {

using numbers = std::vector<std::int64_t>;

class pooling_drawing {
 public:
  pooling_drawing(std::mt19937_64& random, const view_source& views)
      : random_(random), views_(views) {
    constexpr dtype types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16};
    type_ = types[from(0, 3)];
  }

  template <class R>
  void fill(R& r) {
    draw_windows(r);
    if constexpr (requires { r.dx; }) {
      r.dy = view(type_, response_);
      r.dx = view(type_, image_);
    } else {
      r.x = view(type_, image_);
      r.y = view(type_, response_);
    }
    if constexpr (requires { r.places; })
      r.places = view(one_in(2) ? dtype::u8 : dtype::i32, response_);
  }

 private:
  [[nodiscard]] std::int64_t from(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  [[nodiscard]] bool one_in(std::int64_t n) { return from(1, n) == 1; }

  template <class R>
  void draw_windows(R& r) {
    const auto space = static_cast<std::size_t>(from(1, dnn::most_space));
    const auto list = [&](bool may_be_empty, std::int64_t least, std::int64_t most) {
      numbers all(may_be_empty && one_in(3) ? 0 : one_in(2) ? 1 : space);
      for (std::int64_t& n : all)
        n = from(least, most);
      return all;
    };
    r.window = list(false, 1, 3);
    r.stride = list(true, 1, 3);
    if constexpr (requires { r.dilation; }) r.dilation = list(true, 1, 2);
    r.padding = list(true, 0, 2);
    r.post_padding = list(true, 0, 2);
    image_ = {one_in(8) ? 0 : from(1, 2), from(1, 4)};
    response_ = image_;
    const any_tensor none;
    const dnn::pooling p = dnn::laid_out(r, {"", none}, {"", none});
    for (std::size_t d = 0; d < space; ++d) {
      image_.push_back(dnn::spread(p.window[d], p.dilation[d]) + from(0, 3));
      response_.push_back(p.windows(d, image_.back()));
    }
  }

  [[nodiscard]] any_tensor view(dtype type, const numbers& extents) {
    std::vector<std::size_t> outermost_first(extents.size());
    std::iota(outermost_first.begin(), outermost_first.end(), std::size_t{0});
    if (one_in(3)) std::ranges::shuffle(outermost_first, random_);
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
  dtype type_{};
  numbers image_, response_;
};

}  // namespace

bool draw_pooling(const request_type& type, void* request, std::mt19937_64& random,
                  const view_source& views) {
  return drawn_by<pooling_drawing, dnn::max_pool_forward, dnn::max_pool_backward,
                  dnn::average_pool_forward, dnn::average_pool_backward>(type, request, random,
                                                                         views);
}

}  // namespace troupe::testing_requests
