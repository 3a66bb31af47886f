#pragma once

#include <troupe/dnn/convolution.hpp>
#include <troupe/request/argument_checks.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

/// The geometry of a convolution, for any direction: shared by checks and backends, so that the
/// accepted and the executed one cannot differ.
namespace troupe::dnn {

inline constexpr int most_space = 3;
using space_numbers = std::array<std::int64_t, most_space>;

/// The number of each dimension of space in a list that has one for each, one for all, or none.
[[nodiscard]] inline space_numbers numbers_of(const std::vector<std::int64_t>& list,
                                              std::int64_t otherwise) noexcept {
  space_numbers all{};
  for (std::size_t d = 0; d < all.size(); ++d) {
    all[d] = list.empty() ? otherwise : list.size() == 1 ? list[0] : d < list.size() ? list[d] : 0;
  }
  return all;
}

/// A convolution takes an image [n, c, in…] to its response [n, k, out…] by a filter
/// [k, c / groups, filter…]. Requests compute one of the three from the other two; of a transposed
/// convolution, x is the response and y the image.
struct convolution {
  operand image;
  operand filter;
  operand response;
  std::int64_t groups = 1;
  space_numbers stride{};
  space_numbers dilation{};
  space_numbers padding{};
  space_numbers post_padding{};

  /// Dimensions of space.
  [[nodiscard]] int space() const noexcept { return filter.view.rank() - 2; }
  [[nodiscard]] std::int64_t n() const noexcept { return image.view.extent(0); }
  [[nodiscard]] std::int64_t channels() const noexcept { return image.view.extent(1); }
  [[nodiscard]] std::int64_t responses() const noexcept { return response.view.extent(1); }
  [[nodiscard]] std::int64_t in(int d) const noexcept { return image.view.extent(d + 2); }
  [[nodiscard]] std::int64_t taps(int d) const noexcept { return filter.view.extent(d + 2); }
  [[nodiscard]] std::int64_t out(int d) const noexcept { return response.view.extent(d + 2); }
  [[nodiscard]] bool empty() const noexcept { return image.view.extent(0) == 0; }
};

template <class R>
[[nodiscard]] convolution laid_out(const R& r, const operand& image, const operand& filter,
                                   const operand& response) noexcept {
  return {.image = image,
          .filter = filter,
          .response = response,
          .groups = r.groups,
          .stride = numbers_of(r.stride, 1),
          .dilation = numbers_of(r.dilation, 1),
          .padding = numbers_of(r.padding, 0),
          .post_padding =
              r.post_padding.empty() ? numbers_of(r.padding, 0) : numbers_of(r.post_padding, 0)};
}
[[nodiscard]] inline convolution convolution_of(const convolution_forward& r) noexcept {
  return laid_out(r, {"x", r.x}, {"w", r.w}, {"y", r.y});
}
[[nodiscard]] inline convolution convolution_of(const convolution_backward_data& r) noexcept {
  return laid_out(r, {"dx", r.dx}, {"w", r.w}, {"dy", r.dy});
}
[[nodiscard]] inline convolution convolution_of(const convolution_backward_filter& r) noexcept {
  return laid_out(r, {"x", r.x}, {"dw", r.dw}, {"dy", r.dy});
}
[[nodiscard]] inline convolution convolution_of(const convolution_transposed& r) noexcept {
  return laid_out(r, {"y", r.y}, {"w", r.w}, {"x", r.x});
}

/// Beyond all extents that tensors have.
inline constexpr std::int64_t beyond = std::int64_t{1} << 58;

/// From the first to the last of `count` places that are `step` apart, or `beyond`.
[[nodiscard]] constexpr std::int64_t spread(std::int64_t count, std::int64_t step) noexcept {
  if (count <= 1) return count;
  return step > beyond / count ? beyond : (count - 1) * step + 1;
}

/// Extent d of the response of an image of extent `in`; less than 1 where the filter does not fit.
[[nodiscard]] inline std::int64_t response_extent(const convolution& c, std::int64_t in,
                                                  std::int64_t taps, std::size_t d) noexcept {
  const std::int64_t room = in + c.padding[d] + c.post_padding[d] - spread(taps, c.dilation[d]);
  return room < 0 ? 0 : room / c.stride[d] + 1;
}
/// The least extent d of an image whose response has extent `out`.
[[nodiscard]] inline std::int64_t image_extent(const convolution& c, std::int64_t out,
                                               std::int64_t taps, std::size_t d) noexcept {
  return spread(out, c.stride[d]) - 1 + spread(taps, c.dilation[d]) - c.padding[d] -
         c.post_padding[d];
}

/// How a tensor of an image or a filter lies in memory.
enum class dimension_order : std::uint8_t { channels_first, channels_last, other };

/// Both orders are those of a tensor whose extents beside one are 1: then `preferred`.
[[nodiscard]] inline dimension_order order_of(
    const any_tensor& t, dimension_order preferred = dimension_order::channels_first) noexcept {
  const auto lies = [&](dimension_order as) {
    std::int64_t step = 1;
    const auto next = [&](int d) {
      const bool fits = t.extent(d) == 1 || t.stride(d) == step;
      step *= t.extent(d);
      return fits;
    };
    bool fits = true;
    if (as == dimension_order::channels_last) fits = next(1);
    for (int d = t.rank(); d-- > 2;)
      fits = next(d) && fits;
    if (as == dimension_order::channels_first) fits = next(1) && fits;
    return next(0) && fits;
  };
  const dimension_order second = preferred == dimension_order::channels_first
                                     ? dimension_order::channels_last
                                     : dimension_order::channels_first;
  if (t.empty() || lies(preferred)) return preferred;
  return lies(second) ? second : dimension_order::other;
}

}  // namespace troupe::dnn
