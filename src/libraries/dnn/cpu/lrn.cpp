#include "libraries/dnn/cpu/lines/line_kernels.hpp"
#include "libraries/dnn/shared/image_view.hpp"
#include "libraries/memory/shared/share_out.hpp"

#include <troupe/dnn/lrn.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cmath>

namespace troupe::cpu {
namespace {

using dnn::image_extents;
using dnn::image_view;

constexpr std::int64_t lrn_work_per_thread = std::int64_t{1} << 15;
constexpr std::int64_t most_block = 64;
constexpr std::int64_t elements_in_cache = std::int64_t{1} << 15;

/// Channels of some neighbouring places, each channel's numbers side by side.
template <class T>
class responses {
 public:
  using kernels = line_kernels<T>;
  using real = typename kernels::real;

  /// `dy` is null where there is none.
  template <class R>
  responses(const R& r, const any_tensor& x, const any_tensor& dy, const any_tensor& to)
      : of_(x),
        x_(x),
        to_(to),
        before_(r.size / 2),
        after_((r.size - 1) / 2),
        share_(static_cast<real>(r.alpha / static_cast<double>(r.size))),
        beta_(static_cast<real>(r.beta)),
        k_(static_cast<real>(r.k)) {
    if (dy.null()) {
      merge_space(of_, {&x_, &to_});
    } else {
      dy_ = image_view(dy);
      merge_space(of_, {&x_, &dy_, &to_});
    }
    block_ = std::clamp<std::int64_t>(elements_in_cache / std::max<std::int64_t>(1, of_.c), 1,
                                      std::min(most_block, of_.space[2]));
  }

  result<void> run(lane_context& lane) const {
    const std::int64_t blocks = (of_.space[2] - 1) / block_ + 1;
    const std::int64_t tasks = of_.n * of_.space[0] * of_.space[1] * blocks;
    const std::int64_t threads = threads_for(tasks, of_.count(), lrn_work_per_thread);
    const std::int64_t each = of_.c * block_;
    auto workspace =
        lane.workspace(static_cast<std::size_t>(threads * arrays * each) * sizeof(real));
    if (!workspace) return std::move(workspace).error();
    share_out(threads, tasks, [&](std::int64_t thread, std::int64_t task) {
      real* const own = reinterpret_cast<real*>(workspace->data()) + thread * arrays * each;
      std::int64_t rest = task;
      const std::int64_t w = rest % blocks * block_;
      rest /= blocks;
      const std::int64_t h = rest % of_.space[1];
      rest /= of_.space[1];
      const std::int64_t d = rest % of_.space[0];
      const std::int64_t image = rest / of_.space[0];
      const auto at = [&](const image_view& v) {
        return v.elements<T>() + image * v.n_step + d * v.steps[0] + h * v.steps[1] +
               w * v.steps[2];
      };
      const std::int64_t n = std::min(block_, of_.space[2] - w);
      for (std::int64_t c = 0; c < of_.c; ++c)
        kernels_.load(at(x_) + c * x_.c_step, x_.steps[2], n, own + c * n);
      find_sums(own, own + each, n);
      if (dy_.given()) {
        differentiate(own, own + each, at(dy_), at(to_), own + 2 * each, n);
      } else {
        for (std::int64_t i = 0; i < of_.c * n; ++i)
          own[i] *= power(own[each + i]);
        for (std::int64_t c = 0; c < of_.c; ++c)
          kernels_.store(own + c * n, n, at(to_) + c * to_.c_step, to_.steps[2]);
      }
    });
    return {};
  }

 private:
  static constexpr std::int64_t arrays = 4;

  /// s^−beta.
  [[nodiscard]] real power(real s) const noexcept {
    if (beta_ == real{0.75}) return 1 / (std::sqrt(s) * std::sqrt(std::sqrt(s)));
    return std::pow(s, -beta_);
  }
  void find_sums(const real* x, real* s, std::int64_t n) const {
    for (std::int64_t c = 0; c < of_.c; ++c) {
      real* const to = s + c * n;
      std::fill_n(to, n, real{0});
      const std::int64_t end = std::min(of_.c - 1, c + after_);
      for (std::int64_t i = std::max<std::int64_t>(0, c - before_); i <= end; ++i) {
        for (std::int64_t j = 0; j < n; ++j)
          to[j] += x[i * n + j] * x[i * n + j];
      }
      for (std::int64_t j = 0; j < n; ++j)
        to[j] = k_ + share_ * to[j];
    }
  }
  /// `scratch` has room for two arrays.
  void differentiate(const real* x, const real* s, const T* dy, T* dx, real* scratch,
                     std::int64_t n) const {
    real* const first = scratch;              // dy · s^−beta
    real* const terms = scratch + of_.c * n;  // dy · x · s^(−beta − 1)
    for (std::int64_t c = 0; c < of_.c; ++c)
      kernels_.load(dy + c * dy_.c_step, dy_.steps[2], n, first + c * n);
    for (std::int64_t i = 0; i < of_.c * n; ++i) {
      first[i] *= power(s[i]);
      terms[i] = first[i] * x[i] / s[i];
    }
    // Those in whose sum a channel is lie the other way round.
    for (std::int64_t c = 0; c < of_.c; ++c) {
      const std::int64_t end = std::min(of_.c - 1, c + before_);
      real* const to = first + c * n;
      for (std::int64_t j = 0; j < n; ++j) {
        real sum = 0;
        for (std::int64_t i = std::max<std::int64_t>(0, c - after_); i <= end; ++i)
          sum += terms[i * n + j];
        to[j] -= 2 * share_ * beta_ * x[c * n + j] * sum;
      }
      kernels_.store(to, n, dx + c * to_.c_step, to_.steps[2]);
    }
  }

  image_extents of_;
  image_view x_;
  image_view dy_;
  image_view to_;
  std::int64_t before_;  ///< neighbours of a channel that are in its sum
  std::int64_t after_;
  real share_;
  real beta_;
  real k_;
  std::int64_t block_ = 1;
  const kernels& kernels_ = kernels::mine();
};

result<void> forward(const dnn::lrn_forward& r, lane_context& lane) {
  if (r.x.empty()) return {};
  return dnn::for_image_type(r.x.type(),
                             [&]<class T>(T) { return responses<T>(r, r.x, {}, r.y).run(lane); });
}
result<void> backward(const dnn::lrn_backward& r, lane_context& lane) {
  if (r.x.empty()) return {};
  return dnn::for_image_type(
      r.x.type(), [&]<class T>(T) { return responses<T>(r, r.x, r.dy, r.dx).run(lane); });
}

const plugin_operations lrn_operations([](operation_table& table) {
  table.add<dnn::lrn_forward>(forward, effort::by_size);
  table.add<dnn::lrn_backward>(backward, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
