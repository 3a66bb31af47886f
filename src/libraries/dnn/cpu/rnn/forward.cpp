#include "libraries/dnn/cpu/rnn/network.hpp"
#include "libraries/dnn/cpu/rnn/onednn.hpp"
#include "libraries/dnn/cpu/rnn/passes.hpp"
#include "libraries/dnn/cpu/rnn/reserve.hpp"

#include <optional>

namespace troupe::cpu::rnn {
namespace {

template <class T>
class forward_pass {
  using R = real_of<T>;
  static constexpr std::int64_t most_biases = 4;  // for each unit

 public:
  forward_pass(const dnn::rnn_forward& r, lane_context& lane)
      : r_(r), s_(dnn::shape_of(r)), net_(r.network, s_, r.lengths), layout_(s_), lane_(lane) {
    if (!r.reserve.null()) kept_.emplace(r.reserve, s_, workspace_);
  }

  result<void> run() {
    if (kept_) {
      if (auto fits = kept_->check(); !fits) return fits;
    }
    if (dnn::nothing_to_run(s_, r_.lengths)) return keep_states();
    const std::int64_t count = r_.weights.extent(0);
    const std::int64_t weights = workspace_.add(count);
    const std::int64_t input = workspace_.add(s_.rows() * std::max(s_.input, s_.width()));
    for (std::int64_t k = 0; k < s_.directions; ++k)
      directions_[static_cast<std::size_t>(k)].add_to(workspace_, s_);
    by_x_ = workspace_.add(net_.largest_input_factor(s_.gates() * s_.hidden));
    bias_ = workspace_.add(most_biases * s_.hidden);
    // Without a reserve, layers take turns with two sets of records.
    const std::int64_t records = kept_ ? 0 : workspace_.add(4 * layout_.count());
    if (auto taken = workspace_.take(lane_); !taken) return taken;
    if (kept_) kept_->begin();
    records_ = kept_ ? nullptr : workspace_.at(records);
    weights_ = workspace_.at(weights);
    load_packed<T>(r_.weights, 0, count, weights_);
    load_sequences<T>(r_.x, net_.ends(), workspace_.at(input));
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      if (layer > 0)
        net_.join(layer - 1, records_of(layer - 1), kept_.has_value(), workspace_.at(input));
      if (auto done = run_layer(layer, workspace_.at(input)); !done) return done;
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

  /// One direction of the layer that is run.
  struct direction {
    state_records<R> to;
    R* first_h = nullptr;
    R* first_c = nullptr;
    factor<R> by_h;  ///< for the sums of all gates, for gru of the first two
    factor<R> by_q;
    factor<R> by_p;
    std::int64_t pieces[5]{};

    void add_to(scratch<R>& workspace, const dnn::rnn_shape& s) {
      const bool gru = s.cell == dnn::rnn_cell::gru;
      by_h = factor<R>(s.output, (gru ? 2 : s.gates()) * s.hidden);
      by_q = factor<R>(s.output, gru ? s.hidden : 0);
      by_p = factor<R>(s.hidden, s.projects ? s.output : 0);
      std::size_t piece = 0;
      for (const std::int64_t numbers :
           {s.batch * s.output, s.batch * s.hidden, by_h.count(), by_q.count(), by_p.count()})
        pieces[piece++] = workspace.add(numbers);
    }
  };

  void load_states(std::int64_t state, direction& d) {
    d.first_h = workspace_.at(d.pieces[0]);
    d.first_c = workspace_.at(d.pieces[1]);
    const std::int64_t of_h = s_.batch * s_.output;
    load_packed<T>(r_.h_0, state * of_h, of_h, d.first_h);
    const std::int64_t of_c = s_.batch * s_.hidden;
    if (d.to.c != nullptr) load_packed<T>(r_.c_0, state * of_c, of_c, d.first_c);
  }
  void pack(std::int64_t state, direction& d) {
    const weight_places& at = net_.places(state);
    const R* const w_h = weights_ + at.w_h;
    d.by_h.pack(w_h, 1, s_.output, workspace_.at(d.pieces[2]));
    if (d.to.q != nullptr)
      d.by_q.pack(w_h + 2 * s_.hidden * s_.output, 1, s_.output, workspace_.at(d.pieces[3]));
    if (s_.projects) d.by_p.pack(weights_ + at.w_p, 1, s_.hidden, workspace_.at(d.pieces[4]));
  }

  result<void> run_layer(std::int64_t layer, R* input) {
    const auto records = records_of(layer);
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      direction& d = directions_[static_cast<std::size_t>(k)];
      d.to = records[static_cast<std::size_t>(k)];
      load_states(layer * s_.directions + k, d);
    }
    auto by_library = run_by_library(layer, input);
    if (!by_library) return std::move(by_library).error();
    if (!*by_library) run_by_loops(layer, input);
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      const state_records<R>& to = records[static_cast<std::size_t>(k)];
      const std::int64_t state = layer * s_.directions + k;
      const std::int64_t last = net_.step(k, s_.steps - 1) * s_.batch;
      store_packed<T>(to.h + last * s_.output, s_.batch * s_.output, r_.h_n,
                      state * s_.batch * s_.output);
      if (to.c == nullptr) continue;
      store_packed<T>(to.c + last * s_.hidden, s_.batch * s_.hidden, r_.c_n,
                      state * s_.batch * s_.hidden);
    }
    return {};
  }

  /// False where oneDNN does not have it, or is slower. It keeps nothing for backward.
  result<bool> run_by_library(std::int64_t layer, R* input) {
    if (!std::is_same_v<R, float> || kept_ || !dnn::every_step(s_, r_.lengths) ||
        lane_.methods().dnn != dnn_method::automatic || !is_faster_by_onednn(s_))
      return false;
    std::array<std::shared_ptr<const onednn_plan>, 2> plans;
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      auto& plan = plans[static_cast<std::size_t>(k)];
      plan = onednn_layer(s_, layer, k == 1);
      if (plan == nullptr) return false;
    }
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      const direction& d = directions_[static_cast<std::size_t>(k)];
      const weight_places& at = net_.places(layer * s_.directions + k);
      order_weights(layer, at);
      const std::int64_t last = net_.step(k, s_.steps - 1) * s_.batch * s_.hidden;
      const auto bytes = [](R* numbers) { return reinterpret_cast<std::byte*>(numbers); };
      onednn_plan::addresses memory{};
      memory[input_place] = bytes(input);
      memory[input_weights_place] = bytes(weights_ + at.w_x);
      memory[hidden_weights_place] = bytes(weights_ + at.w_h);
      memory[bias_place] = bytes(workspace_.at(bias_));
      memory[first_h_place] = bytes(d.first_h);
      memory[first_c_place] = bytes(d.first_c);
      memory[result_place] = bytes(d.to.h);
      memory[last_c_place] = d.to.c == nullptr ? nullptr : bytes(d.to.c + last);
      auto done = plans[static_cast<std::size_t>(k)]->run(memory, lane_);
      if (!done) return std::move(done).error();
    }
    return true;
  }

  /// As oneDNN wants them, of one layer and direction: gates of gru in the order z, r, n, in place,
  /// and the sums of biases that are added to one sum.
  void order_weights(std::int64_t layer, const weight_places& at) {
    const std::int64_t hidden = s_.hidden;
    R* const bias = workspace_.at(bias_);
    const R* const b_x = weights_ + at.b_x;
    const R* const b_h = weights_ + at.b_h;
    if (s_.cell != dnn::rnn_cell::gru) {
      for (std::int64_t i = 0; i < s_.gates() * hidden; ++i)
        bias[i] = b_x[i] + b_h[i];
      return;
    }
    for (const auto& [first, depth] :
         {std::pair(at.w_x, s_.input_of(layer)), std::pair(at.w_h, hidden)})
      std::swap_ranges(weights_ + first, weights_ + first + hidden * depth,
                       weights_ + first + hidden * depth);
    for (std::int64_t i = 0; i < hidden; ++i) {
      bias[i] = b_x[hidden + i] + b_h[hidden + i];
      bias[hidden + i] = b_x[i] + b_h[i];
      bias[2 * hidden + i] = b_x[2 * hidden + i];
      bias[3 * hidden + i] = b_h[2 * hidden + i];
    }
  }

  void run_by_loops(std::int64_t layer, const R* input) {
    for (std::int64_t k = 0; k < s_.directions; ++k) {
      direction& d = directions_[static_cast<std::size_t>(k)];
      const std::int64_t state = layer * s_.directions + k;
      pack(state, d);
      sum_inputs(layer, state, input, d);
    }
    net_.share_sequences([&](std::int64_t k, std::int64_t first, std::int64_t last) {
      run_sequences(k, directions_[static_cast<std::size_t>(k)], first, last);
    });
  }

  // The input's part of the sums of all steps.
  void sum_inputs(std::int64_t layer, std::int64_t state, const R* input, const direction& d) {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const weight_places& at = net_.places(state);
    const bool apart = d.to.q != nullptr && !s_.resets_first;
    const std::int64_t joint = apart ? 2 * s_.hidden : columns;
    const std::int64_t depth = s_.input_of(layer);
    factor<R> by_x(depth, columns);
    by_x.pack(weights_ + at.w_x, 1, depth, workspace_.at(by_x_));
    net_.share_rows(layer, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        R* const sums = d.to.gates + row * columns;
        for (std::int64_t j = 0; j < joint; ++j)
          sums[j] = weights_[at.b_x + j] + weights_[at.b_h + j];
        if (!apart) continue;
        std::copy_n(weights_ + at.b_x + joint, s_.hidden, sums + joint);
        std::copy_n(weights_ + at.b_h + joint, s_.hidden, d.to.q + row * s_.hidden);
      }
      by_x.multiply(input + first * depth, depth, last - first, d.to.gates + first * columns,
                    columns);
    });
  }

  void run_sequences(std::int64_t k, const direction& d, std::int64_t first,
                     std::int64_t last) const {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t count = last - first;
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      const std::int64_t step = net_.step(k, i);
      const std::int64_t before = net_.step_before(k, i) * s_.batch;
      const R* const h = (i == 0 ? d.first_h : d.to.h + before * s_.output) + first * s_.output;
      const R* const c = (i == 0 || d.to.c == nullptr ? d.first_c : d.to.c + before * s_.hidden) +
                         first * s_.hidden;
      const std::int64_t row = step * s_.batch + first;
      d.by_h.multiply(h, s_.output, count, d.to.gates + row * columns, columns);
      if (s_.resets_first)
        reset_states(step, first, count, h, d);
      else if (d.to.q != nullptr)
        d.by_q.multiply(h, s_.output, count, d.to.q + row * s_.hidden, s_.hidden);
      for (std::int64_t n = 0; n < count; ++n)
        run_cell(step, first + n, h + n * s_.output, c + n * s_.hidden, d.to);
      if (s_.projects) project(step, first, count, h, d);
    }
  }

  void reset_states(std::int64_t step, std::int64_t first, std::int64_t count, const R* h,
                    const direction& d) const {
    const std::int64_t columns = s_.gates() * s_.hidden;
    const std::int64_t row = step * s_.batch + first;
    R* const gates = d.to.gates + row * columns;
    R* const q = d.to.q + row * s_.hidden;
    for (std::int64_t n = 0; n < count; ++n) {
      if (net_.ends().has(step, first + n))
        with_.gru_reset(gates + n * columns, h + n * s_.hidden, q + n * s_.hidden, s_.hidden);
      else
        std::fill_n(q + n * s_.hidden, s_.hidden, R{0});
    }
    d.by_q.multiply(q, s_.hidden, count, gates + 2 * s_.hidden, columns);
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
        return s_.resets_first ? with_.gru_update(gates, h, after, s_.hidden)
                               : with_.gru(gates, to.q + row * s_.hidden, h, after, s_.hidden);
    }
  }

  void project(std::int64_t step, std::int64_t first, std::int64_t count, const R* h,
               const direction& d) const {
    const std::int64_t row = step * s_.batch + first;
    R* const projected = d.to.h + row * s_.output;
    std::fill_n(projected, count * s_.output, R{0});
    d.by_p.multiply(d.to.u + row * s_.hidden, s_.hidden, count, projected, s_.output);
    for (std::int64_t n = 0; n < count; ++n) {
      if (!net_.ends().has(step, first + n))
        std::copy_n(h + n * s_.output, s_.output, projected + n * s_.output);
    }
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
  scratch<R> workspace_;
  std::optional<reserve_records<R>> kept_;
  std::array<direction, 2> directions_{};
  std::int64_t by_x_ = 0;
  std::int64_t bias_ = 0;
  R* records_ = nullptr;
  R* weights_ = nullptr;
};

}  // namespace

result<void> forward(const dnn::rnn_forward& r, lane_context& lane) {
  return for_type(r.x.type(), [&]<class T>(T) { return forward_pass<T>(r, lane).run(); });
}

}  // namespace troupe::cpu::rnn
