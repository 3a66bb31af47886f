#include "libraries/dnn/cpu/lines/line_kernels.hpp"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <troupe/dnn/batch_norm.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace troupe::cpu {
namespace {

using dnn::image_extents;
using dnn::image_view;

/// Elements that are worth another thread.
constexpr std::int64_t work_per_thread = std::int64_t{1} << 17;
/// Parts that a sum is made of, at most: more than there are threads, whose number does not decide
/// the order of sums.
constexpr std::int64_t most_parts = 64;
constexpr std::int64_t line_block = 1024;  ///< elements in cache
constexpr std::int64_t row_block = 16;     ///< rows of channels in cache

/// A number of a tensor [c], or what stands for one that is not given.
template <class Real>
Real number_of(const any_tensor& t, std::int64_t c, Real otherwise) {
  if (t.null()) return otherwise;
  return dnn::for_image_type(
      t.type(), [&]<class T>(T) { return widened<Real>(t.data<T>()[c * t.stride(0)]); });
}
template <class Real>
void set_number(const any_tensor& t, std::int64_t c, Real value) {
  if (t.null()) return;
  dnn::for_image_type(t.type(),
                      [&]<class T>(T) { t.data<T>()[c * t.stride(0)] = narrowed<T>(value); });
}

/// Two sums of each channel, of one part of its elements: its mean and squares, or those that the
/// gradient needs.
template <class Real>
struct moments {
  Real count = 0;
  Real mean = 0;
  Real squares = 0;

  /// Takes others in. Source: Chan, Golub, LeVeque, "Updating Formulae and a Pairwise Algorithm for
  /// Computing Sample Variances", 1979.
  void take(const moments& other) noexcept {
    const Real all = count + other.count;
    if (other.count == 0) return;
    const Real apart = other.mean - mean;
    mean += apart * (other.count / all);
    squares += other.squares + apart * apart * (count / all * other.count);
    count = all;
  }
};

/// One batch norm: views of the same extents, of which the last is written.
template <class T>
class normalizer {
 public:
  using kernels = line_kernels<T>;
  using real = typename kernels::real;

  /// `dy` is null where there is none.
  normalizer(const any_tensor& x, const any_tensor& dy, const any_tensor& to)
      : of_(x), x_(x), to_(to) {
    if (dy.null()) {
      merge_space(of_, {&x_, &to_});
    } else {
      dy_ = image_view(dy);
      merge_space(of_, {&x_, &dy_, &to_});
    }
    by_rows_ = of_.c > 1 && x_.c_step == 1 && to_.c_step == 1 && (dy.null() || dy_.c_step == 1);
    images_ = by_rows_ ? 1
                       : std::clamp<std::int64_t>(most_parts / std::max<std::int64_t>(1, of_.c), 1,
                                                  std::max<std::int64_t>(1, of_.n));
    rows_ = of_.n * of_.places();
    parts_ = by_rows_ ? std::clamp<std::int64_t>(rows_ / row_block, 1, most_parts) : images_;
  }

  [[nodiscard]] std::int64_t channels() const noexcept { return of_.c; }
  [[nodiscard]] std::int64_t elements() const noexcept { return rows_; }

  /// Numbers for each channel, one array after the other, and scratch of threads.
  result<void> reserve(lane_context& lane, int arrays) {
    const std::int64_t scratch = by_rows_ ? 3 * of_.c : 2 * line_block;
    threads_ = threads_for(parts_per_pass(), of_.count(), work_per_thread);
    auto workspace = lane.workspace(
        static_cast<std::size_t>((of_.c * (arrays + 2 * parts_) + scratch * threads_) *
                                 static_cast<std::int64_t>(sizeof(real))));
    if (!workspace) return std::move(workspace).error();
    numbers_ = reinterpret_cast<real*>(workspace->data());
    sums_ = numbers_ + of_.c * arrays;
    scratch_ = sums_ + 2 * of_.c * parts_;
    scratch_of_thread_ = scratch;
    return {};
  }
  [[nodiscard]] real* numbers(int array) const noexcept { return numbers_ + array * of_.c; }

  /// An element of each channel: distances from it are exact where the mean is far from 0.
  void take_origins(real* origin) const {
    for (std::int64_t c = 0; c < of_.c; ++c)
      kernels_.load(x_.elements<T>() + c * x_.c_step, 1, 1, origin + c);
  }
  /// Mean and squares of the distances from each channel's origin, by parts.
  void find_moments(const real* origin) const {
    share(parts_per_pass(), [&](std::int64_t thread, std::int64_t part) {
      real* const scratch = scratch_ + thread * scratch_of_thread_;
      by_rows_ ? moments_of_rows(part, origin, scratch) : moments_of_images(part, origin, scratch);
    });
  }
  [[nodiscard]] moments<real> moments_of(std::int64_t c) const {
    moments<real> all;
    for (std::int64_t p = 0; p < parts_; ++p)
      all.take({.count = static_cast<real>(elements_of(p)),
                .mean = first(p)[c],
                .squares = second(p)[c]});
    return all;
  }

  /// Σ dy and Σ dy · (x − mean) of each channel, by parts.
  void find_products(const real* mean) const {
    share(parts_per_pass(), [&](std::int64_t thread, std::int64_t part) {
      real* const scratch = scratch_ + thread * scratch_of_thread_;
      by_rows_ ? products_of_rows(part, mean) : products_of_images(part, mean, scratch);
    });
  }
  [[nodiscard]] sum_pair<real> products_of(std::int64_t c) const {
    sum_pair<real> all;
    for (std::int64_t p = 0; p < parts_; ++p) {
      all.sum += first(p)[c];
      all.product += second(p)[c];
    }
    return all;
  }

  void normalize(const real* mean, const real* scale, const real* bias) const {
    for_each_line(
        [&](std::int64_t n, std::int64_t c, std::int64_t at_x, std::int64_t, std::int64_t at_to) {
          kernels_.normalize(x_.elements<T>() + at_x, step(x_), n, of(mean, c), of(scale, c),
                             of(bias, c), to_.elements<T>() + at_to, step(to_));
        });
  }
  void differentiate(const real* mean, const real* average, const real* slope,
                     const real* scale) const {
    for_each_line([&](std::int64_t n, std::int64_t c, std::int64_t at_x, std::int64_t at_dy,
                      std::int64_t at_to) {
      kernels_.differentiate(x_.elements<T>() + at_x, step(x_), dy_.elements<T>() + at_dy,
                             step(dy_), n, of(mean, c), of(average, c), of(slope, c), of(scale, c),
                             to_.elements<T>() + at_to, step(to_));
    });
  }

 private:
  using channel = channel_numbers<real>;

  [[nodiscard]] channel of(const real* numbers, std::int64_t c) const noexcept {
    return {.first = numbers + c, .step = by_rows_ ? 1 : 0};
  }
  [[nodiscard]] std::int64_t step(const image_view& v) const noexcept {
    return by_rows_ ? 1 : v.steps[2];
  }
  [[nodiscard]] std::int64_t parts_per_pass() const noexcept {
    return by_rows_ ? parts_ : parts_ * of_.c;
  }
  [[nodiscard]] real* first(std::int64_t part) const noexcept { return sums_ + 2 * part * of_.c; }
  [[nodiscard]] real* second(std::int64_t part) const noexcept { return first(part) + of_.c; }

  /// The rows, or images, of a part.
  struct range {
    std::int64_t first, end;
  };
  [[nodiscard]] range part_of(std::int64_t part) const noexcept {
    const std::int64_t all = by_rows_ ? rows_ : of_.n;
    return {.first = all / parts_ * part + std::min(part, all % parts_),
            .end = all / parts_ * (part + 1) + std::min(part + 1, all % parts_)};
  }
  [[nodiscard]] std::int64_t elements_of(std::int64_t part) const noexcept {
    const range p = part_of(part);
    return (p.end - p.first) * (by_rows_ ? 1 : of_.places());
  }

  template <class F>
  void share(std::int64_t tasks, F run) const {
    share_out(std::min(tasks, threads_), tasks, run);
  }

  /// Calls `f(offset)` with where row `i`, a place of an image, begins in a view.
  [[nodiscard]] std::int64_t row_offset(const image_view& v, std::int64_t i) const noexcept {
    const std::int64_t w = i % of_.space[2];
    i /= of_.space[2];
    const std::int64_t h = i % of_.space[1];
    i /= of_.space[1];
    return i / of_.space[0] * v.n_step + i % of_.space[0] * v.steps[0] + h * v.steps[1] +
           w * v.steps[2];
  }

  /// Calls `f(n, c, x, dy, to)` for each line of n elements, of channel c or of all channels.
  template <class F>
  void for_each_line(F f) const {
    const std::int64_t lines = by_rows_ ? rows_ : rows_ / of_.space[2] * of_.c;
    const std::int64_t n = by_rows_ ? of_.c : of_.space[2];
    const std::int64_t per_task = std::max<std::int64_t>(1, (std::int64_t{1} << 14) / n);
    share((lines - 1) / per_task + 1, [&](std::int64_t, std::int64_t task) {
      for (std::int64_t i = task * per_task; i < std::min(lines, (task + 1) * per_task); ++i) {
        if (by_rows_) {
          f(n, 0, row_offset(x_, i), row_offset(dy_, i), row_offset(to_, i));
          continue;
        }
        const std::int64_t h = i % of_.space[1];
        const std::int64_t d = i / of_.space[1] % of_.space[0];
        const std::int64_t c = i / of_.space[1] / of_.space[0] % of_.c;
        const std::int64_t image = i / of_.space[1] / of_.space[0] / of_.c;
        const auto at = [&](const image_view& v) {
          return image * v.n_step + c * v.c_step + d * v.steps[0] + h * v.steps[1];
        };
        f(n, c, at(x_), at(dy_), at(to_));
      }
    });
  }

  void moments_of_rows(std::int64_t part, const real* origin, real* scratch) const {
    const auto [begin, end] = part_of(part);
    real* const mean = first(part);
    real* const squares = second(part);
    // For a block, by distances from its first row.
    real* const from = scratch;
    real* const block_sum = from + of_.c;
    real* const block_squares = block_sum + of_.c;
    std::fill_n(mean, of_.c, real{0});
    std::fill_n(squares, of_.c, real{0});
    for (std::int64_t i = begin; i < end; i += row_block) {
      const std::int64_t stop = std::min(end, i + row_block);
      std::fill_n(block_sum, 2 * of_.c, real{0});
      kernels_.load(x_.elements<T>() + row_offset(x_, i), 1, of_.c, from);
      for (std::int64_t row = i + 1; row < stop; ++row)
        kernels_.add_moments(x_.elements<T>() + row_offset(x_, row), of_.c, from, block_sum,
                             block_squares);
      // `moments::take` for all channels, whose counts are the same.
      const auto before = static_cast<real>(i - begin);
      const auto all = static_cast<real>(stop - begin);
      const real share = 1 / static_cast<real>(stop - i);
      const real part_of_mean = static_cast<real>(stop - i) / all;
      for (std::int64_t c = 0; c < of_.c; ++c) {
        const real average = block_sum[c] * share;
        const real own = block_squares[c] - block_sum[c] * average;
        const real apart = (from[c] - origin[c]) + average - mean[c];
        mean[c] += apart * part_of_mean;
        squares[c] += (own < 0 ? real{0} : own) + apart * apart * (before * part_of_mean);
      }
    }
  }

  /// Calls `f(count, x, dy)` for blocks of a channel's elements, loaded: x as distances from
  /// `origin`.
  template <class F>
  void for_each_block(std::int64_t part, real origin, bool with_dy, real* scratch, F f) const {
    const std::int64_t c = part % of_.c;
    const auto [begin, end] = part_of(part / of_.c);
    real* const gradients = scratch + line_block;
    std::int64_t filled = 0;
    for (std::int64_t line = begin * of_.space[0] * of_.space[1];
         line < end * of_.space[0] * of_.space[1]; ++line) {
      const std::int64_t h = line % of_.space[1];
      const std::int64_t d = line / of_.space[1] % of_.space[0];
      const std::int64_t image = line / of_.space[1] / of_.space[0];
      const auto at = [&](const image_view& v) {
        return v.elements<T>() + image * v.n_step + c * v.c_step + d * v.steps[0] + h * v.steps[1];
      };
      for (std::int64_t w = 0; w < of_.space[2];) {
        const std::int64_t n = std::min(of_.space[2] - w, line_block - filled);
        kernels_.load_from(at(x_) + w * x_.steps[2], x_.steps[2], n, origin, scratch + filled);
        if (with_dy) kernels_.load(at(dy_) + w * dy_.steps[2], dy_.steps[2], n, gradients + filled);
        w += n;
        filled += n;
        if (filled < line_block) continue;
        f(filled, scratch, gradients);
        filled = 0;
      }
    }
    if (filled > 0) f(filled, scratch, gradients);
  }
  void moments_of_images(std::int64_t part, const real* origin, real* scratch) const {
    moments<real> all;
    for_each_block(part, origin[part % of_.c], false, scratch,
                   [&](std::int64_t n, const real* x, const real*) {
                     moments<real> block{.count = static_cast<real>(n)};
                     block.mean = kernels_.sum(x, n) / block.count;
                     block.squares = kernels_.squares(x, n, block.mean);
                     all.take(block);
                   });
    first(part / of_.c)[part % of_.c] = all.mean;
    second(part / of_.c)[part % of_.c] = all.squares;
  }

  void products_of_rows(std::int64_t part, const real* mean) const {
    const auto [begin, end] = part_of(part);
    std::fill_n(first(part), of_.c, real{0});
    std::fill_n(second(part), of_.c, real{0});
    for (std::int64_t row = begin; row < end; ++row) {
      kernels_.add_products(dy_.elements<T>() + row_offset(dy_, row),
                            x_.elements<T>() + row_offset(x_, row), of_.c, mean, first(part),
                            second(part));
    }
  }
  void products_of_images(std::int64_t part, const real* mean, real* scratch) const {
    const std::int64_t c = part % of_.c;
    sum_pair<real> all;
    for_each_block(part, mean[c], true, scratch,
                   [&](std::int64_t n, const real* x, const real* dy) {
                     const sum_pair<real> block = kernels_.products(dy, x, n);
                     all.sum += block.sum;
                     all.product += block.product;
                   });
    first(part / of_.c)[c] = all.sum;
    second(part / of_.c)[c] = all.product;
  }

  image_extents of_;
  image_view x_;
  image_view dy_;
  image_view to_;
  bool by_rows_ = false;  ///< lines are of all channels, side by side
  std::int64_t images_ = 1;
  std::int64_t rows_ = 0;  ///< elements of a channel
  std::int64_t threads_ = 1;
  std::int64_t parts_ = 1;  ///< that sums are made of
  real* numbers_ = nullptr;
  real* sums_ = nullptr;
  real* scratch_ = nullptr;
  std::int64_t scratch_of_thread_ = 0;
  const kernels& kernels_ = kernels::mine();
};

template <class Real>
Real reciprocal_deviation(Real variance, double eps) {
  return 1 / std::sqrt(variance + static_cast<Real>(eps));
}

template <class Real>
void update_running(const dnn::batch_norm_training& r, std::int64_t c, Real mean, Real variance,
                    Real count) {
  if (r.running_mean.null()) return;
  const auto part = static_cast<Real>(r.momentum);
  const auto update = [&](const any_tensor& t, Real now) {
    set_number(t, c, (1 - part) * number_of<Real>(t, c, 0) + part * now);
  };
  update(r.running_mean, mean);
  update(r.running_variance, count > 1 ? variance * (count / (count - 1)) : variance);
}

result<void> train(const dnn::batch_norm_training& r, lane_context& lane) {
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    using real = typename line_kernels<T>::real;
    normalizer<T> norm(r.x, {}, r.y);
    if (norm.elements() == 0) {
      for (std::int64_t c = 0; c < norm.channels(); ++c) {
        set_number(r.mean, c, std::numeric_limits<real>::quiet_NaN());
        set_number(r.rstd, c, std::numeric_limits<real>::quiet_NaN());
      }
      return {};
    }
    if (norm.channels() == 0) return {};
    if (auto reserved = norm.reserve(lane, 3); !reserved) return reserved;
    norm.take_origins(norm.numbers(0));
    norm.find_moments(norm.numbers(0));
    for (std::int64_t c = 0; c < norm.channels(); ++c) {
      const moments<real> all = norm.moments_of(c);
      const real origin = norm.numbers(0)[c];
      const real mean = origin + all.mean;
      // The part of the mean that its type cannot hold.
      const real rest = (origin - mean) + all.mean;
      const real variance = all.squares / all.count;
      const real rstd = reciprocal_deviation(variance, r.eps);
      const real scale = rstd * number_of<real>(r.weight, c, 1);
      set_number(r.mean, c, mean);
      set_number(r.rstd, c, rstd);
      update_running(r, c, mean, variance, all.count);
      norm.numbers(0)[c] = mean;
      norm.numbers(1)[c] = scale;
      norm.numbers(2)[c] = number_of<real>(r.bias, c, 0) - rest * scale;
    }
    norm.normalize(norm.numbers(0), norm.numbers(1), norm.numbers(2));
    return {};
  });
}

result<void> infer(const dnn::batch_norm_inference& r, lane_context& lane) {
  if (r.x.empty()) return {};
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    using real = typename line_kernels<T>::real;
    normalizer<T> norm(r.x, {}, r.y);
    if (auto reserved = norm.reserve(lane, 3); !reserved) return reserved;
    for (std::int64_t c = 0; c < norm.channels(); ++c) {
      norm.numbers(0)[c] = number_of<real>(r.mean, c, 0);
      norm.numbers(1)[c] = reciprocal_deviation(number_of<real>(r.variance, c, 0), r.eps) *
                           number_of<real>(r.weight, c, 1);
      norm.numbers(2)[c] = number_of<real>(r.bias, c, 0);
    }
    norm.normalize(norm.numbers(0), norm.numbers(1), norm.numbers(2));
    return {};
  });
}

result<void> differentiate(const dnn::batch_norm_backward& r, lane_context& lane) {
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) -> result<void> {
    using real = typename line_kernels<T>::real;
    normalizer<T> norm(r.x, r.dy, r.dx);
    if (norm.elements() == 0) {
      for (std::int64_t c = 0; c < norm.channels(); ++c) {
        set_number(r.dweight, c, real{0});
        set_number(r.dbias, c, real{0});
      }
      return {};
    }
    if (norm.channels() == 0) return {};
    if (auto reserved = norm.reserve(lane, 4); !reserved) return reserved;
    for (std::int64_t c = 0; c < norm.channels(); ++c)
      norm.numbers(0)[c] = number_of<real>(r.mean, c, 0);
    norm.find_products(norm.numbers(0));
    const auto count = static_cast<real>(norm.elements());
    for (std::int64_t c = 0; c < norm.channels(); ++c) {
      const sum_pair<real> all = norm.products_of(c);
      const auto rstd = number_of<real>(r.rstd, c, 0);
      set_number(r.dweight, c, all.product * rstd);
      set_number(r.dbias, c, all.sum);
      norm.numbers(1)[c] = all.sum / count;
      norm.numbers(2)[c] = all.product / count * rstd * rstd;
      norm.numbers(3)[c] = rstd * number_of<real>(r.weight, c, 1);
    }
    norm.differentiate(norm.numbers(0), norm.numbers(1), norm.numbers(2), norm.numbers(3));
    return {};
  });
}

const plugin_operations batch_norm_operations([](operation_table& table) {
  table.add<dnn::batch_norm_training>(train, effort::by_size);
  table.add<dnn::batch_norm_inference>(infer, effort::by_size);
  table.add<dnn::batch_norm_backward>(differentiate, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
