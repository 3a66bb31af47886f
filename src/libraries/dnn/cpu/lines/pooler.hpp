#pragma once

#include "libraries/dnn/cpu/lines/few_parts.hpp"
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
  template <class Range>
  [[nodiscard]] static bool are_few(const Range& depth, const Range& height,
                                    std::int64_t width) noexcept {
    const std::int64_t lines =
        (std::int64_t{depth.end} - depth.first) * (std::int64_t{height.end} - height.first);
    return lines <= few_parts<T>::most && lines * width <= few_parts<T>::most;
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
            parts.add({.x = line + place(2, width, tw) * image.steps[2], .place = first + tw});
          }
        });
        store_maxima(r, parts.all(), image.c_step, w, in.c, response.c_step, places.c_step);
        continue;
      }
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

  [[nodiscard]] static std::int64_t taps_of_line(const row& r) noexcept {
    return std::int64_t{r.lines->in_use.end} - r.lines->in_use.first;
  }
  /// What windows along the last dimension have of an image, tap by tap.
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
      const std::int32_t first = first_place(depth.first, height.first);
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

  template <bool Max>
  void gradient_of_channels(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    constexpr real one = 1;
    for (std::int32_t i = 0; i < windows[2].in; ++i) {
      const window_range width = windows[2].windows_of(i);
      T* const dx = base::template begin<T>(image, r, r.at[0], r.at[1]) + i * image.steps[2];
      const auto add_all = [&](auto& parts) {
        for (std::int32_t w = width.first; w < width.end; ++w) {
          if constexpr (Max) {
            const std::int32_t tw = windows[2].tap_at(w, i);
            if (tw < 0) continue;
            for_each_window(r, depth, height,
                            [&](std::int32_t d, std::int32_t h, std::int32_t first) {
                              parts.add(gradient(r, d, h, w, first + tw, 0, in.c));
                            });
          } else {
            const real of_width = share(2, w, i);
            for_each_share(r, depth, height, [&](std::int32_t d, std::int32_t h, real of_line) {
              parts.add({.x = base::template begin<T>(response, r, d, h) + w * response.steps[2],
                         .n = in.c,
                         .factor = of_line * of_width});
            });
          }
        }
      };
      if (are_few(depth, height, width.end - width.first)) {
        few_parts<T> parts;
        add_all(parts);
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
    const auto add_lines_of = [&](auto at, auto& parts) {
      for_each_window(r, depth, height, [&](std::int32_t d, std::int32_t h, std::int32_t first) {
        for_each_line(r, [&](std::int32_t tap, const tap_line& line) {
          const std::int64_t to = at(line);
          if (to < 0) return;
          parts.add(gradient(r, d, h, line.of.first, first + tap, to, line.of.end - line.of.first));
        });
      });
    };
    if (are_few(depth, height, taps_of_line(r))) {
      const std::int64_t bytes = places.steps[2] * (wide_places ? 4 : 1);
      for (std::int64_t phase = 0; phase < phases(); ++phase) {
        real* const to = r.numbers + phase * phase_length();
        few_parts<T> parts;
        add_lines_of([&](const tap_line& line) { return line.phase == phase ? line.in_phase : -1; },
                     parts);
        parts.in_pieces(
            places_of_phase(phase), step, bytes,
            [&](std::span<const line_part<T>> here, std::int64_t first, std::int64_t n) {
              where_of(here, step, places.steps[2], n, to + first);
            });
      }
    } else {
      clear_phases(r);
      auto parts = together(gradients(r.numbers, step, places.steps[2]));
      add_lines_of(
          [&](const tap_line& line) { return line.phase * phase_length() + line.in_phase; }, parts);
    }
    store_phases(r);
  }
  [[nodiscard]] std::int64_t places_of_phase(std::int64_t phase) const noexcept {
    return (windows[2].in - 1 - phase) / windows[2].stride + 1;
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

  const kernels& kernels_ = kernels::mine();
  const line_kernels<real>& sums_ = line_kernels<real>::mine();
};

}  // namespace troupe::cpu
