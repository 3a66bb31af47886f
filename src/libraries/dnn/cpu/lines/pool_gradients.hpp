#pragma once

#include "libraries/dnn/cpu/lines/line_parts.hpp"
#include "libraries/dnn/cpu/lines/pooled_rows.hpp"

#include <algorithm>
#include <concepts>
#include <span>

namespace troupe::cpu {

/// Images from responses: gradients. Rows of the result are computed by themselves, each by one
/// thread in a fixed order.
template <class T, class Windows>
class pool_gradients : public pooled_rows<T, Windows> {
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

  result<void> max_backward(lane_context& lane) const {
    return run(lane, in, work_of_image(), [this](const row& r) {
      if (along_channels()) {
        gradient_of_channels<true>(r);
      } else if constexpr (std::same_as<Windows, fixed_windows>) {
        max_gradient_of_row(r);
      } else {
        uneven_max_gradient_of_row(r);
      }
    });
  }
  result<void> average_backward(lane_context& lane) const {
    return run(lane, in, work_of_image(), [this](const row& r) {
      along_channels() ? gradient_of_channels<false>(r) : average_gradient_of_row(r);
    });
  }

 protected:
  using base::along_channels;
  using base::clear_phases;
  using base::divisor;
  using base::factor;
  using base::first_place;
  using base::for_each_line;
  using base::phase_length;
  using base::phases;
  using base::places_of_phase;
  using base::run;
  using base::share;
  using base::work_of_image;
  using typename base::row;
  using typename base::tap_line;

  template <class F>
  [[nodiscard]] static line_parts<T, F> together(F flush) {
    return line_parts<T, F>(flush);
  }

  template <class Range>
  [[nodiscard]] static bool are_few(const Range& depth, const Range& height,
                                    std::int64_t width) noexcept {
    const std::int64_t lines =
        (std::int64_t{depth.end} - depth.first) * (std::int64_t{height.end} - height.first);
    return lines <= few_parts<T>::most && lines * width <= few_parts<T>::most;
  }
  [[nodiscard]] static std::int64_t taps_of_line(const row& r) noexcept {
    return std::int64_t{r.lines->in_use.end} - r.lines->in_use.first;
  }
  [[nodiscard]] auto sums(real* to, std::int64_t step) const {
    return [this, to, step](std::span<const line_part<T>> parts) {
      kernels_.add_parts(parts, step, to);
    };
  }
  const kernels& kernels_ = kernels::mine();
  const line_kernels<real>& sums_ = line_kernels<real>::mine();

 private:
  template <bool Max>
  void gradient_of_channels(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    constexpr real one = 1;
    const std::int64_t places_bytes = places.steps[2] * (wide_places ? 4 : 1);
    few_parts<T> lines;
    if (are_few(depth, height, 1)) {
      if constexpr (Max) {
        for_each_window(r, depth, height, [&](std::int32_t d, std::int32_t h, std::int32_t first) {
          lines.add(gradient(r, d, h, 0, first, 0, 0));
        });
      } else {
        for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
          lines.add({.x = base::template begin<T>(response, r, d, h), .factor = of_line});
        });
      }
    }
    for (std::int32_t i = 0; i < windows[2].in; ++i) {
      const window_range width = windows[2].windows_of(i);
      T* const dx = base::template begin<T>(image, r, r.at[0], r.at[1]) + i * image.steps[2];
      const auto add_all = [&](auto& parts) {
        for (std::int32_t w = width.first; w < width.end; ++w) {
          if constexpr (Max) {
            const std::int32_t tw = windows[2].number_at(w, i);
            if (tw < 0) continue;
            for_each_window(r, depth, height,
                            [&](std::int32_t d, std::int32_t h, std::int32_t first) {
                              parts.add(gradient(r, d, h, w, first + tw, 0, in.c));
                            });
          } else {
            const real of_width = share(2, w, i);
            if (of_width == 0) continue;
            for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
              parts.add({.x = base::template begin<T>(response, r, d, h) + w * response.steps[2],
                         .n = in.c,
                         .factor = of_line * of_width});
            });
          }
        }
      };
      if (are_few(depth, height, std::max(1, width.end - width.first))) {
        few_parts<T> parts;
        for (std::int32_t w = width.first; w < width.end; ++w) {
          std::int32_t tw = 0;
          if constexpr (Max) tw = windows[2].number_at(w, i);
          const real of_width = Max ? real{1} : share(2, w, i);
          if (tw < 0 || of_width == 0) continue;
          for (const line_part<T>& line : lines.all()) {
            const auto* const of = static_cast<const std::byte*>(line.places);
            parts.add({.x = line.x + w * response.steps[2],
                       .n = in.c,
                       .factor = line.factor * of_width,
                       .place = line.place + tw,
                       .places = Max ? of + w * places_bytes : nullptr});
          }
        }
        if constexpr (Max) {
          where_of(parts.all(), response.c_step, places.c_step, in.c, r.numbers);
          kernels_.store(r.numbers, in.c, dx, image.c_step);
        } else {
          kernels_.sum_of_lines(parts.all(), response.c_step, in.c, {.first = &one}, one, dx,
                                image.c_step);
        }
        continue;
      }
      std::fill_n(r.numbers, in.c, real{0});
      if constexpr (Max) {
        auto parts = together(gradients(r.numbers, response.c_step, places.c_step));
        add_all(parts);
      } else {
        auto parts = together(sums(r.numbers, response.c_step));
        add_all(parts);
      }
      kernels_.store(r.numbers, in.c, dx, image.c_step);
    }
  }
  /// Calls `f(d, h, first_place)` for each window of the first two dimensions that the row is in.
  template <class F>
  void for_each_window(const row& r, const window_range& depth, const window_range& height,
                       F f) const {
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      const std::int32_t td = windows[0].number_at(d, r.at[0]);
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const std::int32_t th = windows[1].number_at(h, r.at[1]);
        if (td >= 0 && th >= 0) f(d, h, first_place(td, th));
      }
    }
  }
  /// Calls `f(d, h, share)` for each of them.
  template <class F>
  void for_each_share(const row& r, const window_range& depth, const window_range& height,
                      F f) const {
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const real of_line = base::share_of_line(r, d, h);
        if (of_line != 0) f(d, h, of_line);
      }
    }
  }
  [[nodiscard]] auto gradients(real* to, std::int64_t step, std::int64_t places_step) const {
    return [this, to, step, places_step](std::span<const line_part<T>> parts) {
      (wide_places ? kernels_.add_where_wide : kernels_.add_where)(parts, step, places_step, to);
    };
  }
  void where_of(std::span<const line_part<T>> parts, std::int64_t step, std::int64_t places_step,
                std::int64_t n, real* to) const {
    (wide_places ? kernels_.where_of_lines_wide : kernels_.where_of_lines)(parts, step, places_step,
                                                                           n, to);
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
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    const std::int64_t step = response.steps[2];
    if (!are_few(depth, height, taps_of_line(r))) {
      clear_phases(r);
      {
        auto parts = together(gradients(r.numbers, step, places.steps[2]));
        for_each_window(r, depth, height, [&](std::int32_t d, std::int32_t h, std::int32_t first) {
          for_each_line(r, [&](std::int32_t tap, const tap_line& line) {
            parts.add(gradient(r, d, h, line.of.first, first + tap,
                               line.phase * phase_length() + line.in_phase,
                               line.of.end - line.of.first));
          });
        });
      }
      return store_phases(r);
    }
    const std::int64_t bytes = places.steps[2] * (wide_places ? 4 : 1);
    few_parts<T> lines;
    for_each_window(r, depth, height, [&](std::int32_t d, std::int32_t h, std::int32_t first) {
      lines.add(gradient(r, d, h, 0, first, 0, 0));
    });
    for (std::int64_t phase = 0; phase < phases(); ++phase) {
      real* const to = r.numbers + phase * phase_length();
      few_parts<T> parts;
      for (const line_part<T>& of : lines.all()) {
        for_each_line(r, [&](std::int32_t tap, const tap_line& line) {
          if (line.phase != phase) return;
          parts.add({.x = of.x + line.of.first * step,
                     .to = line.in_phase,
                     .n = line.of.end - line.of.first,
                     .place = of.place + tap,
                     .places = static_cast<const std::byte*>(of.places) + line.of.first * bytes});
        });
      }
      parts.in_pieces(places_of_phase(phase), step, bytes,
                      [&](std::span<const line_part<T>> here, std::int64_t first, std::int64_t n) {
                        where_of(here, step, places.steps[2], n, to + first);
                      });
    }
    store_phases(r);
  }

  /// For windows of any lengths along the last dimension, whose places are those of the image.
  void uneven_max_gradient_of_row(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    std::fill_n(r.numbers, in.space[2], real{0});
    for_each_window(r, depth, height, [&](std::int32_t d, std::int32_t h, std::int32_t first) {
      const T* const dy = base::template begin<T>(response, r, d, h);
      const auto* const of = base::template begin<std::int32_t>(places, r, d, h);
      for (std::int32_t w = 0; w < windows[2].out; ++w) {
        const tap_range taps = windows[2].taps_of(w);
        const std::int64_t column = std::int64_t{of[w * places.steps[2]]} - first;
        if (column < taps.start || column >= std::int64_t{taps.start} + taps.end) continue;
        r.numbers[column] += widened<real>(dy[w * response.steps[2]]);
      }
    });
    kernels_.store(r.numbers, in.space[2], base::template begin<T>(image, r, r.at[0], r.at[1]),
                   image.steps[2]);
  }

  void store_phases(const row& r) const {
    T* const to = base::template begin<T>(image, r, r.at[0], r.at[1]);
    if (windows[2].stride == 2 && phases() == 2) {
      return kernels_.store_pairs(r.numbers, r.numbers + phase_length(), windows[2].in, to,
                                  image.steps[2]);
    }
    for (std::int64_t p = 0; p < phases(); ++p) {
      kernels_.store(r.numbers + p * phase_length(), places_of_phase(p), to + p * image.steps[2],
                     image.steps[2] * windows[2].stride);
    }
  }

  /// For windows of equal sizes along the last dimension, whose sums are of T.
  void even_gradient_of_row(const row& r, const window_range& depth,
                            const window_range& height) const {
    constexpr real one = 1;
    const std::int64_t step = response.steps[2];
    few_parts<T> lines;
    for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
      lines.add({.x = base::template begin<T>(response, r, d, h),
                 .factor = of_line / r.lines->divisors[0]});
    });
    for (std::int64_t phase = 0; phase < phases(); ++phase) {
      real* const to = r.numbers + phase * phase_length();
      few_parts<T> parts;
      for (const line_part<T>& of : lines.all()) {
        for_each_line(r, [&](std::int32_t, const tap_line& line) {
          if (line.phase != phase) return;
          parts.add({.x = of.x + line.of.first * step,
                     .to = line.in_phase,
                     .n = line.of.end - line.of.first,
                     .factor = of.factor});
        });
      }
      parts.in_pieces(places_of_phase(phase), step, 0,
                      [&](std::span<const line_part<T>> here, std::int64_t first, std::int64_t n) {
                        kernels_.sum_of_lines(here, step, n, {.first = &one}, one, to + first, 1);
                      });
    }
    store_phases(r);
  }
  void average_gradient_of_row(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    if constexpr (std::same_as<Windows, fixed_windows> && std::same_as<T, real>) {
      if (r.lines->even && out.space[2] > 0 && are_few(depth, height, taps_of_line(r)))
        return even_gradient_of_row(r, depth, height);
    }
    std::fill_n(r.more_numbers, out.space[2], real{0});
    {
      auto parts = together(sums(r.more_numbers, response.steps[2]));
      for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
        parts.add({.x = base::template begin<T>(response, r, d, h),
                   .n = out.space[2],
                   .factor = of_line});
      });
    }
    sums_.divide(r.more_numbers, {.first = r.lines->divisors, .step = 1}, real{1}, out.space[2],
                 r.more_numbers, 1);
    if constexpr (std::same_as<Windows, fixed_windows>) {
      constexpr real one = 1;
      const bool few = taps_of_line(r) <= few_parts<real>::most;
      if (!few) clear_phases(r);
      for (std::int64_t phase = 0; phase < phases(); ++phase) {
        real* const to = r.numbers + phase * phase_length();
        few_parts<real> parts;
        for_each_line(r, [&](std::int32_t, const tap_line& line) {
          if (line.phase != phase) return;
          const real* const from = r.more_numbers + line.of.first;
          const std::int64_t n = line.of.end - line.of.first;
          if (few) {
            parts.add({.x = from, .to = line.in_phase, .n = n});
          } else {
            sums_.add(from, 1, n, one, to + line.in_phase);
          }
        });
        if (!few) continue;
        parts.in_pieces(
            places_of_phase(phase), 1, 0,
            [&](std::span<const line_part<real>> here, std::int64_t first, std::int64_t n) {
              sums_.sum_of_lines(here, 1, n, {.first = &one}, one, to + first, 1);
            });
      }
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
};

}  // namespace troupe::cpu
