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
        kept_(r.reserve, s_, workspace_) {}

  result<void> run() {
    if (auto fits = kept_.check(); !fits) return fits;
    if (dnn::nothing_to_run(s_, r_.lengths)) return keep_states();
    const std::int64_t count = r_.weights.extent(0);
    const std::int64_t widest = s_.rows() * std::max(s_.input, s_.width());
    const std::int64_t weights = workspace_.add(count);
    const std::int64_t from_above = workspace_.add(widest);
    const std::int64_t to_below = workspace_.add(widest);
    for (std::int64_t k = 0; k < s_.directions; ++k)
      directions_[static_cast<std::size_t>(k)].add_to(workspace_, s_);
    by_x_ = workspace_.add(net_.largest_input_factor(s_.gates() * s_.hidden));
    if (auto taken = workspace_.take(lane_); !taken) return taken;
    kept_.begin();
    weights_ = workspace_.at(weights);
    R* gradients = workspace_.at(from_above);
    R* next = workspace_.at(to_below);
    load_packed<T>(r_.weights, 0, count, weights_);
    load_sequences<T>(r_.dy, net_.ends(), gradients);
    for (std::int64_t layer = s_.layers - 1; layer >= 0; --layer) {
      run_layer(layer, gradients, next);
      if (layer > 0) net_.drop(layer - 1, next);
      std::swap(gradients, next);
    }
    store_sequences<T>(gradients, s_.input, net_.ends(), r_.dx, 0, s_.input);
    kept_.end();
    return {};
  }

 private:
  /// One direction of the layer that is run.
  struct direction {
    state_records<R> of;
    R* first_h = nullptr;
    R* first_c = nullptr;
    R* dh = nullptr;  ///< for the state after a step
    R* dc = nullptr;
    R* dh_before = nullptr;
    R* dh_step = nullptr;
    R* du = nullptr;
    R* dq = nullptr;  ///< if the reset gate comes first
    factor<R> by_h;   ///< from the sums of all gates, of gru of the first two
    factor<R> by_q;
    factor<R> by_p;
    std::int64_t pieces[11]{};

    void add_to(scratch<R>& workspace, const dnn::rnn_shape& s) {
      const bool gru = s.cell == dnn::rnn_cell::gru;
      by_h = factor<R>((gru ? 2 : s.gates()) * s.hidden, s.output);
      by_q = factor<R>(s.hidden, gru ? s.output : 0);
      by_p = factor<R>(s.output, s.projects ? s.hidden : 0);
      const std::int64_t of_h = s.batch * s.output;
      const std::int64_t of_c = s.batch * s.hidden;
      std::size_t piece = 0;
      for (const std::int64_t numbers :
           {of_h, of_c, of_h, of_c, of_h, of_h, of_c, s.resets_first ? of_h : 0, by_h.count(),
            by_q.count(), by_p.count()})
        pieces[piece++] = workspace.add(numbers);
    }
  };

  void begin(std::int64_t state, direction& d) {
    d.of = kept_.of(state);
    R** const places[] = {&d.first_h,   &d.first_c, &d.dh, &d.dc,
                          &d.dh_before, &d.dh_step, &d.du, &d.dq};
    for (std::size_t i = 0; i < std::size(places); ++i)
      *places[i] = workspace_.at(d.pieces[i]);
    const std::int64_t of_h = s_.batch * s_.output;
    const std::int64_t of_c = s_.batch * s_.hidden;
    load_packed<T>(r_.h_0, state * of_h, of_h, d.first_h);
    load_packed<T>(r_.dh_n, state * of_h, of_h, d.dh);
    if (d.of.c != nullptr) {
      load_packed<T>(r_.c_0, state * of_c, of_c, d.first_c);
      load_packed<T>(r_.dc_n, state * of_c, of_c, d.dc);
    }
    const weight_places& at = net_.places(state);
    const R* const w_h = weights_ + at.w_h;
    d.by_h.pack(w_h, s_.output, 1, workspace_.at(d.pieces[8]));
    if (d.of.q != nullptr)
      d.by_q.pack(w_h + 2 * s_.hidden * s_.output, s_.output, 1, workspace_.at(d.pieces[9]));
    if (s_.projects) d.by_p.pack(weights_ + at.w_p, s_.hidden, 1, workspace_.at(d.pieces[10]));
  }

  void run_layer(std::int64_t layer, const R* dy, R* dx) {
    for (std::int64_t k = 0; k < s_.directions; ++k)
      begin(layer * s_.directions + k, directions_[static_cast<std::size_t>(k)]);
    net_.share_sequences([&](std::int64_t k, std::int64_t first, std::int64_t last) {
      const direction& d = directions_[static_cast<std::size_t>(k)];
      for (std::int64_t i = s_.steps - 1; i >= 0; --i)
        run_step(k, i, d, dy, first, last - first);
    });
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      const direction& d = directions_[static_cast<std::size_t>(k)];
      const std::int64_t state = layer * s_.directions + k;
      const std::int64_t of_h = s_.batch * s_.output;
      store_packed<T>(d.dh, of_h, r_.dh_0, state * of_h);
      const std::int64_t of_c = s_.batch * s_.hidden;
      if (d.of.c != nullptr) store_packed<T>(d.dc, of_c, r_.dc_0, state * of_c);
      pass_down(layer, state, d, dx, k > 0);
    }
  }

  // The gradient of the layer's input, or more of it.
  void pass_down(std::int64_t layer, std::int64_t state, const direction& d, R* dx, bool more) {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t width = s_.input_of(layer);
    factor<R> by_x(columns, width);
    by_x.pack(weights_ + net_.places(state).w_x, width, 1, workspace_.at(by_x_));
    net_.share_rows(layer, [&](std::int64_t first, std::int64_t last) {
      R* const to = dx + first * width;
      if (!more) std::fill_n(to, (last - first) * width, R{0});
      by_x.multiply(d.of.gates + first * columns, columns, last - first, to, width);
    });
  }

  void run_step(std::int64_t k, std::int64_t i, const direction& d, const R* dy, std::int64_t first,
                std::int64_t count) const {
    const std::int64_t step = net_.step(k, i);
    const std::int64_t row = step * s_.batch + first;
    R* const dh_step = d.dh_step + first * s_.output;
    for (std::int64_t n = 0; n < count; ++n) {
      R* const to = dh_step + n * s_.output;
      const R* const later = d.dh + (first + n) * s_.output;
      const R* const here = dy + (row + n) * s_.width() + k * s_.output;
      const bool has = net_.ends().has(step, first + n);
      for (std::int64_t j = 0; j < s_.output; ++j)
        to[j] = has ? here[j] + later[j] : R{0};
    }
    R* const du = s_.projects ? d.du + first * s_.hidden : dh_step;
    if (s_.projects) {
      std::copy_n(dh_step, count * s_.output, d.of.dh + row * s_.output);
      std::fill_n(du, count * s_.hidden, R{0});
      d.by_p.multiply(dh_step, s_.output, count, du, s_.hidden);
    }
    const std::int64_t before = net_.step_before(k, i);
    for (std::int64_t n = 0; n < count; ++n)
      run_cell(step, before, first + n, du + n * s_.hidden, d);
    if (s_.resets_first) reset_states(step, before, first, count, d);
    take_back(step, first, count, d);
  }

  [[nodiscard]] const R* state_before(std::int64_t before, std::int64_t n, const R* all,
                                      const R* first, std::int64_t width) const {
    return before < 0 ? first + n * width : all + (before * s_.batch + n) * width;
  }

  // For sequences that have ended the gradients of n, and so of q, are 0.
  void reset_states(std::int64_t step, std::int64_t before, std::int64_t first, std::int64_t count,
                    const direction& d) const {
    const std::int64_t columns = s_.gates() * s_.hidden;
    R* const gates = d.of.gates + (step * s_.batch + first) * columns;
    R* const dq = d.dq + first * s_.hidden;
    std::fill_n(dq, count * s_.hidden, R{0});
    d.by_q.multiply(gates + 2 * s_.hidden, columns, count, dq, s_.hidden);
    for (std::int64_t n = 0; n < count; ++n) {
      if (!net_.ends().has(step, first + n)) continue;
      with_.gru_reset_backward(
          gates + n * columns, state_before(before, first + n, d.of.h, d.first_h, s_.output),
          dq + n * s_.hidden, d.dh_before + (first + n) * s_.hidden, s_.hidden);
    }
  }

  void run_cell(std::int64_t step, std::int64_t before, std::int64_t n, const R* du,
                const direction& d) const {
    const std::int64_t row = step * s_.batch + n;
    const std::int64_t columns = s_.gates() * s_.hidden;
    R* const gates = d.of.gates + row * columns;
    if (!net_.ends().has(step, n)) {
      std::fill_n(gates, columns, R{0});
      if (d.of.q != nullptr && !s_.resets_first)
        std::fill_n(d.of.q + row * s_.hidden, s_.hidden, R{0});
      return;
    }
    const R* const h = state_before(before, n, d.of.h, d.first_h, s_.output);
    switch (s_.cell) {
      case dnn::rnn_cell::relu:
        return with_.relu_backward(gates, du, s_.hidden);
      case dnn::rnn_cell::tanh:
        return with_.tanh_backward(gates, du, s_.hidden);
      case dnn::rnn_cell::lstm:
        return with_.lstm_backward(gates, state_before(before, n, d.of.c, d.first_c, s_.hidden),
                                   d.of.c + row * s_.hidden, du, d.dc + n * s_.hidden, s_.hidden);
      case dnn::rnn_cell::gru: {
        R* const dh_before = d.dh_before + n * s_.hidden;
        if (s_.resets_first) return with_.gru_update_backward(gates, h, du, dh_before, s_.hidden);
        return with_.gru_backward(gates, d.of.q + row * s_.hidden, h, du, dh_before, s_.hidden);
      }
    }
  }

  // The gradient of the states before this step.
  void take_back(std::int64_t step, std::int64_t first, std::int64_t count,
                 const direction& d) const {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t row = step * s_.batch + first;
    R* const to = d.dh_before + first * s_.output;
    // For gru, the state's direct part is there already.
    if (d.of.q == nullptr) std::fill_n(to, count * s_.output, R{0});
    d.by_h.multiply(d.of.gates + row * columns, columns, count, to, s_.output);
    if (d.of.q != nullptr && !s_.resets_first)
      d.by_q.multiply(d.of.q + row * s_.hidden, s_.hidden, count, to, s_.output);
    for (std::int64_t n = 0; n < count; ++n) {
      if (net_.ends().has(step, first + n))
        std::copy_n(to + n * s_.output, s_.output, d.dh + (first + n) * s_.output);
    }
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
  scratch<R> workspace_;
  reserve_records<R> kept_;
  std::array<direction, 2> directions_{};
  std::int64_t by_x_ = 0;
  R* weights_ = nullptr;
};

}  // namespace

result<void> backward_data(const dnn::rnn_backward_data& r, lane_context& lane) {
  return for_type(r.y.type(), [&]<class T>(T) { return backward_data_pass<T>(r, lane).run(); });
}

}  // namespace troupe::cpu::rnn
