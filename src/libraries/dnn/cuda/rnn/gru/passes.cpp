#include "libraries/dnn/cuda/rnn/gru/passes.hpp"

#include "backend/cuda/context/part_lane.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "backend/operation_of.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"
#include "libraries/dnn/cuda/rnn/drop.hpp"
#include "libraries/dnn/cuda/rnn/gru/steps.hpp"
#include "libraries/dnn/cuda/rnn/operands.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"

#include <troupe/blas/level3.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace troupe::cuda::rnn::gru {
namespace {

// The operation that multiplies. Set once, while the plugin is loaded.
operation_of<blas::gemm> run_product;
const plugin_operations finds_product([](operation_table& table) { run_product.find_in(table); });

/// Rows of numbers, `step` apart.
struct matrix {
  std::byte* at = nullptr;
  dtype type{};
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t step = 0;

  [[nodiscard]] any_tensor view() const {
    const std::array strides{step, std::int64_t{1}};
    return any_tensor::unowned(at, type, shape({rows, columns}),
                               std::span<const std::int64_t>(strides));
  }
  [[nodiscard]] any_tensor turned() const { return view().transpose(); }
  [[nodiscard]] matrix part(std::int64_t first_column, std::int64_t count) const {
    return {at + first_column * size_of(type), type, rows, count, step};
  }
};

/// The parts of a reserve: offsets in bytes of the arrays of each layer and direction, and of each
/// layer's input but the first's.
struct reserve_layout {
  struct records {
    std::size_t gates = 0, before = 0, q = 0;
  };
  std::vector<records> states{};
  std::vector<std::size_t> inputs{};
  std::size_t bytes = 0;

  reserve_layout(const dnn::rnn_shape& s, dtype type) {
    pieces all;
    const std::int64_t column = s.rows() * size_of(type);
    for (std::int64_t state = 0; state < s.states(); ++state) {
      states.push_back({.gates = all.add(column * 3 * s.hidden),
                        .before = all.add(column * s.hidden),
                        .q = all.add(column * s.hidden)});
    }
    for (std::int64_t layer = 0; layer < s.layers; ++layer)
      inputs.push_back(all.add(layer == 0 ? 0 : column * s.width()));
    bytes = all.bytes();
  }
};

/// The work that all passes share.
template <class R>
class pass {
 public:
  pass(const R& r, const any_tensor& sequence, lane& where)
      : r_(r),
        s_(dnn::shape_of(r)),
        type_(sequence.type()),
        real_(type_ == dtype::f64 ? dtype::f64 : dtype::f32),
        time_first_(dnn::time_first(sequence)),
        where_(where),
        layout_(s_, type_),
        parameters_(dnn::rnn_parameters(r.network, s_.input)),
        frame_(where) {
    if (!dnn::every_step(s_, r.lengths)) lengths_ = frame_.template array<std::int32_t>(s_.batch);
    if (r.reserve.null()) return;
    reserve_ = operands_.add(r.reserve, use::updates, frame_);
  }

 protected:
  /// Once all memory has been asked for. \errors `invalid_argument` for a reserve that is too small
  [[nodiscard]] result<void> begin() {
    if (!r_.reserve.null()) TRY(check_reserve(r_.reserve, layout_.bytes));
    TRY(frame_.begin());
    TRY(operands_.begin(stream()));
    if (!has_ends()) return {};
    const std::vector<std::uint32_t> lengths(r_.lengths.begin(), r_.lengths.end());
    return check(enqueue_words(lengths, reinterpret_cast<std::byte*>(lengths_.get()), stream()),
                 "store_words");
  }
  [[nodiscard]] result<void> end() const { return operands_.end(stream()); }

  [[nodiscard]] cudaStream_t stream() const noexcept { return where_.stream(); }
  [[nodiscard]] bool has_ends() const noexcept { return !dnn::every_step(s_, r_.lengths); }
  [[nodiscard]] std::int64_t state_of(std::int64_t layer, std::int64_t direction) const noexcept {
    return layer * s_.directions + direction;
  }
  [[nodiscard]] std::byte* kept(std::size_t offset) const noexcept {
    return operands_.at(reserve_) + offset;
  }
  [[nodiscard]] frame_array<std::byte> room(std::int64_t count, dtype type) {
    return frame_.bytes(count * size_of(type));
  }

  /// W_x or W_h of a layer and direction, or its gradient.
  [[nodiscard]] matrix weight(const any_tensor& of, std::int64_t state, dnn::rnn_role role) const {
    const bool bias = role == dnn::rnn_role::input_bias || role == dnn::rnn_role::hidden_bias;
    const bool second = role == dnn::rnn_role::hidden_weight || role == dnn::rnn_role::hidden_bias;
    // All weights, then all biases, two of each for a state.
    const std::int64_t number = (bias ? s_.states() + state : state) * 2 + (second ? 1 : 0);
    const dnn::rnn_parameter& p = parameters_[static_cast<std::size_t>(number)];
    return {of.address() + p.offset * size_of(type_), type_, p.rows, p.columns, p.columns};
  }
  /// Its rows for the gates from `first` on.
  [[nodiscard]] matrix gates_of(const matrix& w, std::int64_t first, std::int64_t count) const {
    matrix part = w;
    part.at += first * s_.hidden * w.step * size_of(w.type);
    part.rows = count * s_.hidden;
    return part;
  }
  /// An array of all steps.
  [[nodiscard]] matrix all_rows(std::byte* at, dtype type, std::int64_t columns) const {
    return {at, type, s_.rows(), columns, columns};
  }
  /// Its rows of one step.
  [[nodiscard]] matrix rows_of(const matrix& all, const step_rows& rows) const {
    return {all.at + rows.first * all.step * size_of(all.type), all.type, s_.batch, all.columns,
            rows.each * all.step};
  }

  [[nodiscard]] step begin_step(std::int64_t layer, std::int64_t direction) const {
    step s{.batch = s_.batch, .hidden = s_.hidden, .type = type_, .width = s_.width()};
    if (has_ends()) s.lengths = lengths_;
    if (r_.reserve.null()) return s;
    const auto& records = layout_.states[static_cast<std::size_t>(state_of(layer, direction))];
    s.gates = kept(records.gates);
    s.before = kept(records.before);
    s.q = kept(records.q);
    return s;
  }
  /// Sets the number of the direction's i-th step, and its rows.
  void set_number(step& s, std::int64_t direction, std::int64_t i) const {
    s.number = direction == 0 ? i : s_.steps - 1 - i;
    s.rows = time_first_ ? step_rows{s.number * s_.batch, 1} : step_rows{s.number, s_.steps};
    s.q_rows = s.gates != nullptr ? s.rows : step_rows{};
  }

  /// c = a · b, or that added to c.
  [[nodiscard]] result<void> multiply(const any_tensor& a, const any_tensor& b, const matrix& c,
                                      bool add) const {
    const bool tf32 = type_ == dtype::f32 && r_.network.math == dnn::math_mode::tf32;
    // Its workspace would be that of this request: it needs none.
    part_lane without_workspace(where_, {});
    return run_product({.a = a,
                        .b = b,
                        .c = c.view(),
                        .beta = add ? 1 : 0,
                        .math = tf32 ? blas::math_mode::tf32 : blas::math_mode::strict},
                       without_workspace);
  }
  [[nodiscard]] result<void> enqueue_step(part what, const step& s) const {
    return enqueue(what, s, stream());
  }
  /// Drops in place between a layer and the next one.
  [[nodiscard]] result<void> drop(std::int64_t layer_below, std::byte* rows) const {
    if (!dnn::drops(r_.network)) return {};
    return check(enqueue_dropped(dropped_after(r_.network, s_, layer_below, time_first_), type_,
                                 rows, rows, stream()),
                 "drop_numbers");
  }

  const R& r_;
  dnn::rnn_shape s_;
  dtype type_;
  dtype real_;  ///< the type of the arithmetic
  bool time_first_;
  lane& where_;
  reserve_layout layout_;
  std::vector<dnn::rnn_parameter> parameters_;
  call_frame frame_;
  operands operands_;
  std::size_t reserve_ = 0;
  frame_array<std::int32_t> lengths_;
};

class forward_pass : pass<dnn::rnn_forward> {
 public:
  forward_pass(const dnn::rnn_forward& r, lane& where) : pass(r, r.x, where) {}

  result<void> run() {
    const bool training = !r_.reserve.null();
    sums_ = room(s_.rows() * 3 * s_.hidden, real_);
    state_ = room(s_.batch * s_.hidden, type_);
    q_ = room(training ? 0 : s_.batch * s_.hidden, type_);
    const std::int64_t joint = training || s_.layers == 1 ? 0 : s_.rows() * s_.width();
    const frame_array<std::byte> between[2] = {room(joint, type_), room(joint, type_)};
    TRY(begin());
    std::byte* input = r_.x.address();
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      const bool last = layer + 1 == s_.layers;
      std::byte* const y = last       ? r_.y.address()
                           : training ? kept(layout_.inputs[static_cast<std::size_t>(layer + 1)])
                                      : between[layer % 2].get();
      for (std::int64_t k = 0; k < s_.directions; ++k)
        TRY(run_direction(layer, k, input, y));
      if (!last && training) TRY(drop(layer, y));
      input = y;
    }
    return end();
  }

 private:
  result<void> run_direction(std::int64_t layer, std::int64_t k, std::byte* input, std::byte* y) {
    const std::int64_t state = state_of(layer, k);
    const matrix w_x = weight(r_.weights, state, dnn::rnn_role::input_weight);
    const matrix w_h = weight(r_.weights, state, dnn::rnn_role::hidden_weight);
    const matrix sums = all_rows(sums_, real_, 3 * s_.hidden);
    TRY(multiply(all_rows(input, type_, s_.input_of(layer)).view(), w_x.turned(), sums, false));
    const std::int64_t bytes = s_.batch * s_.hidden * size_of(type_);
    const auto size = static_cast<std::size_t>(bytes);
    TRY(r_.h_0.null() ? enqueue_zeros(state_, size, stream())
                      : enqueue_copy(state_, r_.h_0.address() + state * bytes, size, stream()));
    step s = begin_step(layer, k);
    s.b_x = weight(r_.weights, state, dnn::rnn_role::input_bias).at;
    s.b_h = weight(r_.weights, state, dnn::rnn_role::hidden_bias).at;
    s.sums = sums_;
    s.state = state_;
    s.y = y + k * s_.hidden * size_of(type_);
    if (s.q == nullptr) s.q = q_;
    const matrix states{state_, type_, s_.batch, s_.hidden, s_.hidden};
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      set_number(s, k, i);
      const matrix of_step = rows_of(sums, s.rows);
      TRY(multiply(states.view(), gates_of(w_h, 0, 2).turned(), of_step.part(0, 2 * s_.hidden),
                   true));
      TRY(enqueue_step(part::reset_state, s));
      TRY(multiply(rows_of(all_rows(s.q, type_, s_.hidden), s.q_rows).view(),
                   gates_of(w_h, 2, 1).turned(), of_step.part(2 * s_.hidden, s_.hidden), true));
      TRY(enqueue_step(part::update_state, s));
    }
    if (r_.h_n.null()) return {};
    return enqueue_copy(r_.h_n.address() + state * bytes, state_, size, stream());
  }

  frame_array<std::byte> sums_;
  frame_array<std::byte> state_;
  frame_array<std::byte> q_;
};

class backward_data_pass : pass<dnn::rnn_backward_data> {
 public:
  backward_data_pass(const dnn::rnn_backward_data& r, lane& where) : pass(r, r.y, where) {}

  result<void> run() {
    dh_ = room(s_.batch * s_.hidden, real_);
    dq_ = room(s_.batch * s_.hidden, real_);
    const std::int64_t joint = s_.layers == 1 ? 0 : s_.rows() * s_.width();
    const frame_array<std::byte> between[2] = {room(joint, type_), room(joint, type_)};
    TRY(begin());
    std::byte* dy = r_.dy.address();
    for (std::int64_t layer = s_.layers - 1; layer >= 0; --layer) {
      std::byte* const dx = layer == 0 ? r_.dx.address() : between[layer % 2].get();
      for (std::int64_t k = 0; k < s_.directions; ++k)
        TRY(run_direction(layer, k, dy, dx));
      if (layer > 0) TRY(drop(layer - 1, dx));
      dy = dx;
    }
    return end();
  }

 private:
  result<void> run_direction(std::int64_t layer, std::int64_t k, std::byte* dy, std::byte* dx) {
    const std::int64_t state = state_of(layer, k);
    const matrix w_x = weight(r_.weights, state, dnn::rnn_role::input_weight);
    const matrix w_h = weight(r_.weights, state, dnn::rnn_role::hidden_weight);
    const std::int64_t count = s_.batch * s_.hidden;
    const auto state_at = [&](const any_tensor& t) {
      return t.null() ? nullptr : t.address() + state * count * size_of(type_);
    };
    TRY(enqueue(copied_rows{.count = count,
                            .from = state_at(r_.dh_n),
                            .from_type = type_,
                            .to = dh_,
                            .to_type = real_},
                stream()));
    step s = begin_step(layer, k);
    s.y = dy + k * s_.hidden * size_of(type_);
    s.dh = dh_;
    s.dq = dq_;
    const matrix gates = all_rows(s.gates, type_, 3 * s_.hidden);
    const matrix dh{dh_, real_, s_.batch, s_.hidden, s_.hidden};
    const matrix dq{dq_, real_, s_.batch, s_.hidden, s_.hidden};
    for (std::int64_t i = s_.steps - 1; i >= 0; --i) {
      set_number(s, k, i);
      const matrix of_step = rows_of(gates, s.rows);
      TRY(enqueue_step(part::update_gradients, s));
      TRY(multiply(of_step.part(2 * s_.hidden, s_.hidden).view(), gates_of(w_h, 2, 1).view(), dq,
                   false));
      TRY(enqueue_step(part::reset_gradients, s));
      TRY(multiply(of_step.part(0, 2 * s_.hidden).view(), gates_of(w_h, 0, 2).view(), dh, true));
    }
    if (!r_.dh_0.null()) {
      TRY(enqueue(copied_rows{.count = count,
                              .from = dh_,
                              .from_type = real_,
                              .to = state_at(r_.dh_0),
                              .to_type = type_},
                  stream()));
    }
    return multiply(gates.view(), w_x.view(), all_rows(dx, type_, s_.input_of(layer)), k > 0);
  }

  frame_array<std::byte> dh_;
  frame_array<std::byte> dq_;
};

class backward_weights_pass : pass<dnn::rnn_backward_weights> {
 public:
  backward_weights_pass(const dnn::rnn_backward_weights& r, lane& where) : pass(r, r.x, where) {}

  result<void> run() {
    // A product with ones sums up columns; x behind the ends may be NaN, which 0 would not hide.
    const auto ones = room(s_.rows(), type_);
    const auto masked = room(has_ends() ? s_.rows() * s_.input : 0, type_);
    TRY(begin());
    TRY(enqueue(copied_rows{.count = s_.rows(), .to = ones, .to_type = type_, .value = 1},
                stream()));
    if (has_ends()) {
      TRY(enqueue(copied_rows{.count = s_.rows() * s_.input,
                              .from = r_.x.address(),
                              .from_type = type_,
                              .to = masked,
                              .to_type = type_,
                              .lengths = lengths_,
                              .width = s_.input,
                              .time_step = time_first_ ? s_.batch : 1,
                              .batch_step = time_first_ ? 1 : s_.steps,
                              .batch = s_.batch,
                              .steps = s_.steps},
                  stream()));
    }
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      std::byte* const input = layer > 0    ? kept(layout_.inputs[static_cast<std::size_t>(layer)])
                               : has_ends() ? masked.get()
                                            : r_.x.address();
      for (std::int64_t k = 0; k < s_.directions; ++k)
        TRY(run_direction(layer, k, input, ones));
    }
    return {};  // it only reads the reserve
  }

 private:
  result<void> run_direction(std::int64_t layer, std::int64_t k, std::byte* input,
                             std::byte* ones) const {
    const std::int64_t state = state_of(layer, k);
    const step s = begin_step(layer, k);
    const matrix gates = all_rows(s.gates, type_, 3 * s_.hidden);
    const matrix dw_h = weight(r_.dweights, state, dnn::rnn_role::hidden_weight);
    const auto add = [&](const matrix& by, const matrix& of, const matrix& to) {
      return multiply(by.turned(), of.view(), to, r_.accumulate);
    };
    TRY(add(gates, all_rows(input, type_, s_.input_of(layer)),
            weight(r_.dweights, state, dnn::rnn_role::input_weight)));
    TRY(add(gates.part(0, 2 * s_.hidden), all_rows(s.before, type_, s_.hidden),
            gates_of(dw_h, 0, 2)));
    TRY(add(gates.part(2 * s_.hidden, s_.hidden), all_rows(s.q, type_, s_.hidden),
            gates_of(dw_h, 2, 1)));
    for (const auto bias : {dnn::rnn_role::input_bias, dnn::rnn_role::hidden_bias})
      TRY(add(gates, all_rows(ones, type_, 1), weight(r_.dweights, state, bias)));
    return {};
  }
};

}  // namespace

std::size_t reserve_bytes(const dnn::rnn_sizes& r) {
  return reserve_layout(dnn::shape_of(r), r.type).bytes;
}
result<void> forward(const dnn::rnn_forward& r, lane& where) {
  return forward_pass(r, where).run();
}
result<void> backward_data(const dnn::rnn_backward_data& r, lane& where) {
  return backward_data_pass(r, where).run();
}
result<void> backward_weights(const dnn::rnn_backward_weights& r, lane& where) {
  return backward_weights_pass(r, where).run();
}

}  // namespace troupe::cuda::rnn::gru
