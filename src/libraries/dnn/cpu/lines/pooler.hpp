#pragma once

#include "libraries/dnn/cpu/lines/pool_gradients.hpp"

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>

namespace troupe::cpu {

/// One pooling, or resampling, of images: responses from images, and their gradients.
template <class T, class Windows>
class pooler : public pool_gradients<T, Windows> {
  using base = pool_gradients<T, Windows>;

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
    return run(lane, out, window_work() * 2, [this](const row& r) {
      if (along_channels()) {
        max_of_channels(r);
      } else if constexpr (std::same_as<Windows, fixed_windows>) {
        max_of_row(r);
      } else {
        uneven_max_of_row(r);
      }
    });
  }
  result<void> average_forward(lane_context& lane) const {
    return run(lane, out, window_work(), [this](const row& r) {
      along_channels() ? average_of_channels(r) : average_of_row(r);
    });
  }

 private:
  using base::along_channels;
  using base::are_few;
  using base::divisor;
  using base::factor;
  using base::first_place;
  using base::for_each_line;
  using base::for_each_tap;
  using base::kernels_;
  using base::number;
  using base::place;
  using base::run;
  using base::sums;
  using base::sums_;
  using base::taps_of_line;
  using base::together;
  using base::window_work;
  using typename base::row;
  using typename base::tap_line;

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
  /// `n` maxima of the row, from the one at `w` on.
  void store_maxima(const row& r, std::span<const line_part<T>> parts, std::int64_t step,
                    std::int64_t w, std::int64_t n, std::int64_t y_step,
                    std::int64_t places_step) const {
    T* const y = base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2];
    const auto first_place_of = [&]<class P>(P) -> P* {
      if (!places.given()) return nullptr;
      return base::template begin<P>(places, r, r.at[0], r.at[1]) + w * places.steps[2];
    };
    if (wide_places) {
      kernels_.max_of_lines_wide(parts, step, n, y, y_step, first_place_of(std::int32_t{}),
                                 places_step);
    } else {
      kernels_.max_of_lines(parts, step, n, y, y_step, first_place_of(std::uint8_t{}), places_step);
    }
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

  /// The first place's number in the first line of windows.
  [[nodiscard]] std::int32_t first_of(const tap_range& depth,
                                      const tap_range& height) const noexcept {
    return first_place(number(0, depth, depth.first), number(1, height, height.first));
  }

  void max_of_channels(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      const bool none = depth.empty() || height.empty() || width.empty();
      if (!none && are_few(depth, height, width.end - width.first)) {
        few_parts<T> parts;
        for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
          const T* const line = base::template begin<T>(image, r, d, h);
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            parts.add({.x = line + place(2, width, tw) * image.steps[2],
                       .place = first + number(2, width, tw)});
          }
        });
        store_maxima(r, parts.all(), image.c_step, w, in.c, response.c_step, places.c_step);
        continue;
      }
      std::fill_n(r.numbers, in.c, -std::numeric_limits<real>::infinity());
      if (places.given()) {
        std::fill_n(r.places, in.c,
                    none ? -1 : first_of(depth, height) + number(2, width, width.first));
      }
      if (!none) {
        auto parts = together(maxima(r, image.c_step));
        for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
          const T* const line = base::template begin<T>(image, r, d, h);
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            parts.add({.x = line + place(2, width, tw) * image.steps[2],
                       .n = in.c,
                       .place = first + number(2, width, tw)});
          }
        });
      }
      kernels_.store(r.numbers, in.c,
                     base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
                     response.c_step);
      if (places.given()) store_places(r, w, in.c, places.c_step);
    }
  }

  /// Adds the image's lines for windows along the last dimension, tap by tap.
  template <class Parts>
  void add_lines(const row& r, const tap_range& depth, const tap_range& height,
                 Parts& parts) const {
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

  void max_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    const bool none = depth.empty() || height.empty();
    const std::int32_t count = windows[2].out;
    const std::int64_t step = image.steps[2] * windows[2].stride;
    if (!none && !r.lines->empty && are_few(depth, height, taps_of_line(r))) {
      few_parts<T> parts;
      add_lines(r, depth, height, parts);
      return parts.in_pieces(
          count, step, 0,
          [&](std::span<const line_part<T>> here, std::int64_t first, std::int64_t n) {
            store_maxima(r, here, step, first, n, response.steps[2], places.steps[2]);
          });
    }
    std::fill_n(r.numbers, count, -std::numeric_limits<real>::infinity());
    if (places.given()) {
      const std::int32_t first = first_of(depth, height);
      const std::int32_t* const taps = r.lines->first_taps;
      for (std::int32_t w = 0; w < count; ++w)
        r.places[w] = none || taps[w] < 0 ? -1 : first + taps[w];
    }
    {
      auto parts = together(maxima(r, step));
      add_lines(r, depth, height, parts);
    }
    kernels_.store(r.numbers, count, base::template begin<T>(response, r, r.at[0], r.at[1]),
                   response.steps[2]);
    if (places.given()) store_places(r, 0, count, places.steps[2]);
  }

  /// For windows of any lengths along the last dimension: the maxima of columns, then those of
  /// windows, of which the first place wins.
  void uneven_max_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    std::fill_n(r.numbers, in.space[2], -std::numeric_limits<real>::infinity());
    std::fill_n(r.places, in.space[2], first_of(depth, height));
    {
      auto parts = together(maxima(r, image.steps[2]));
      for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
        parts.add({.x = base::template begin<T>(image, r, d, h), .n = in.space[2], .place = first});
      });
    }
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range taps = windows[2].taps_of(w);
      real best = r.numbers[taps.start];
      std::int32_t number_of_best = r.places[taps.start] + taps.start;
      for (std::int32_t i = taps.start + 1; i < taps.start + taps.end; ++i) {
        const real x = r.numbers[i];
        const bool both_are_none = std::isnan(x) && std::isnan(best);
        const std::int32_t number_of_x = r.places[i] + i;
        const bool before = number_of_x < number_of_best && (x == best || both_are_none);
        if (!before && (x <= best || std::isnan(best))) continue;
        best = x;
        number_of_best = number_of_x;
      }
      r.more_numbers[w] = best;
      if (!places.given()) continue;
      base::template begin<std::int32_t>(places, r, r.at[0], r.at[1])[w * places.steps[2]] =
          number_of_best;
    }
    kernels_.store(r.more_numbers, windows[2].out,
                   base::template begin<T>(response, r, r.at[0], r.at[1]), response.steps[2]);
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

  void average_of_channels(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      const bool none = depth.empty() || height.empty() || width.empty();
      const real by = none ? real{1} : divisor(0, depth) * divisor(1, height) * divisor(2, width);
      const auto add_all = [&](auto& parts) {
        for_each_factor(r, depth, height, [&](real of_row, std::int64_t d, std::int64_t h) {
          const T* const x = base::template begin<T>(image, r, d, h);
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            parts.add({.x = x + place(2, width, tw) * image.steps[2],
                       .n = in.c,
                       .factor = of_row * factor(2, w, width, tw)});
          }
        });
      };
      if (!none && are_few(depth, height, width.end - width.first)) {
        few_parts<T> parts;
        add_all(parts);
        kernels_.sum_of_lines(
            parts.all(), image.c_step, in.c, {.first = &by}, real{1},
            base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
            response.c_step);
        continue;
      }
      std::fill_n(r.numbers, in.c, real{0});
      {
        auto parts = together(sums(r.numbers, image.c_step));
        add_all(parts);
      }
      kernels_.divide(
          r.numbers, {.first = &by}, real{1}, in.c,
          base::template begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
          response.c_step);
    }
  }

  void average_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    const bool none = depth.empty() || height.empty();
    const real lines = none ? real{1} : divisor(0, depth) * divisor(1, height);
    T* const y = base::template begin<T>(response, r, r.at[0], r.at[1]);
    if constexpr (std::same_as<Windows, fixed_windows>) {
      if (!none && are_few(depth, height, taps_of_line(r))) {
        const std::int64_t step = image.steps[2] * windows[2].stride;
        few_parts<T> parts;
        add_lines(r, depth, height, parts);
        return parts.in_pieces(
            windows[2].out, step, 0,
            [&](std::span<const line_part<T>> here, std::int64_t first, std::int64_t n) {
              kernels_.sum_of_lines(here, step, n, {.first = r.lines->divisors + first, .step = 1},
                                    lines, y + first * response.steps[2], response.steps[2]);
            });
      }
    }
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
    kernels_.divide(r.more_numbers, {.first = r.lines->divisors, .step = 1}, lines, count, y,
                    response.steps[2]);
  }
};

}  // namespace troupe::cpu
