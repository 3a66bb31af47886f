#pragma once

#include "libraries/dnn/cpu/lines/pooled_rows.hpp"

#include <array>
#include <limits>
#include <span>

namespace troupe::cpu {

/// Lines that are taken together, by `flush` whenever there are many.
template <class T, class F>
class line_parts {
 public:
  explicit line_parts(F flush) : flush_(flush) {}
  ~line_parts() {
    if (count_ > 0) flush_(std::span<const line_part<T>>(all_.data(), count_));
  }
  line_parts(const line_parts&) = delete;
  line_parts& operator=(const line_parts&) = delete;
  void add(const line_part<T>& part) {
    if (count_ == all_.size()) {
      flush_(std::span<const line_part<T>>(all_));
      count_ = 0;
    }
    all_[count_++] = part;
  }

 private:
  F flush_;
  std::array<line_part<T>, 32> all_;
  std::size_t count_ = 0;
};

/// One pooling, or resampling, of images: response from image, or image from response. Rows of the
/// result are computed by themselves, each by one thread in a fixed order.
template <class T, class Windows>
class pooler : public pooled_rows<T, Windows> {
  using base = pooled_rows<T, Windows>;

 public:
  using kernels = line_kernels<T>;
  using base::image;
  using base::in;
  using base::out;
  using base::places;
  using base::response;
  using base::wide_places;
  using base::windows;
  using typename base::real;

  result<void> max_forward(lane_context& lane) const {
    return run(lane, out, window_work() * 2,
               [this](const row& r) { along_channels() ? max_of_channels(r) : max_of_row(r); });
  }
  result<void> average_forward(lane_context& lane) const {
    return run(lane, out, window_work(), [this](const row& r) {
      along_channels() ? average_of_channels(r) : average_of_row(r);
    });
  }
  result<void> max_backward(lane_context& lane) const {
    return run(lane, in, work_of_image(), [this](const row& r) {
      along_channels() ? gradient_of_channels<true>(r) : max_gradient_of_row(r);
    });
  }
  result<void> average_backward(lane_context& lane) const {
    return run(lane, in, work_of_image(), [this](const row& r) {
      along_channels() ? gradient_of_channels<false>(r) : average_gradient_of_row(r);
    });
  }

 private:
  using base::along_channels;
  using base::clear_phases;
  using base::divisor;
  using base::factor;
  using base::first_place;
  using base::for_each_line;
  using base::for_each_tap;
  using base::phase_length;
  using base::phases;
  using base::place;
  using base::run;
  using base::share;
  using base::window_work;
  using base::work_of_image;
  using typename base::row;
  using typename base::tap_line;

  template <class F>
  [[nodiscard]] static line_parts<T, F> together(F flush) {
    return line_parts<T, F>(flush);
  }

  void store_places(const row& r, std::int64_t w, std::int64_t n, std::int64_t step) const {
    if (!wide_places) {
      auto* const to =
          base::template begin<std::uint8_t>(places, r, r.at[0], r.at[1]) + w * places.steps[2];
      return kernels_.store_places(r.places, n, to, step);
    }
    auto* const to =
        base::template begin<std::int32_t>(places, r, r.at[0], r.at[1]) + w * places.steps[2];
    for (std::int64_t j = 0; j < n; ++j)
      to[j * step] = r.places[j];
  }
  /// Lines of an image from which maxima are taken, with their places where these are asked for.
  [[nodiscard]] auto maxima(const row& r, std::int64_t step) const {
    return [this, &r, step](std::span<const line_part<T>> parts) {
      if (places.given()) {
        kernels_.take_max_at(parts, step, r.numbers, r.places);
      } else {
        kernels_.take_max(parts, step, r.numbers);
      }
    };
  }

  void max_of_channels(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      const bool none = depth.empty() || height.empty() || width.empty();
      std::fill_n(r.numbers, in.c, -std::numeric_limits<real>::infinity());
      if (places.given()) {
        std::fill_n(r.places, in.c,
                    none ? -1 : first_place(depth.first, height.first) + width.first);
      }
      if (!none) {
        auto parts = together(maxima(r, image.c_step));
        for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
          const T* const line = base::template begin<T>(image, r, d, h);
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            parts.add(
                {.x = line + place(2, width, tw) * image.steps[2], .n = in.c, .place = first + tw});
          }
        });
      }
      kernels_.store(r.numbers, in.c,
                     base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
                     response.c_step);
      if (places.given()) store_places(r, w, in.c, places.c_step);
    }
  }

  void max_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    const bool none = depth.empty() || height.empty();
    const std::int32_t count = windows[2].out;
    std::fill_n(r.numbers, count, -std::numeric_limits<real>::infinity());
    if (places.given()) {
      const std::int32_t first = first_place(depth.first, height.first);
      const std::int32_t* const taps = r.lines->first_taps;
      for (std::int32_t w = 0; w < count; ++w)
        r.places[w] = none || taps[w] < 0 ? -1 : first + taps[w];
    }
    {
      auto parts = together(maxima(r, image.steps[2] * windows[2].stride));
      for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
        const T* const x = base::template begin<T>(image, r, d, h);
        for_each_line(r, [&](std::int32_t tap, const tap_line& line) {
          parts.add({.x = x + line.element * image.steps[2],
                     .to = line.of.first,
                     .n = line.of.end - line.of.first,
                     .place = first + tap});
        });
      });
    }
    kernels_.store(r.numbers, count, base::template begin<T>(response, r, r.at[0], r.at[1]),
                   response.steps[2]);
    if (places.given()) store_places(r, 0, count, places.steps[2]);
  }

  /// Calls `f(factor, d, h)` for each tap of the first two dimensions.
  template <class F>
  void for_each_factor(const row& r, const tap_range& depth, const tap_range& height, F f) const {
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th) {
        f(factor(0, r.at[0], depth, td) * factor(1, r.at[1], height, th), place(0, depth, td),
          place(1, height, th));
      }
    }
  }

  [[nodiscard]] auto sums(real* to, std::int64_t step) const {
    return [this, to, step](std::span<const line_part<T>> parts) {
      kernels_.add_parts(parts, step, to);
    };
  }
  void average_of_channels(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      const bool none = depth.empty() || height.empty() || width.empty();
      std::fill_n(r.numbers, in.c, real{0});
      {
        auto parts = together(sums(r.numbers, image.c_step));
        for_each_factor(r, depth, height, [&](real of_row, std::int64_t d, std::int64_t h) {
          const T* const x = base::template begin<T>(image, r, d, h);
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            parts.add({.x = x + place(2, width, tw) * image.steps[2],
                       .n = in.c,
                       .factor = of_row * factor(2, w, width, tw)});
          }
        });
      }
      const real by = none ? real{1} : divisor(0, depth) * divisor(1, height) * divisor(2, width);
      kernels_.divide(
          r.numbers, {.first = &by}, real{1}, in.c,
          base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
          response.c_step);
    }
  }

  void average_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    std::fill_n(r.numbers, in.space[2], real{0});
    {
      auto parts = together(sums(r.numbers, image.steps[2]));
      for_each_factor(r, depth, height, [&](real of_row, std::int64_t d, std::int64_t h) {
        parts.add(
            {.x = base::template begin<T>(image, r, d, h), .n = in.space[2], .factor = of_row});
      });
    }
    const std::int32_t count = windows[2].out;
    std::fill_n(r.more_numbers, count, real{0});
    if constexpr (std::same_as<Windows, fixed_windows>) {
      for_each_line(r, [&](std::int32_t, const tap_line& line) {
        sums_.add(r.numbers + line.element, windows[2].stride, line.of.end - line.of.first, real{1},
                  r.more_numbers + line.of.first);
      });
    } else {
      for (std::int32_t w = 0; w < count; ++w) {
        const tap_range width = windows[2].taps_of(w);
        for (std::int32_t t = width.first; t < width.end; ++t)
          r.more_numbers[w] += factor(2, w, width, t) * r.numbers[width.start + t];
      }
    }
    const bool none = depth.empty() || height.empty();
    kernels_.divide(r.more_numbers, {.first = r.lines->divisors, .step = 1},
                    none ? real{1} : divisor(0, depth) * divisor(1, height), count,
                    base::template begin<T>(response, r, r.at[0], r.at[1]), response.steps[2]);
  }

  template <bool Max>
  void gradient_of_channels(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    for (std::int32_t i = 0; i < windows[2].in; ++i) {
      std::fill_n(r.numbers, in.c, real{0});
      const window_range width = windows[2].windows_of(i);
      if constexpr (Max) {
        auto parts = together(gradients(r.numbers, response.c_step, places.c_step));
        for (std::int32_t w = width.first; w < width.end; ++w) {
          const std::int32_t tw = windows[2].tap_at(w, i);
          for_each_window(r, depth, height,
                          [&](std::int32_t d, std::int32_t h, std::int32_t first) {
                            if (tw >= 0) parts.add(gradient(r, d, h, w, first + tw, 0, in.c));
                          });
        }
      } else {
        auto parts = together(sums(r.numbers, response.c_step));
        for (std::int32_t w = width.first; w < width.end; ++w) {
          const real of_width = share(2, w, i);
          for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
            parts.add({.x = base::template begin<T>(response, r, d, h) + w * response.steps[2],
                       .n = in.c,
                       .factor = of_line * of_width});
          });
        }
      }
      kernels_.store(r.numbers, in.c,
                     base::template begin<T>(image, r, r.at[0], r.at[1]) + i * image.steps[2],
                     image.c_step);
    }
  }
  /// Calls `f(d, h, first_place)` for each window of the first two dimensions that the row is in.
  template <class F>
  void for_each_window(const row& r, const window_range& depth, const window_range& height,
                       F f) const {
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      const std::int32_t td = windows[0].tap_at(d, r.at[0]);
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const std::int32_t th = windows[1].tap_at(h, r.at[1]);
        if (td >= 0 && th >= 0) f(d, h, first_place(td, th));
      }
    }
  }
  /// Calls `f(d, h, share)` for each of them.
  template <class F>
  void for_each_share(const row& r, const window_range& depth, const window_range& height,
                      F f) const {
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      for (std::int32_t h = height.first; h < height.end; ++h)
        f(d, h, share(0, d, r.at[0]) * share(1, h, r.at[1]));
    }
  }
  [[nodiscard]] auto gradients(real* to, std::int64_t step, std::int64_t places_step) const {
    return [this, to, step, places_step](std::span<const line_part<T>> parts) {
      (wide_places ? kernels_.add_where_wide : kernels_.add_where)(parts, step, places_step, to);
    };
  }
  /// `n` gradients of windows from one on, with their places.
  [[nodiscard]] line_part<T> gradient(const row& r, std::int32_t d, std::int32_t h, std::int32_t w,
                                      std::int32_t wanted, std::int64_t to, std::int64_t n) const {
    const std::int64_t at = w * places.steps[2];
    return {.x = base::template begin<T>(response, r, d, h) + w * response.steps[2],
            .to = to,
            .n = n,
            .place = wanted,
            .places = wide_places ? static_cast<const void*>(
                                        base::template begin<std::int32_t>(places, r, d, h) + at)
                                  : static_cast<const void*>(
                                        base::template begin<std::uint8_t>(places, r, d, h) + at)};
  }

  void max_gradient_of_row(const row& r) const {
    clear_phases(r);
    {
      auto parts = together(gradients(r.numbers, response.steps[2], places.steps[2]));
      for_each_window(r, windows[0].windows_of(r.at[0]), windows[1].windows_of(r.at[1]),
                      [&](std::int32_t d, std::int32_t h, std::int32_t first) {
                        for_each_line(r, [&](std::int32_t tap, const tap_line& line) {
                          parts.add(gradient(r, d, h, line.of.first, first + tap, line.in_phase,
                                             line.of.end - line.of.first));
                        });
                      });
    }
    store_phases(r);
  }

  void store_phases(const row& r) const {
    T* const to = base::template begin<T>(image, r, r.at[0], r.at[1]);
    if (windows[2].stride == 2 && phases() == 2) {
      return kernels_.store_pairs(r.numbers, r.numbers + phase_length(), windows[2].in, to,
                                  image.steps[2]);
    }
    for (std::int64_t p = 0; p < phases(); ++p) {
      kernels_.store(r.numbers + p * phase_length(),
                     (windows[2].in - 1 - p) / windows[2].stride + 1, to + p * image.steps[2],
                     image.steps[2] * windows[2].stride);
    }
  }

  void average_gradient_of_row(const row& r) const {
    std::fill_n(r.more_numbers, out.space[2], real{0});
    {
      auto parts = together(sums(r.more_numbers, response.steps[2]));
      for_each_share(r, windows[0].windows_of(r.at[0]), windows[1].windows_of(r.at[1]),
                     [&](std::int32_t d, std::int32_t h, real of_line) {
                       parts.add({.x = base::template begin<T>(response, r, d, h),
                                  .n = out.space[2],
                                  .factor = of_line});
                     });
    }
    sums_.divide(r.more_numbers, {.first = r.lines->divisors, .step = 1}, real{1}, out.space[2],
                 r.more_numbers, 1);
    if constexpr (std::same_as<Windows, fixed_windows>) {
      clear_phases(r);
      for_each_line(r, [&](std::int32_t, const tap_line& line) {
        sums_.add(r.more_numbers + line.of.first, 1, line.of.end - line.of.first, real{1},
                  r.numbers + line.in_phase);
      });
      return store_phases(r);
    }
    std::fill_n(r.numbers, in.space[2], real{0});
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      for (std::int32_t t = width.first; t < width.end; ++t)
        r.numbers[width.start + t] += r.more_numbers[w] * factor(2, w, width, t);
    }
    kernels_.store(r.numbers, in.space[2], base::template begin<T>(image, r, r.at[0], r.at[1]),
                   image.steps[2]);
  }

  const kernels& kernels_ = kernels::mine();
  const line_kernels<real>& sums_ = line_kernels<real>::mine();
};

}  // namespace troupe::cpu
