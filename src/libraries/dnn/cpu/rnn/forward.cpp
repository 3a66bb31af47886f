#include "libraries/dnn/cpu/rnn/network.hpp"
#include "libraries/dnn/cpu/rnn/passes.hpp"
#include "libraries/dnn/cpu/rnn/reserve.hpp"

#include <optional>

namespace troupe::cpu::rnn {
namespace {

template <class T>
class forward_pass {
  using R = real_of<T>;

 public:
  forward_pass(const dnn::rnn_forward& r, lane_context& lane)
      : r_(r), s_(dnn::shape_of(r)), net_(r.network, s_, r.lengths), layout_(s_), lane_(lane) {
    if (!r.reserve.null()) kept_.emplace(r.reserve, s_, room_);
  }

  result<void> run() {
    if (kept_) {
      if (auto fits = kept_->check(); !fits) return fits;
    }
    if (dnn::nothing_to_run(s_, r_.lengths)) return keep_states();
    const std::int64_t count = r_.weights.extent(0);
    const std::int64_t weights = room_.add(count);
    const std::int64_t input = room_.add(s_.rows() * std::max(s_.input, s_.width()));
    const std::int64_t first_h = room_.add(s_.batch * s_.output);
    const std::int64_t first_c = room_.add(s_.batch * s_.hidden);
    // Without a reserve, layers take turns with two sets of records.
    const std::int64_t records = kept_ ? 0 : room_.add(4 * layout_.count());
    if (auto taken = room_.take(lane_); !taken) return taken;
    if (kept_) kept_->begin(false);
    records_ = kept_ ? nullptr : room_.at(records);
    weights_ = room_.at(weights);
    load_packed<T>(r_.weights, 0, count, weights_);
    load_sequences<T>(r_.x, net_.ends(), room_.at(input));
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      if (layer > 0)
        net_.join(layer - 1, records_of(layer - 1), kept_.has_value(), room_.at(input));
      for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
        if (auto done =
                run_state(layer, direction, room_.at(input), room_.at(first_h), room_.at(first_c));
            !done) {
          return done;
        }
      }
    }
    const auto top = records_of(s_.layers - 1);
    for (std::int64_t k = 0; k < s_.directions; ++k)
      store_sequences<T>(top[static_cast<std::size_t>(k)].h, s_.output, net_.ends(), r_.y,
                         k * s_.output, s_.output);
    if (kept_) kept_->end();
    return {};
  }

 private:
  [[nodiscard]] std::array<state_records<R>, 2> records_of(std::int64_t layer) const {
    std::array<state_records<R>, 2> both;
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      both[static_cast<std::size_t>(k)] =
          kept_ ? kept_->of(layer * s_.directions + k)
                : layout_.at(records_ + (layer % 2 * 2 + k) * layout_.count());
    }
    return both;
  }

  result<void> run_state(std::int64_t layer, std::int64_t direction, const R* input, R* first_h,
                         R* first_c) {
    const std::int64_t state = layer * s_.directions + direction;
    const state_records<R> to = records_of(layer)[static_cast<std::size_t>(direction)];
    const std::int64_t of_h = s_.batch * s_.output;
    const std::int64_t of_c = s_.batch * s_.hidden;
    load_packed<T>(r_.h_0, state * of_h, of_h, first_h);
    if (to.c != nullptr) load_packed<T>(r_.c_0, state * of_c, of_c, first_c);
    if (auto summed = sum_inputs(layer, state, input, to); !summed) return summed;
    const R* h = first_h;
    const R* c = first_c;
    for (std::int64_t k = 0; k < s_.steps; ++k) {
      const std::int64_t step = net_.step(direction, k);
      if (auto done = run_step(state, step, h, c, to); !done) return done;
      h = to.h + step * of_h;
      if (to.c != nullptr) c = to.c + step * of_c;
    }
    store_packed<T>(h, of_h, r_.h_n, state * of_h);
    if (to.c != nullptr) store_packed<T>(c, of_c, r_.c_n, state * of_c);
    return {};
  }

  // What the sums of all steps have of the input, in one product.
  result<void> sum_inputs(std::int64_t layer, std::int64_t state, const R* input,
                          const state_records<R>& to) {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const weight_places& at = net_.places(state);
    const std::int64_t joint = to.q != nullptr ? 2 * s_.hidden : columns;
    for (std::int64_t row = 0; row < s_.rows(); ++row) {
      R* const sums = to.gates + row * columns;
      for (std::int64_t j = 0; j < joint; ++j)
        sums[j] = weights_[at.b_x + j] + weights_[at.b_h + j];
      if (to.q == nullptr) continue;
      std::copy_n(weights_ + at.b_x + joint, s_.hidden, sums + joint);
      std::copy_n(weights_ + at.b_h + joint, s_.hidden, to.q + row * s_.hidden);
    }
    const std::int64_t depth = s_.input_of(layer);
    return multiply<R>(matrix<const R>::packed(input, s_.rows(), depth), turned::no,
                       matrix<const R>::packed(weights_ + at.w_x, columns, depth), turned::yes,
                       matrix<R>::packed(to.gates, s_.rows(), columns), true, lane_);
  }

  result<void> run_step(std::int64_t state, std::int64_t step, const R* h, const R* c,
                        const state_records<R>& to) {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const weight_places& at = net_.places(state);
    const std::int64_t first_row = step * s_.batch;
    R* const gates = to.gates + first_row * columns;
    const auto before = matrix<const R>::packed(h, s_.batch, s_.output);
    const std::int64_t joint = to.q != nullptr ? 2 * s_.hidden : columns;
    if (auto done = multiply<R>(
            before, turned::no, matrix<const R>::packed(weights_ + at.w_h, joint, s_.output),
            turned::yes, {.at = gates, .rows = s_.batch, .columns = joint, .step = columns}, true,
            lane_);
        !done) {
      return done;
    }
    if (to.q != nullptr) {
      const R* const of_n = weights_ + at.w_h + joint * s_.output;
      if (auto done = multiply<R>(
              before, turned::no, matrix<const R>::packed(of_n, s_.hidden, s_.output), turned::yes,
              matrix<R>::packed(to.q + first_row * s_.hidden, s_.batch, s_.hidden), true, lane_);
          !done) {
        return done;
      }
    }
    for (std::int64_t n = 0; n < s_.batch; ++n)
      run_cell(step, n, h + n * s_.output, c + n * s_.hidden, to);
    return s_.projects ? project(state, step, h, to) : result<void>();
  }

  void run_cell(std::int64_t step, std::int64_t n, const R* h, const R* c,
                const state_records<R>& to) const {
    const std::int64_t row = step * s_.batch + n;
    R* const gates = to.gates + row * s_.gates() * s_.hidden;
    R* const after = s_.projects ? to.u + row * s_.hidden : to.h + row * s_.output;
    if (!net_.ends().has(step, n)) {
      if (s_.projects) {
        std::fill_n(after, s_.hidden, R{0});
      } else {
        std::copy_n(h, s_.output, after);
      }
      if (to.c != nullptr) std::copy_n(c, s_.hidden, to.c + row * s_.hidden);
      return;
    }
    switch (s_.cell) {
      case dnn::rnn_cell::relu:
        return with_.relu(gates, after, s_.hidden);
      case dnn::rnn_cell::tanh:
        return with_.tanh(gates, after, s_.hidden);
      case dnn::rnn_cell::lstm:
        return with_.lstm(gates, c, to.c + row * s_.hidden, after, s_.hidden);
      case dnn::rnn_cell::gru:
        return with_.gru(gates, to.q + row * s_.hidden, h, after, s_.hidden);
    }
  }

  result<void> project(std::int64_t state, std::int64_t step, const R* h,
                       const state_records<R>& to) {
    const std::int64_t first_row = step * s_.batch;
    R* const projected = to.h + first_row * s_.output;
    auto done = multiply<R>(
        matrix<const R>::packed(to.u + first_row * s_.hidden, s_.batch, s_.hidden), turned::no,
        matrix<const R>::packed(weights_ + net_.places(state).w_p, s_.output, s_.hidden),
        turned::yes, matrix<R>::packed(projected, s_.batch, s_.output), false, lane_);
    for (std::int64_t n = 0; done && n < s_.batch; ++n) {
      if (!net_.ends().has(step, n))
        std::copy_n(h + n * s_.output, s_.output, projected + n * s_.output);
    }
    return done;
  }

  // No sequence has a step.
  result<void> keep_states() const {
    store_sequences<T, R>(nullptr, 0, net_.ends(), r_.y, 0, s_.width());
    keep_packed<T>(r_.h_0, r_.h_n);
    keep_packed<T>(r_.c_0, r_.c_n);
    return {};
  }

  const dnn::rnn_forward& r_;
  dnn::rnn_shape s_;
  network<R> net_;
  record_layout layout_;
  lane_context& lane_;
  const cells<R>& with_ = cells<R>::mine();
  scratch<R> room_;
  std::optional<reserve_records<R>> kept_;
  R* records_ = nullptr;
  R* weights_ = nullptr;
};

}  // namespace

result<void> forward(const dnn::rnn_forward& r, lane_context& lane) {
  return for_type(r.x.type(), [&]<class T>(T) { return forward_pass<T>(r, lane).run(); });
}

}  // namespace troupe::cpu::rnn
