#include "libraries/dnn/cpu/rnn/network.hpp"
#include "libraries/dnn/cpu/rnn/passes.hpp"
#include "libraries/dnn/cpu/rnn/products.hpp"
#include "libraries/dnn/cpu/rnn/reserve.hpp"

namespace troupe::cpu::rnn {
namespace {

template <class T>
class backward_weights_pass {
  using R = real_of<T>;

 public:
  backward_weights_pass(const dnn::rnn_backward_weights& r, lane_context& lane)
      : r_(r),
        s_(dnn::shape_of(r)),
        net_(r.network, s_, r.lengths),
        lane_(lane),
        kept_(r.reserve, s_, workspace_) {}

  result<void> run() {
    if (auto fits = kept_.check(); !fits) return fits;
    T* const result_at = r_.dweights.data<T>();
    const std::int64_t count = r_.dweights.extent(0);
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      if (!r_.accumulate) std::fill_n(result_at, count, T{});
      return {};
    }
    const std::int64_t sums = workspace_.add(count);
    const std::int64_t input = workspace_.add(s_.rows() * std::max(s_.input, s_.width()));
    const std::int64_t first_h = workspace_.add(s_.batch * s_.output);
    if (auto taken = workspace_.take(lane_); !taken) return taken;
    kept_.begin();
    sums_ = workspace_.at(sums);
    load_sequences<T>(r_.x, net_.ends(), workspace_.at(input));
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      if (layer > 0) net_.join(layer - 1, records_of(layer - 1), true, workspace_.at(input));
      for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
        if (auto done = run_state(layer, direction, workspace_.at(input), workspace_.at(first_h));
            !done) {
          return done;
        }
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const R before = r_.accumulate ? widened<R>(result_at[i]) : R{0};
      result_at[i] = narrowed<T>(before + sums_[i]);
    }
    return {};
  }

 private:
  [[nodiscard]] std::array<state_records<R>, 2> records_of(std::int64_t layer) const {
    std::array<state_records<R>, 2> both;
    for (std::int64_t k = 0; k < s_.directions; ++k)
      both[static_cast<std::size_t>(k)] = kept_.of(layer * s_.directions + k);
    return both;
  }

  result<void> run_state(std::int64_t layer, std::int64_t direction, const R* input, R* first_h) {
    const std::int64_t state = layer * s_.directions + direction;
    const state_records<R> of = kept_.of(state);
    const weight_places& at = net_.places(state);
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t width = s_.input_of(layer);
    const std::int64_t of_h = s_.batch * s_.output;
    load_packed<T>(r_.h_0, state * of_h, of_h, first_h);
    const auto gates = matrix<const R>::packed(of.gates, s_.rows(), columns);
    if (auto done = multiply<R>(gates, turned::yes,
                                matrix<const R>::packed(input, s_.rows(), width), turned::no,
                                matrix<R>::packed(sums_ + at.w_x, columns, width), false, lane_);
        !done) {
      return done;
    }
    add_up(gates, sums_ + at.b_x);
    // The sums of gru's n have their own gradient by the state.
    const std::int64_t joint = of.q != nullptr ? 2 * s_.hidden : columns;
    std::copy_n(sums_ + at.b_x, s_.resets_first ? columns : joint, sums_ + at.b_h);
    const matrix<const R> first_gates{
        .at = of.gates, .rows = s_.rows(), .columns = joint, .step = columns};
    if (auto done = by_states(first_gates, direction, of.h, first_h, sums_ + at.w_h); !done) {
      return done;
    }
    if (s_.resets_first) {
      const matrix<const R> of_n{
          .at = of.gates + joint, .rows = s_.rows(), .columns = s_.hidden, .step = columns};
      return multiply<R>(
          of_n, turned::yes, matrix<const R>::packed(of.q, s_.rows(), s_.hidden), turned::no,
          matrix<R>::packed(sums_ + at.w_h + joint * s_.output, s_.hidden, s_.hidden), false,
          lane_);
    }
    if (of.q != nullptr) {
      const auto q = matrix<const R>::packed(of.q, s_.rows(), s_.hidden);
      add_up(q, sums_ + at.b_h + joint);
      if (auto done = by_states(q, direction, of.h, first_h, sums_ + at.w_h + joint * s_.output);
          !done) {
        return done;
      }
    }
    if (!s_.projects) return {};
    return multiply<R>(matrix<const R>::packed(of.dh, s_.rows(), s_.output), turned::yes,
                       matrix<const R>::packed(of.u, s_.rows(), s_.hidden), turned::no,
                       matrix<R>::packed(sums_ + at.w_p, s_.output, s_.hidden), false, lane_);
  }

  static void add_up(const matrix<const R>& rows, R* to) {
    std::fill_n(to, rows.columns, R{0});
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      const R* const from = rows.at + row * rows.step;
      for (std::int64_t j = 0; j < rows.columns; ++j)
        to[j] += from[j];
    }
  }

  // Σ gradientᵀ · previous state: for all steps but the first, these are the states one step off.
  result<void> by_states(const matrix<const R>& gradients, std::int64_t direction, const R* h,
                         const R* first_h, R* to) {
    const std::int64_t rest = s_.rows() - s_.batch;
    const std::int64_t first_row = direction == 0 ? 0 : rest;
    const std::int64_t later = direction == 0 ? s_.batch : 0;
    const std::int64_t before = direction == 0 ? 0 : s_.batch;
    const auto rows = [&](std::int64_t from, std::int64_t count) {
      matrix<const R> part = gradients;
      part.at += from * gradients.step;
      part.rows = count;
      return part;
    };
    const auto sum = matrix<R>::packed(to, gradients.columns, s_.output);
    if (auto done = multiply<R>(rows(first_row, s_.batch), turned::yes,
                                matrix<const R>::packed(first_h, s_.batch, s_.output), turned::no,
                                sum, false, lane_);
        !done) {
      return done;
    }
    return multiply<R>(rows(later, rest), turned::yes,
                       matrix<const R>::packed(h + before * s_.output, rest, s_.output), turned::no,
                       sum, true, lane_);
  }

  const dnn::rnn_backward_weights& r_;
  dnn::rnn_shape s_;
  network<R> net_;
  lane_context& lane_;
  scratch<R> workspace_;
  reserve_records<R> kept_;
  R* sums_ = nullptr;
};

}  // namespace

result<void> backward_weights(const dnn::rnn_backward_weights& r, lane_context& lane) {
  return for_type(r.x.type(), [&]<class T>(T) { return backward_weights_pass<T>(r, lane).run(); });
}

std::int64_t reserve_bytes(const dnn::rnn_sizes& r) noexcept {
  const record_layout layout(dnn::shape_of(r));
  return r.type == dtype::f64 ? layout.reserve_bytes<double>() : layout.reserve_bytes<float>();
}

}  // namespace troupe::cpu::rnn
