#pragma once

#include "libraries/dnn/cpu/lines/line_kernels.hpp"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/dnn/shared/windows.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <troupe/plugin/executor.hpp>

#include <array>
#include <concepts>

namespace troupe::cpu {

using dnn::fixed_windows;
using dnn::image_extents;
using dnn::image_view;
using dnn::tap_range;
using dnn::window_range;

/// The common part of poolings and resamplings of images: their windows, and the rows of a result,
/// which are positions along the last dimension. Lines go along the channels if these are closer in
/// memory, or else along that dimension.
template <class T, class Windows>
class pooled_rows {
 public:
  using real = typename line_kernels<T>::real;

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

 protected:
  /// A tap of windows along the last dimension in the image.
  struct tap_line {
    window_range of{};          ///< windows
    std::int64_t element = 0;   ///< of the image, of the first one
    std::int64_t phase = 0;     ///< of that element
    std::int64_t in_phase = 0;  ///< where in its phase it is
  };
  /// Data of the last dimension for all rows, if lines go along it.
  struct prepared_lines {
    std::int32_t* first_taps = nullptr;  ///< one for each window; −1 for padding alone
    real* divisors = nullptr;            ///< one for each window
    tap_line* taps = nullptr;
    window_range in_use{};   ///< taps
    bool empty = false;      ///< some windows are of padding alone
    bool even = true;        ///< all divisors are the same
    std::int32_t count = 0;  ///< of those that are prepared, the first in use
  };
  /// A row of the result, of one channel or of all of them, and scratch of the thread.
  struct row {
    std::int64_t n, c;
    std::array<std::int32_t, 2> at;
    real* numbers;  ///< room for two lines
    real* more_numbers;
    std::int32_t* places;
    const prepared_lines* lines;
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
    constexpr std::int64_t of_taps = most_prepared * std::int64_t{sizeof(tap_line)};
    auto workspace =
        lane.workspace(static_cast<std::size_t>(of_thread * threads + of_places + each + of_taps));
    if (!workspace) return std::move(workspace).error();
    std::byte* const shared = workspace->data() + of_thread * threads;
    prepared_lines lines{.first_taps = reinterpret_cast<std::int32_t*>(shared),
                         .divisors = reinterpret_cast<real*>(shared + of_places),
                         .taps = reinterpret_cast<tap_line*>(shared + of_places + each)};
    if (!along_channels()) prepare(lines);
    share_out(threads, tasks, [&](std::int64_t thread, std::int64_t task) {
      std::byte* const own = workspace->data() + thread * of_thread;
      row r{};
      r.numbers = reinterpret_cast<real*>(own);
      r.more_numbers = reinterpret_cast<real*>(own + 2 * each);
      r.places = reinterpret_cast<std::int32_t*>(own + 3 * each);
      r.lines = &lines;
      std::int64_t rest = task * per_task;
      const auto next = [&](std::int64_t extent) {
        const std::int64_t at = rest % extent;
        rest /= extent;
        return at;
      };
      r.at[1] = static_cast<std::int32_t>(next(of.space[1]));
      r.at[0] = static_cast<std::int32_t>(next(of.space[0]));
      r.c = next(lines_c);
      r.n = rest;
      for (std::int64_t i = task * per_task; i < std::min(rows, (task + 1) * per_task); ++i) {
        of_row(r);
        if (++r.at[1] < of.space[1]) continue;
        r.at[1] = 0;
        if (++r.at[0] < of.space[0]) continue;
        r.at[0] = 0;
        if (++r.c < lines_c) continue;
        r.c = 0;
        ++r.n;
      }
    });
    return {};
  }
  static constexpr std::int32_t most_prepared = 256;
  void prepare(prepared_lines& lines) const {
    for (std::int32_t w = 0; w < windows[2].out; ++w) {
      const tap_range taps = windows[2].taps_of(w);
      lines.first_taps[w] = taps.empty() ? -1 : taps.first;
      lines.divisors[w] = taps.empty() ? real{1} : divisor(2, taps);
      lines.empty = lines.empty || taps.empty();
      lines.even = lines.even && lines.divisors[w] == lines.divisors[0];
    }
    if constexpr (std::same_as<Windows, fixed_windows>) {
      lines.in_use = taps_in_use();
      while (lines.count < std::min(most_prepared, lines.in_use.end - lines.in_use.first)) {
        lines.taps[lines.count] = line_of_tap(lines.in_use.first + lines.count);
        ++lines.count;
      }
    }
  }
  [[nodiscard]] static std::int64_t padded(std::int64_t bytes) noexcept {
    return (bytes + 63) / 64 * 64;
  }

  /// The beginning of a row of a view.
  template <class E>
  [[nodiscard]] static E* begin(const image_view& v, const row& r, std::int64_t d, std::int64_t h) {
    return v.elements<E>() + r.n * v.n_step + r.c * v.c_step + d * v.steps[0] + h * v.steps[1];
  }
  [[nodiscard]] std::int64_t place(int d, const tap_range& taps, std::int32_t tap) const noexcept {
    return taps.start + std::int64_t{tap} * windows[static_cast<std::size_t>(d)].dilation;
  }
  /// The number of a tap's place, along one dimension.
  [[nodiscard]] std::int32_t number(int d, const tap_range& taps, std::int32_t tap) const noexcept {
    return windows[static_cast<std::size_t>(d)].number(taps, tap);
  }
  /// Calls `f(first, d, h)` for each tap of the first two dimensions, where places of maxima are
  /// numbered from `first`.
  template <class F>
  void for_each_tap(const tap_range& depth, const tap_range& height, F f) const {
    for (std::int32_t td = depth.first; td < depth.end; ++td) {
      for (std::int32_t th = height.first; th < height.end; ++th)
        f(first_place(number(0, depth, td), number(1, height, th)), place(0, depth, td),
          place(1, height, th));
    }
  }
  [[nodiscard]] std::int32_t first_place(std::int32_t of_depth,
                                         std::int32_t of_height) const noexcept {
    // Larger than 31 bits only if places are not requested.
    const auto whole = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
    return static_cast<std::int32_t>(
        (whole(of_depth) * whole(windows[1].numbers()) + whole(of_height)) *
        whole(windows[2].numbers()));
  }
  [[nodiscard]] real factor(int d, std::int32_t o, const tap_range& taps,
                            std::int32_t tap) const noexcept {
    return windows[static_cast<std::size_t>(d)].template factor<real>(o, taps, tap);
  }
  [[nodiscard]] real divisor(int d, const tap_range& taps) const noexcept {
    return static_cast<real>(windows[static_cast<std::size_t>(d)].divisor(taps));
  }
  /// The place's share of the gradient of window `o`, one of `windows_of(i)`; 0 if i lies between
  /// two of its taps.
  [[nodiscard]] real share(int d, std::int32_t o, std::int32_t i) const noexcept {
    const Windows& w = windows[static_cast<std::size_t>(d)];
    const tap_range taps = w.taps_of(o);
    const std::int32_t tap = w.tap_after(i - taps.start);
    return taps.has(tap) ? factor(d, o, taps, tap) / divisor(d, taps) : real{0};
  }
  /// The same of a window of the first two dimensions that the row is in.
  [[nodiscard]] real share_of_line(const row& r, std::int32_t d, std::int32_t h) const noexcept {
    const tap_range depth = windows[0].taps_of(d);
    const tap_range height = windows[1].taps_of(h);
    const std::int32_t td = windows[0].tap_after(r.at[0] - depth.start);
    const std::int32_t th = windows[1].tap_after(r.at[1] - height.start);
    if (!depth.has(td) || !height.has(th)) return 0;
    return factor(0, d, depth, td) * factor(1, h, height, th) /
           (divisor(0, depth) * divisor(1, height));
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

  [[nodiscard]] tap_line line_of_tap(std::int32_t tap) const noexcept {
    tap_line line{.of = windows_with(tap)};
    if (line.of.first >= line.of.end) return line;
    line.element = element(line.of.first, tap);
    line.phase = line.element % windows[2].stride;
    line.in_phase = line.element / windows[2].stride;
    return line;
  }
  /// Calls `f(tap, line)` for each tap that lies in the image in some window.
  template <class F>
  void for_each_line(const row& r, F f) const {
    const prepared_lines& lines = *r.lines;
    for (std::int32_t tap = lines.in_use.first; tap < lines.in_use.end; ++tap) {
      const std::int32_t i = tap - lines.in_use.first;
      const tap_line line = i < lines.count ? lines.taps[i] : line_of_tap(tap);
      if (line.of.first < line.of.end) f(tap, line);
    }
  }

  // Sums of a row of the image, those first that are a stride apart: neighbouring windows add to
  // neighbours. A phase has room for ⌈in / stride⌉ of them.
  [[nodiscard]] std::int64_t phases() const noexcept {
    return std::min(windows[2].stride, windows[2].in);
  }
  [[nodiscard]] std::int64_t phase_length() const noexcept { return places_of_phase(0); }
  [[nodiscard]] std::int64_t places_of_phase(std::int64_t phase) const noexcept {
    const auto last = static_cast<std::uint32_t>(windows[2].in - 1 - phase);
    return std::int64_t{windows[2].by_stride.divide(last)} + 1;
  }
  void clear_phases(const row& r) const {
    std::fill_n(r.numbers, phases() * phase_length(), real{0});
  }
};

}  // namespace troupe::cpu
