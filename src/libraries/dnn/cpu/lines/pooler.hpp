#pragma once

#include "libraries/dnn/cpu/lines/line_kernels.hpp"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/dnn/shared/windows.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <troupe/plugin/executor.hpp>

#include <array>
#include <concepts>
#include <limits>

namespace troupe::cpu {

using dnn::fixed_windows;
using dnn::image_extents;
using dnn::image_view;
using dnn::tap_range;
using dnn::window_range;

/// One pooling, or resampling, of images: response from image, or image from response. Rows of the
/// result are computed by themselves, each by one thread in a fixed order: those of positions along
/// the last dimension, whose lines go along the channels where these lie closer, or else along that
/// dimension.
template <class T, class Windows>
class pooler {
 public:
  using kernels = line_kernels<T>;
  using real = typename kernels::real;

  std::array<Windows, 3> windows{};
  image_extents in;
  image_extents out;
  image_view image;
  image_view response;
  image_view places;
  bool wide_places = false;

  void take(const any_tensor& of_image, const any_tensor& of_response) {
    in = image_extents(of_image);
    out = image_extents(of_response);
    image = image_view(of_image);
    response = image_view(of_response);
  }
  void take_places(const any_tensor& t) {
    if (t.null()) return;
    places = image_view(t);
    wide_places = t.type() == dtype::i32;
  }

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
  /// A row of the result, of one channel or of all of them, and scratch of the thread.
  struct row {
    std::int64_t n, c;
    std::array<std::int32_t, 2> at;
    real* numbers;  ///< room for two lines
    real* more_numbers;
    std::int32_t* places;
    const std::int32_t* first_taps;  ///< of windows along the last dimension; −1 for padding alone
  };

  [[nodiscard]] bool along_channels() const noexcept {
    return in.c > 1 && image.c_step <= image.steps[2];
  }
  [[nodiscard]] std::int64_t line() const noexcept {
    return along_channels() ? in.c : std::max(in.space[2], out.space[2]);
  }
  [[nodiscard]] std::int64_t window_work() const noexcept {
    std::int64_t all = 1;
    for (const Windows& w : windows)
      all *= largest(w);
    return all;
  }
  [[nodiscard]] static std::int64_t largest(const Windows& w) noexcept {
    if constexpr (std::same_as<Windows, fixed_windows>) {
      return std::min(w.window, w.in);
    } else {
      return w.taps_of(0).end + 1;
    }
  }
  /// For each element of the image.
  [[nodiscard]] std::int64_t work_of_image() const noexcept {
    const auto all = static_cast<double>(out.places()) * static_cast<double>(window_work());
    return static_cast<std::int64_t>(all / static_cast<double>(in.places())) + 1;
  }

  /// Additions that are worth another thread, and those of a task, so that taking one costs
  /// nothing.
  static constexpr std::int64_t work_per_thread = std::int64_t{1} << 19;
  static constexpr std::int64_t work_per_task = std::int64_t{1} << 14;

  /// Calls `of_row` for each row of a result of these extents.
  template <class F>
  result<void> run(lane_context& lane, const image_extents& of, std::int64_t work, F of_row) const {
    if (of.n == 0) return {};
    const std::int64_t lines_c = along_channels() ? 1 : of.c;
    const std::int64_t rows = of.n * lines_c * of.space[0] * of.space[1];
    const std::int64_t row_work =
        std::max<std::int64_t>(1, of.space[2] * (along_channels() ? of.c : 1) * work);
    const std::int64_t per_task = std::clamp<std::int64_t>(work_per_task / row_work, 1, rows);
    const std::int64_t tasks = (rows - 1) / per_task + 1;
    const std::int64_t threads = threads_for(
        tasks, row_work > std::int64_t{1} << 40 ? row_work : row_work * rows, work_per_thread);
    const std::int64_t each = padded(line() * static_cast<std::int64_t>(sizeof(real)));
    const std::int64_t of_places = padded(line() * std::int64_t{4});
    const std::int64_t of_thread = 3 * each + of_places;
    auto room = lane.workspace(static_cast<std::size_t>(of_thread * threads + of_places));
    if (!room) return std::move(room).error();
    auto* const first_taps = reinterpret_cast<std::int32_t*>(room->data() + of_thread * threads);
    for (std::int32_t w = 0; w < windows[2].out && !along_channels(); ++w) {
      const tap_range taps = windows[2].taps_of(w);
      first_taps[w] = taps.empty() ? -1 : taps.first;
    }
    share_out(threads, tasks, [&](std::int64_t thread, std::int64_t task) {
      std::byte* const own = room->data() + thread * of_thread;
      row r{};
      r.numbers = reinterpret_cast<real*>(own);
      r.more_numbers = reinterpret_cast<real*>(own + 2 * each);
      r.places = reinterpret_cast<std::int32_t*>(own + 3 * each);
      r.first_taps = first_taps;
      for (std::int64_t i = task * per_task; i < std::min(rows, (task + 1) * per_task); ++i) {
        std::int64_t rest = i;
        const auto next = [&](std::int64_t extent) {
          const std::int64_t at = rest % extent;
          rest /= extent;
          return at;
        };
        r.at[1] = static_cast<std::int32_t>(next(of.space[1]));
        r.at[0] = static_cast<std::int32_t>(next(of.space[0]));
        r.c = next(lines_c);
        r.n = rest;
        of_row(r);
      }
    });
    return {};
  }
  [[nodiscard]] static std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + 63) / 64 * 64;
  }

  /// Where a row of a view begins.
  template <class E>
  [[nodiscard]] static E* begin(const image_view& v, const row& r, std::int64_t d, std::int64_t h) {
    return v.elements<E>() + r.n * v.n_step + r.c * v.c_step + d * v.steps[0] + h * v.steps[1];
  }
  [[nodiscard]] std::int64_t place(int d, const tap_range& taps, std::int32_t tap) const noexcept {
    return taps.start + std::int64_t{tap} * windows[static_cast<std::size_t>(d)].dilation;
  }
  /// Calls `f(places, d, h)` for each tap of the first two dimensions, where `places` is the number
  /// of the window's first place there.
  template <class F>
  void for_each_tap(const tap_range& depth, const tap_range& height, F f) const {
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th)
        f(first_place(td, th), place(0, depth, td), place(1, height, th));
    }
  }
  [[nodiscard]] std::int32_t first_place(std::int32_t td, std::int32_t th) const noexcept {
    if constexpr (std::same_as<Windows, fixed_windows>) {
      // Larger than 31 bits only where nobody asks for places.
      const auto whole = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
      return static_cast<std::int32_t>((whole(td) * whole(windows[1].window) + whole(th)) *
                                       whole(windows[2].window));
    } else {
      return 0;
    }
  }
  void store_places(const row& r, std::int64_t w, std::int64_t n, std::int64_t step) const {
    const auto keep = [&]<class P>(P) {
      P* const to = begin<P>(places, r, r.at[0], r.at[1]) + w * places.steps[2];
      for (std::int64_t j = 0; j < n; ++j)
        to[j * step] = static_cast<P>(r.places[j]);
    };
    wide_places ? keep(std::int32_t{}) : keep(std::uint8_t{});
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
        for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
          for (std::int32_t tw = width.first; tw < width.end; ++tw) {
            const T* const x = begin<T>(image, r, d, h) + place(2, width, tw) * image.steps[2];
            if (places.given()) {
              kernels_.take_max_at(x, image.c_step, in.c, r.numbers, r.places, first + tw);
            } else {
              kernels_.take_max(x, image.c_step, in.c, r.numbers);
            }
          }
        });
      }
      kernels_.store(r.numbers, in.c,
                     begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
                     response.c_step);
      if (places.given()) store_places(r, w, in.c, places.c_step);
    }
  }

  /// Windows along the last dimension whose tap lies in the image.
  [[nodiscard]] window_range windows_with(std::int32_t tap) const noexcept {
    const fixed_windows& w = windows[2];
    const std::int64_t from = std::int64_t{w.padding} - std::int64_t{tap} * w.dilation;
    const std::int64_t first = from <= 0 ? 0 : (from - 1) / w.stride + 1;
    const std::int64_t last = w.in - 1 + from;
    const std::int64_t end = last < 0 ? 0 : std::min<std::int64_t>(w.out, last / w.stride + 1);
    return {.first = static_cast<std::int32_t>(std::min(first, end)),
            .end = static_cast<std::int32_t>(end)};
  }
  /// Taps that lie in the image in some window along the last dimension.
  [[nodiscard]] window_range taps_in_use() const noexcept {
    const fixed_windows& w = windows[2];
    const std::int64_t before = w.padding - std::int64_t{w.out - 1} * w.stride;
    const std::int64_t end = (std::int64_t{w.in} - 1 + w.padding) / w.dilation + 1;
    return {.first = before <= 0 ? 0 : static_cast<std::int32_t>((before - 1) / w.dilation + 1),
            .end = static_cast<std::int32_t>(std::min<std::int64_t>(w.window, end))};
  }
  /// The element of the image where such a tap of a window is.
  [[nodiscard]] std::int64_t element(std::int32_t window, std::int32_t tap) const noexcept {
    const fixed_windows& w = windows[2];
    return std::int64_t{window} * w.stride - w.padding + std::int64_t{tap} * w.dilation;
  }

  void max_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    const bool none = depth.empty() || height.empty();
    const std::int32_t count = windows[2].out;
    std::fill_n(r.numbers, count, -std::numeric_limits<real>::infinity());
    if (places.given()) {
      const std::int32_t first = first_place(depth.first, height.first);
      for (std::int32_t w = 0; w < count; ++w)
        r.places[w] = none || r.first_taps[w] < 0 ? -1 : first + r.first_taps[w];
    }
    const std::int64_t step = image.steps[2] * windows[2].stride;
    const window_range taps = taps_in_use();
    for_each_tap(depth, height, [&](std::int32_t first, std::int64_t d, std::int64_t h) {
      for (std::int32_t tw = taps.first; tw < taps.end; ++tw) {
        const window_range of = windows_with(tw);
        if (of.first >= of.end) continue;
        const T* const x = begin<T>(image, r, d, h) + element(of.first, tw) * image.steps[2];
        if (places.given()) {
          kernels_.take_max_at(x, step, of.end - of.first, r.numbers + of.first,
                               r.places + of.first, first + tw);
        } else {
          kernels_.take_max(x, step, of.end - of.first, r.numbers + of.first);
        }
      }
    });
    kernels_.store(r.numbers, count, begin<T>(response, r, r.at[0], r.at[1]), response.steps[2]);
    if (places.given()) store_places(r, 0, count, places.steps[2]);
  }

  [[nodiscard]] real factor(int d, std::int32_t o, const tap_range& taps,
                            std::int32_t tap) const noexcept {
    return windows[static_cast<std::size_t>(d)].template factor<real>(o, taps, tap);
  }
  [[nodiscard]] real divisor(int d, const tap_range& taps) const noexcept {
    return static_cast<real>(windows[static_cast<std::size_t>(d)].divisor(taps));
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
      std::fill_n(r.numbers, in.c, real{0});
      for_each_factor(r, depth, height, [&](real of_row, std::int64_t d, std::int64_t h) {
        for (std::int32_t tw = width.first; tw < width.end; ++tw) {
          kernels_.add(begin<T>(image, r, d, h) + place(2, width, tw) * image.steps[2],
                       image.c_step, in.c, of_row * factor(2, w, width, tw), r.numbers);
        }
      });
      if (!depth.empty() && !height.empty() && !width.empty()) {
        const real by = divisor(0, depth) * divisor(1, height) * divisor(2, width);
        for (std::int64_t c = 0; c < in.c; ++c)
          r.numbers[c] /= by;
      }
      kernels_.store(r.numbers, in.c,
                     begin<T>(response, r, r.at[0], r.at[1]) + w * response.steps[2],
                     response.c_step);
    }
  }

  void average_of_row(const row& r) const {
    const tap_range depth = windows[0].taps_of(r.at[0]);
    const tap_range height = windows[1].taps_of(r.at[1]);
    std::fill_n(r.numbers, in.space[2], real{0});
    for_each_factor(r, depth, height, [&](real of_row, std::int64_t d, std::int64_t h) {
      kernels_.add(begin<T>(image, r, d, h), image.steps[2], in.space[2], of_row, r.numbers);
    });
    const bool none = depth.empty() || height.empty();
    const real rows = none ? real{1} : divisor(0, depth) * divisor(1, height);
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      real sum = 0;
      if (!none && !width.empty()) {
        for (std::int32_t t = width.first; t < width.end; ++t)
          sum += factor(2, w, width, t) * r.numbers[width.start + t];
        sum /= rows * divisor(2, width);
      }
      r.more_numbers[w] = sum;
    }
    kernels_.store(r.more_numbers, windows[2].out, begin<T>(response, r, r.at[0], r.at[1]),
                   response.steps[2]);
  }

  template <bool Max>
  void gradient_of_channels(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    for (std::int32_t i = 0; i < windows[2].in; ++i) {
      std::fill_n(r.numbers, in.c, real{0});
      const window_range width = windows[2].windows_of(i);
      for (std::int32_t d = depth.first; d < depth.end; ++d) {
        for (std::int32_t h = height.first; h < height.end; ++h) {
          for (std::int32_t w = width.first; w < width.end; ++w) {
            const T* const dy = begin<T>(response, r, d, h) + w * response.steps[2];
            if constexpr (Max) {
              const std::int32_t td = windows[0].tap_at(d, r.at[0]);
              const std::int32_t th = windows[1].tap_at(h, r.at[1]);
              const std::int32_t tw = windows[2].tap_at(w, i);
              if (td < 0 || th < 0 || tw < 0) continue;
              add_where(r, dy, response.c_step, d, h, w, places.c_step, first_place(td, th) + tw,
                        in.c, r.numbers, 1);
            } else {
              kernels_.add(dy, response.c_step, in.c,
                           share(0, d, r.at[0]) * share(1, h, r.at[1]) * share(2, w, i), r.numbers);
            }
          }
        }
      }
      kernels_.store(r.numbers, in.c, begin<T>(image, r, r.at[0], r.at[1]) + i * image.steps[2],
                     image.c_step);
    }
  }
  void add_where(const row& r, const T* dy, std::int64_t step, std::int64_t d, std::int64_t h,
                 std::int64_t w, std::int64_t places_step, std::int32_t place, std::int64_t n,
                 real* sums, std::int64_t sums_step) const {
    if (wide_places) {
      kernels_.add_where_wide(dy, step, begin<std::int32_t>(places, r, d, h) + w * places.steps[2],
                              places_step, place, n, sums, sums_step);
    } else {
      kernels_.add_where(dy, step, begin<std::uint8_t>(places, r, d, h) + w * places.steps[2],
                         places_step, place, n, sums, sums_step);
    }
  }

  void max_gradient_of_row(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    const window_range taps = taps_in_use();
    clear_phases(r);
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      for (std::int32_t h = height.first; h < height.end; ++h) {
        const std::int32_t td = windows[0].tap_at(d, r.at[0]);
        const std::int32_t th = windows[1].tap_at(h, r.at[1]);
        if (td < 0 || th < 0) continue;
        for (std::int32_t tw = taps.first; tw < taps.end; ++tw) {
          const window_range of = windows_with(tw);
          if (of.first >= of.end) continue;
          add_where(r, begin<T>(response, r, d, h) + of.first * response.steps[2],
                    response.steps[2], d, h, of.first, places.steps[2], first_place(td, th) + tw,
                    of.end - of.first, in_phase(r, element(of.first, tw)), 1);
        }
      }
    }
    store_phases(r);
  }

  // Sums of a row of the image, those first that are a stride apart: neighbouring windows add to
  // neighbours. A phase has room for ⌈in / stride⌉ of them.
  [[nodiscard]] std::int64_t phases() const noexcept {
    return std::min(windows[2].stride, windows[2].in);
  }
  [[nodiscard]] std::int64_t phase_length() const noexcept {
    return (std::int64_t{windows[2].in} - 1) / windows[2].stride + 1;
  }
  void clear_phases(const row& r) const {
    std::fill_n(r.numbers, phases() * phase_length(), real{0});
  }
  [[nodiscard]] real* in_phase(const row& r, std::int64_t element) const noexcept {
    return r.numbers + element % windows[2].stride * phase_length() + element / windows[2].stride;
  }
  void store_phases(const row& r) const {
    T* const to = begin<T>(image, r, r.at[0], r.at[1]);
    for (std::int64_t p = 0; p < phases(); ++p) {
      kernels_.store(r.numbers + p * phase_length(),
                     (windows[2].in - 1 - p) / windows[2].stride + 1, to + p * image.steps[2],
                     image.steps[2] * windows[2].stride);
    }
  }

  /// Of window `o`, one of those that place `i` is in: what of its gradient is the place's.
  [[nodiscard]] real share(int d, std::int32_t o, std::int32_t i) const noexcept {
    const Windows& w = windows[static_cast<std::size_t>(d)];
    const tap_range taps = w.taps_of(o);
    return factor(d, o, taps, i - taps.start) / divisor(d, taps);
  }
  void average_gradient_of_row(const row& r) const {
    const window_range depth = windows[0].windows_of(r.at[0]);
    const window_range height = windows[1].windows_of(r.at[1]);
    std::fill_n(r.more_numbers, out.space[2], real{0});
    for (std::int32_t d = depth.first; d < depth.end; ++d) {
      for (std::int32_t h = height.first; h < height.end; ++h) {
        kernels_.add(begin<T>(response, r, d, h), response.steps[2], out.space[2],
                     share(0, d, r.at[0]) * share(1, h, r.at[1]), r.more_numbers);
      }
    }
    if constexpr (std::same_as<Windows, fixed_windows>) {
      for (std::int32_t w = 0; w < windows[2].out; ++w) {
        const tap_range width = windows[2].taps_of(w);
        r.more_numbers[w] = width.empty() ? real{0} : r.more_numbers[w] / divisor(2, width);
      }
      clear_phases(r);
      const window_range taps = taps_in_use();
      for (std::int32_t tw = taps.first; tw < taps.end; ++tw) {
        const window_range of = windows_with(tw);
        if (of.first < of.end) {
          sums_.add(r.more_numbers + of.first, 1, of.end - of.first, real{1},
                    in_phase(r, element(of.first, tw)));
        }
      }
      return store_phases(r);
    }
    std::fill_n(r.numbers, in.space[2], real{0});
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range width = windows[2].taps_of(w);
      if (width.empty()) continue;
      const real sum = r.more_numbers[w] / divisor(2, width);
      for (std::int32_t t = width.first; t < width.end; ++t)
        r.numbers[width.start + t] += sum * factor(2, w, width, t);
    }
    kernels_.store(r.numbers, in.space[2], begin<T>(image, r, r.at[0], r.at[1]), image.steps[2]);
  }

  const kernels& kernels_ = kernels::mine();
  const line_kernels<real>& sums_ = line_kernels<real>::mine();
};

}  // namespace troupe::cpu
