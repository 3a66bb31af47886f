#pragma once

#include "libraries/dnn/cuda/images/images.cuh"
#include "libraries/dnn/shared/windows.hpp"

#include <optional>

/// Windows along a contiguous last dimension whose shape is known at compile time. A thread takes
/// several. It loads their part of a line as one vector, plus the elements beside it.
namespace troupe::cuda {

/// Windows of `Window` elements with stride `Stride` and `Padding` elements before the image.
template <int Window, int Stride, int Padding>
struct narrow_windows {
  static constexpr int window = Window;
  static constexpr int stride = Stride;
  static constexpr int padding = Padding;

  [[nodiscard]] static bool are(const dnn::fixed_windows& w) noexcept {
    return w.window == window && w.stride == stride && w.padding == padding && w.dilation == 1;
  }
  /// The elements of a line that `count` neighbouring windows cover.
  [[nodiscard]] static constexpr int places(int count) { return (count - 1) * stride + window; }
};

/// Loads the elements that `C` windows from number `first` on cover in a line of `in` elements.
/// Elements outside of the line are `outside`.
template <class T, class Narrow, int C>
__device__ __forceinline__ void load_windows(const T* line, std::int32_t first, std::int32_t in,
                                             image_real<T> outside,
                                             image_real<T> (&to)[Narrow::places(C)]) {
  constexpr int width = C * Narrow::stride;
  const std::int32_t begin = first * Narrow::stride;
  const auto element = [&](std::int32_t at) {
    return at >= 0 && at < in ? real_of(line[at]) : outside;
  };
  image_real<T> all[width];
  if (begin + width <= in) {
    load_pack<T, width>(line + begin, all);
  } else {
#pragma unroll
    for (int i = 0; i < width; ++i)
      all[i] = element(begin + i);
  }
#pragma unroll
  for (int i = 0; i < Narrow::places(C); ++i) {
    const int at = i - Narrow::padding;
    to[i] = at >= 0 && at < width ? all[at < 0 || at >= width ? 0 : at] : element(begin + at);
  }
}

/// Calls `f` with the matching type of narrow windows and the number of windows that a thread takes
/// of a line of `image`, and returns its result. Returns nothing if no type matches.
template <class T, class Narrow, class... Others, class F>
[[nodiscard]] std::optional<result<void>> with_one_of(const dnn::fixed_windows& w,
                                                      const image_view& image, F f) {
  constexpr int most = vector_bytes / static_cast<int>(sizeof(T)) / Narrow::stride;
  const auto fits = [&](int count) {
    return lines_align(image, count * Narrow::stride, sizeof(T));
  };
  if (Narrow::are(w) && fits(most)) return f(Narrow(), std::integral_constant<int, most>());
  if (Narrow::are(w) && fits(most / 2)) return f(Narrow(), std::integral_constant<int, most / 2>());
  if constexpr (sizeof...(Others) > 0) return with_one_of<T, Others...>(w, image, f);
  return std::nullopt;
}
template <class T, class F>
[[nodiscard]] std::optional<result<void>> with_narrow(const dnn::fixed_windows& w,
                                                      const image_view& image, F f) {
  if constexpr (std::same_as<T, double>) {
    return std::nullopt;
  } else {
    return with_one_of<T, narrow_windows<2, 2, 0>, narrow_windows<3, 2, 1>, narrow_windows<3, 2, 0>,
                       narrow_windows<3, 1, 1>>(w, image, f);
  }
}

}  // namespace troupe::cuda
