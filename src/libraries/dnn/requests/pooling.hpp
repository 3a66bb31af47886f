#pragma once

#include "libraries/dnn/requests/geometry.hpp"

#include <troupe/dnn/pooling.hpp>

/// The geometry of pooling, for any direction: shared by checks and backends, so that the accepted
/// and the executed one cannot differ.
namespace troupe::dnn {

/// Takes an image [n, c, in…] to its response [n, c, out…].
struct pooling {
  operand image;
  operand response;
  space_numbers window{};
  space_numbers stride{};
  space_numbers dilation{};
  space_numbers padding{};
  space_numbers post_padding{};
  bool ceil_mode = false;
  bool count_padding = false;
  std::int64_t divisor = 0;

  /// Dimensions of space.
  [[nodiscard]] int space() const noexcept { return image.view.rank() - 2; }
  [[nodiscard]] std::int64_t in(int d) const noexcept { return image.view.extent(d + 2); }
  [[nodiscard]] std::int64_t out(int d) const noexcept { return response.view.extent(d + 2); }
  /// Windows in a dimension of an image of extent `in`; 0 where none fits.
  [[nodiscard]] std::int64_t windows(std::size_t d, std::int64_t in) const noexcept;
  /// Places of a window, or more than 2³¹ − 1.
  [[nodiscard]] std::int64_t window_places() const noexcept;
};

template <class R>
[[nodiscard]] pooling laid_out(const R& r, const operand& image, const operand& response) noexcept {
  pooling p{.image = image, .response = response};
  p.window = numbers_of(r.window, 1);
  p.stride = r.stride.empty() ? p.window : numbers_of(r.stride, 1);
  p.dilation.fill(1);
  if constexpr (requires { r.dilation; }) p.dilation = numbers_of(r.dilation, 1);
  p.padding = numbers_of(r.padding, 0);
  p.post_padding = r.post_padding.empty() ? p.padding : numbers_of(r.post_padding, 0);
  p.ceil_mode = r.ceil_mode;
  if constexpr (requires { r.count_padding; }) {
    p.count_padding = r.count_padding;
    p.divisor = r.divisor;
  }
  return p;
}
/// For a forward request, or a gradient.
template <class R>
[[nodiscard]] pooling pooling_of(const R& r) noexcept {
  if constexpr (requires { r.dx; }) {
    return laid_out(r, {"dx", r.dx}, {"dy", r.dy});
  } else {
    return laid_out(r, {"x", r.x}, {"y", r.y});
  }
}

inline std::int64_t pooling::windows(std::size_t d, std::int64_t in) const noexcept {
  const std::int64_t room = in + padding[d] + post_padding[d] - spread(window[d], dilation[d]) +
                            (ceil_mode ? stride[d] - 1 : 0);
  if (room < 0) return 0;
  const std::int64_t count = room / stride[d] + 1;
  // With `ceil_mode` more could fit, which begin after the image.
  return ceil_mode ? std::min(count, (in + padding[d] - 1) / stride[d] + 1) : count;
}

inline std::int64_t pooling::window_places() const noexcept {
  std::int64_t all = 1;
  for (int d = 0; d < space(); ++d)
    all = std::min(all, std::int64_t{1} << 31) * window[static_cast<std::size_t>(d)];
  return all;
}

}  // namespace troupe::dnn
