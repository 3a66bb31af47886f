#include "libraries/dnn/cpu/rnn/network.hpp"
#include "libraries/dnn/cpu/rnn/passes.hpp"
#include "libraries/dnn/cpu/rnn/reserve.hpp"

#include <utility>

namespace troupe::cpu::rnn {
namespace {

template <class T>
class backward_data_pass {
  using R = real_of<T>;

 public:
  backward_data_pass(const dnn::rnn_backward_data& r, lane_context& lane)
      : r_(r),
        s_(dnn::shape_of(r)),
        net_(r.network, s_, r.lengths),
        lane_(lane),
        kept_(r.reserve, s_, room_) {}

  result<void> run() {
    if (auto fits = kept_.check(); !fits) return fits;
    if (dnn::nothing_to_run(s_, r_.lengths)) return keep_states();
    const std::int64_t count = r_.weights.extent(0);
    const std::int64_t widest = s_.rows() * std::max(s_.input, s_.width());
    const std::array pieces{room_.add(count),
                            room_.add(widest),
                            room_.add(widest),
                            room_.add(s_.batch * s_.output),
                            room_.add(s_.batch * s_.hidden),
                            room_.add(s_.batch * s_.output),
                            room_.add(s_.batch * s_.hidden),
                            room_.add(s_.batch * std::max(s_.output, s_.hidden)),
                            room_.add(s_.batch * s_.hidden),
                            room_.add(s_.batch * s_.output)};
    if (auto taken = room_.take(lane_); !taken) return taken;
    kept_.begin(true);
    weights_ = room_.at(pieces[0]);
    R* gradients = room_.at(pieces[1]);
    R* next = room_.at(pieces[2]);
    first_h_ = room_.at(pieces[3]);
    first_c_ = room_.at(pieces[4]);
    dh_ = room_.at(pieces[5]);
    dc_ = room_.at(pieces[6]);
    dh_before_ = room_.at(pieces[7]);
    du_ = room_.at(pieces[8]);
    dh_step_ = room_.at(pieces[9]);
    load_packed<T>(r_.weights, 0, count, weights_);
    load_sequences<T>(r_.dy, net_.ends(), gradients);
    for (std::int64_t layer = s_.layers - 1; layer >= 0; --layer) {
      for (std::int64_t direction = 0; direction < s_.directions; ++direction) {
        if (auto done = run_state(layer, direction, gradients, next); !done) return done;
      }
      if (layer > 0) net_.drop(layer - 1, next);
      std::swap(gradients, next);
    }
    store_sequences<T>(gradients, s_.input, net_.ends(), r_.dx, 0, s_.input);
    kept_.end();
    return {};
  }

 private:
  result<void> run_state(std::int64_t layer, std::int64_t direction, const R* dy, R* dx) {
    const std::int64_t state = layer * s_.directions + direction;
    const state_records<R> of = kept_.of(state);
    const std::int64_t of_h = s_.batch * s_.output;
    const std::int64_t of_c = s_.batch * s_.hidden;
    load_packed<T>(r_.h_0, state * of_h, of_h, first_h_);
    load_packed<T>(r_.dh_n, state * of_h, of_h, dh_);
    if (of.c != nullptr) {
      load_packed<T>(r_.c_0, state * of_c, of_c, first_c_);
      load_packed<T>(r_.dc_n, state * of_c, of_c, dc_);
    }
    for (std::int64_t k = s_.steps - 1; k >= 0; --k) {
      if (auto done = run_step(state, direction, k, dy, of); !done) return done;
    }
    store_packed<T>(dh_, of_h, r_.dh_0, state * of_h);
    if (of.c != nullptr) store_packed<T>(dc_, of_c, r_.dc_0, state * of_c);
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t width = s_.input_of(layer);
    return multiply<R>(matrix<const R>::packed(of.gates, s_.rows(), columns), turned::no,
                       matrix<const R>::packed(weights_ + net_.places(state).w_x, columns, width),
                       turned::no, matrix<R>::packed(dx, s_.rows(), width), direction > 0, lane_);
  }

  result<void> run_step(std::int64_t state, std::int64_t direction, std::int64_t k, const R* dy,
                        const state_records<R>& of) {
    const std::int64_t step = net_.step(direction, k);
    const std::int64_t before = net_.step_before(direction, k);
    const std::int64_t first_row = step * s_.batch;
    for (std::int64_t n = 0; n < s_.batch; ++n) {
      R* const to = dh_step_ + n * s_.output;
      const R* const later = dh_ + n * s_.output;
      const R* const here = dy + (first_row + n) * s_.width() + direction * s_.output;
      const bool has = net_.ends().has(step, n);
      for (std::int64_t j = 0; j < s_.output; ++j)
        to[j] = has ? here[j] + later[j] : R{0};
    }
    const R* du = dh_step_;
    if (s_.projects) {
      std::copy_n(dh_step_, s_.batch * s_.output, of.dh + first_row * s_.output);
      if (auto done = multiply<R>(
              matrix<const R>::packed(dh_step_, s_.batch, s_.output), turned::no,
              matrix<const R>::packed(weights_ + net_.places(state).w_p, s_.output, s_.hidden),
              turned::no, matrix<R>::packed(du_, s_.batch, s_.hidden), false, lane_);
          !done) {
        return done;
      }
      du = du_;
    }
    for (std::int64_t n = 0; n < s_.batch; ++n)
      run_cell(step, before, n, du + n * s_.hidden, of);
    return take_back(state, step, of);
  }

  void run_cell(std::int64_t step, std::int64_t before, std::int64_t n, const R* du,
                const state_records<R>& of) const {
    const std::int64_t row = step * s_.batch + n;
    const std::int64_t columns = s_.gates() * s_.hidden;
    R* const gates = of.gates + row * columns;
    if (!net_.ends().has(step, n)) {
      std::fill_n(gates, columns, R{0});
      if (of.q != nullptr) std::fill_n(of.q + row * s_.hidden, s_.hidden, R{0});
      return;
    }
    const auto state_before = [&](const R* all, const R* first, std::int64_t width) {
      return before < 0 ? first + n * width : all + (before * s_.batch + n) * width;
    };
    switch (s_.cell) {
      case dnn::rnn_cell::relu:
        return with_.relu_backward(gates, du, s_.hidden);
      case dnn::rnn_cell::tanh:
        return with_.tanh_backward(gates, du, s_.hidden);
      case dnn::rnn_cell::lstm:
        return with_.lstm_backward(gates, state_before(of.c, first_c_, s_.hidden),
                                   of.c + row * s_.hidden, du, dc_ + n * s_.hidden, s_.hidden);
      case dnn::rnn_cell::gru:
        return with_.gru_backward(gates, of.q + row * s_.hidden,
                                  state_before(of.h, first_h_, s_.output), du,
                                  dh_before_ + n * s_.hidden, s_.hidden);
    }
  }

  // The gradient of the state before this step.
  result<void> take_back(std::int64_t state, std::int64_t step, const state_records<R>& of) {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t first_row = step * s_.batch;
    const R* const w_h = weights_ + net_.places(state).w_h;
    const std::int64_t joint = of.q != nullptr ? 2 * s_.hidden : columns;
    const auto to = matrix<R>::packed(dh_before_, s_.batch, s_.output);
    if (auto done = multiply<R>({.at = of.gates + first_row * columns,
                                 .rows = s_.batch,
                                 .columns = joint,
                                 .step = columns},
                                turned::no, matrix<const R>::packed(w_h, joint, s_.output),
                                turned::no, to, of.q != nullptr, lane_);
        !done) {
      return done;
    }
    if (of.q != nullptr) {
      if (auto done = multiply<R>(
              matrix<const R>::packed(of.q + first_row * s_.hidden, s_.batch, s_.hidden),
              turned::no, matrix<const R>::packed(w_h + joint * s_.output, s_.hidden, s_.output),
              turned::no, to, true, lane_);
          !done) {
        return done;
      }
    }
    for (std::int64_t n = 0; n < s_.batch; ++n) {
      if (net_.ends().has(step, n))
        std::copy_n(dh_before_ + n * s_.output, s_.output, dh_ + n * s_.output);
    }
    return {};
  }

  // No sequence has a step.
  result<void> keep_states() const {
    store_sequences<T, R>(nullptr, 0, net_.ends(), r_.dx, 0, s_.input);
    keep_packed<T>(r_.dh_n, r_.dh_0);
    keep_packed<T>(r_.dc_n, r_.dc_0);
    return {};
  }

  const dnn::rnn_backward_data& r_;
  dnn::rnn_shape s_;
  network<R> net_;
  lane_context& lane_;
  const cells<R>& with_ = cells<R>::mine();
  scratch<R> room_;
  reserve_records<R> kept_;
  R* weights_ = nullptr;
  R* first_h_ = nullptr;
  R* first_c_ = nullptr;
  R* dh_ = nullptr;  ///< of the state after a step
  R* dc_ = nullptr;
  R* dh_before_ = nullptr;
  R* du_ = nullptr;
  R* dh_step_ = nullptr;
};

}  // namespace

result<void> backward_data(const dnn::rnn_backward_data& r, lane_context& lane) {
  return for_type(r.y.type(), [&]<class T>(T) { return backward_data_pass<T>(r, lane).run(); });
}

}  // namespace troupe::cpu::rnn
