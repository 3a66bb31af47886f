#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/rnn/chain.hpp"
#include "libraries/dnn/cuda/rnn/gru/passes.hpp"
#include "libraries/dnn/cuda/rnn/operands.hpp"
#include "libraries/dnn/cuda/rnn/recorded.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::cuda {
namespace {

using namespace rnn;

/// The work that all passes share, before and after cuDNN's calls.
template <class R>
class pass {
 public:
  pass(const R& r, const any_tensor& sequence, bool training, lane& where)
      : r_(r),
        s_(dnn::shape_of(r)),
        type_(sequence.type()),
        time_first_(dnn::time_first(sequence)),
        training_(training),
        where_(where),
        frame_(where) {}

 protected:
  /// Plans the calls. \errors `invalid_argument` if the reserve is too small for them
  result<void> plan(const any_tensor& reserve) {
    calls_ = TRY(chain::make(r_.network, s_, type_, r_.lengths, dnn::every_step(s_, r_.lengths),
                             time_first_, training_, where_));
    if (training_) TRY(check_reserve(reserve, calls_.reserve_bytes()));
    work_ = frame_.bytes(std::max<std::size_t>(calls_.workspace_bytes(), 1));
    weights_ = frame_.bytes(calls_.weight_bytes());
    return {};
  }
  /// Enqueues the calls between the copies of operands that lie elsewhere. All operands must have
  /// been added. `kind` distinguishes requests with equal operands.
  template <class Calls>
  [[nodiscard]] result<void> enqueue(std::uint64_t kind, Calls calls) {
    TRY(frame_.begin());
    const auto on = [&](cudaStream_t stream) -> result<void> {
      stream_ = stream;
      TRY(operands_.begin(stream_));
      TRY(calls());
      return operands_.end(stream_);
    };
    // A recording cannot be made, or launched, within another.
    if (where_.is_recording()) return on(where_.stream());
    auto recorded = TRY(recorded_calls::of(where_));
    return recorded->run(words(kind), on);
  }
  [[nodiscard]] std::byte* at(std::size_t operand) const noexcept { return operands_.at(operand); }
  /// The part of a state that belongs to a call.
  [[nodiscard]] std::byte* state(std::size_t operand, const link& l, bool cell) const noexcept {
    std::byte* const all = at(operand);
    return all == nullptr ? nullptr : all + calls_.states_before(l, cell);
  }
  /// The weights of a call in cuDNN's layout.
  [[nodiscard]] result<std::byte*> weights_of(const link& l, std::size_t operand) {
    if (std::byte* const same = calls_.in_place(l, at(operand));
        same != nullptr && reinterpret_cast<std::uintptr_t>(same) % 16 == 0) {
      return same;
    }
    std::byte* const to = weights_;
    TRY(calls_.gather(l, at(operand), to, stream_));
    return to;
  }
  /// Copies the state of sequences without steps: cuDNN does not document that it does so.
  [[nodiscard]] result<void> keep(std::size_t from, std::size_t to, std::int64_t width) const {
    if (at(to) == nullptr) return {};
    const auto row = static_cast<std::size_t>(width * size_of(type_));
    const std::size_t pitch = row * static_cast<std::size_t>(s_.batch);
    const auto rows = static_cast<std::size_t>(s_.states());
    for (std::size_t n = 0; n < r_.lengths.size(); ++n) {
      if (r_.lengths[n] != 0) continue;
      std::byte* const target = at(to) + n * row;
      TRY(at(from) == nullptr
              ? check(cudaMemset2DAsync(target, pitch, 0, row, rows, stream_), "cudaMemset2DAsync")
              : check(cudaMemcpy2DAsync(target, pitch, at(from) + n * row, pitch, row, rows,
                                        cudaMemcpyDeviceToDevice, stream_),
                      "cudaMemcpy2DAsync"));
    }
    return {};
  }
  /// For requests in which no sequence has a step.
  [[nodiscard]] result<void> keep_all(const any_tensor& from, const any_tensor& to) const {
    if (to.null()) return {};
    const auto bytes = static_cast<std::size_t>(to.count() * size_of(to.type()));
    return from.null() ? enqueue_zeros(to.address(), bytes, where_.stream())
                       : enqueue_copy(to.address(), from.address(), bytes, where_.stream());
  }
  [[nodiscard]] result<void> zero(const any_tensor& t) const { return keep_all(any_tensor(), t); }

  [[nodiscard]] call_words words(std::uint64_t kind) const {
    const dnn::rnn_network& n = r_.network;
    call_words all{kind,
                   static_cast<std::uint64_t>(type_),
                   static_cast<std::uint64_t>(time_first_),
                   static_cast<std::uint64_t>(training_),
                   static_cast<std::uint64_t>(n.cell),
                   static_cast<std::uint64_t>(n.math),
                   static_cast<std::uint64_t>(n.bidirectional),
                   std::bit_cast<std::uint64_t>(n.dropout),
                   n.seed,
                   static_cast<std::uint64_t>(n.offset),
                   std::bit_cast<std::uint64_t>(work_.get())};
    for (const std::int64_t size : {n.hidden, n.layers, n.projection, s_.steps, s_.batch, s_.input})
      all.push_back(static_cast<std::uint64_t>(size));
    for (const std::int64_t length : r_.lengths)
      all.push_back(static_cast<std::uint64_t>(length));
    operands_.write(all);
    return all;
  }

  const R& r_;
  dnn::rnn_shape s_;
  dtype type_;
  bool time_first_;
  bool training_;
  lane& where_;
  chain calls_;
  call_frame frame_;
  operands operands_;
  frame_array<std::byte> work_;
  frame_array<std::byte> weights_;
  cudaStream_t stream_ = nullptr;  ///< the stream on which calls are enqueued
};

class forward_pass : pass<dnn::rnn_forward> {
 public:
  forward_pass(const dnn::rnn_forward& r, lane& where) : pass(r, r.x, !r.reserve.null(), where) {}

  result<void> run() {
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      TRY(zero(r_.y));
      TRY(keep_all(r_.h_0, r_.h_n));
      return keep_all(r_.c_0, r_.c_n);
    }
    if (s_.resets_first) return gru::forward(r_, where_);
    TRY(plan(r_.reserve));
    const std::size_t x = operands_.add(r_.x, use::reads, frame_);
    const std::size_t weights = operands_.add(r_.weights, use::reads, frame_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, frame_);
    const std::size_t c_0 = operands_.add(r_.c_0, use::reads, frame_);
    const std::size_t y = operands_.add(r_.y, use::writes, frame_);
    const std::size_t h_n = operands_.add(r_.h_n, use::writes, frame_);
    const std::size_t c_n = operands_.add(r_.c_n, use::writes, frame_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::writes, frame_);
    return enqueue(0, [&]() -> result<void> {
      const std::byte* input = at(x);
      for (const link& l : calls_.links()) {
        const bool last = &l == &calls_.links().back();
        std::byte* const result_at = last ? at(y) : at(reserve) + l.y_at;
        const auto of_call = TRY(weights_of(l, weights));
        TRY(check(cudnnRNNForward(calls_.library(), l.layers->native.get(), calls_.mode(), nullptr,
                                  l.x.get(), input, l.y.get(), result_at, l.h.get(),
                                  state(h_0, l, false), state(h_n, l, false), l.c.get(),
                                  state(c_0, l, true), state(c_n, l, true), l.layers->weight_bytes,
                                  of_call, l.workspace_bytes, work_, l.reserve_bytes,
                                  training_ ? at(reserve) + l.reserve_at : nullptr),
                  "cudnnRNNForward", stream_));
        if (last) break;
        std::byte* const dropped = at(reserve) + l.dropped_at;
        TRY(calls_.enqueue_drop(l, result_at, dropped, stream_));
        input = dropped;
      }
      TRY(keep(h_0, h_n, s_.output));
      TRY(keep(c_0, c_n, s_.hidden));
      return {};
    });
  }
};

class backward_data_pass : pass<dnn::rnn_backward_data> {
 public:
  backward_data_pass(const dnn::rnn_backward_data& r, lane& where) : pass(r, r.y, true, where) {}

  result<void> run() {
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      TRY(zero(r_.dx));
      TRY(keep_all(r_.dh_n, r_.dh_0));
      return keep_all(r_.dc_n, r_.dc_0);
    }
    if (s_.resets_first) return gru::backward_data(r_, where_);
    TRY(plan(r_.reserve));
    const std::size_t weights = operands_.add(r_.weights, use::reads, frame_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, frame_);
    const std::size_t c_0 = operands_.add(r_.c_0, use::reads, frame_);
    const std::size_t y = operands_.add(r_.y, use::reads, frame_);
    const std::size_t dy = operands_.add(r_.dy, use::reads, frame_);
    const std::size_t dh_n = operands_.add(r_.dh_n, use::reads, frame_);
    const std::size_t dc_n = operands_.add(r_.dc_n, use::reads, frame_);
    const std::size_t dx = operands_.add(r_.dx, use::writes, frame_);
    const std::size_t dh_0 = operands_.add(r_.dh_0, use::writes, frame_);
    const std::size_t dc_0 = operands_.add(r_.dc_0, use::writes, frame_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::updates, frame_);
    // The gradients between two layers, in two alternating buffers.
    const bool several = calls_.links().size() > 1;
    const auto joint = static_cast<std::int64_t>(several ? calls_.joint_bytes() : 0);
    const frame_array<std::byte> between[2] = {frame_.bytes(joint), frame_.bytes(joint)};
    return enqueue(1, [&]() -> result<void> {
      const std::byte* gradient = at(dy);
      const auto& links = calls_.links();
      for (std::size_t i = links.size(); i-- > 0;) {
        const link& l = links[i];
        const std::byte* const of_y = i + 1 == links.size() ? at(y) : at(reserve) + l.y_at;
        std::byte* const to = i == 0 ? at(dx) : between[i % 2].get();
        const auto of_call = TRY(weights_of(l, weights));
        TRY(check(cudnnRNNBackwardData_v8(
                      calls_.library(), l.layers->native.get(), nullptr, l.y.get(), of_y, gradient,
                      l.x.get(), to, l.h.get(), state(h_0, l, false), state(dh_n, l, false),
                      state(dh_0, l, false), l.c.get(), state(c_0, l, true), state(dc_n, l, true),
                      state(dc_0, l, true), l.layers->weight_bytes, of_call, l.workspace_bytes,
                      work_, l.reserve_bytes, at(reserve) + l.reserve_at),
                  "cudnnRNNBackwardData_v8", stream_));
        if (i == 0) break;
        TRY(calls_.enqueue_drop(links[i - 1], to, to, stream_));
        gradient = to;
      }
      TRY(keep(dh_n, dh_0, s_.output));
      TRY(keep(dc_n, dc_0, s_.hidden));
      return {};
    });
  }
};

class backward_weights_pass : pass<dnn::rnn_backward_weights> {
 public:
  backward_weights_pass(const dnn::rnn_backward_weights& r, lane& where)
      : pass(r, r.x, true, where) {}

  result<void> run() {
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      return r_.accumulate ? result<void>() : zero(r_.dweights);
    }
    if (s_.resets_first) return gru::backward_weights(r_, where_);
    TRY(plan(r_.reserve));
    const std::size_t x = operands_.add(r_.x, use::reads, frame_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, frame_);
    const std::size_t y = operands_.add(r_.y, use::reads, frame_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::reads, frame_);
    const std::size_t dweights =
        operands_.add(r_.dweights, r_.accumulate ? use::updates : use::writes, frame_);
    return enqueue(r_.accumulate ? 3 : 2, [&]() -> result<void> {
      const std::byte* input = at(x);
      for (const link& l : calls_.links()) {
        const bool last = &l == &calls_.links().back();
        const std::byte* const of_y = last ? at(y) : at(reserve) + l.y_at;
        std::byte* to = calls_.in_place(l, at(dweights));
        const bool in_place = to != nullptr;
        if (!in_place) to = weights_;
        TRY(begin_sums(l, at(dweights), to, in_place));
        TRY(check(cudnnRNNBackwardWeights_v8(calls_.library(), l.layers->native.get(),
                                             CUDNN_WGRAD_MODE_ADD, nullptr, l.x.get(), input,
                                             l.h.get(), state(h_0, l, false), l.y.get(), of_y,
                                             l.layers->weight_bytes, to, l.workspace_bytes, work_,
                                             l.reserve_bytes, at(reserve) + l.reserve_at),
                  "cudnnRNNBackwardWeights_v8", stream_));
        if (!in_place) TRY(calls_.scatter(l, to, at(dweights), stream_));
        input = at(reserve) + l.dropped_at;
      }
      return {};
    });
  }

 private:
  // cuDNN adds to the existing gradients.
  result<void> begin_sums(const link& l, const std::byte* ours, std::byte* to,
                          bool in_place) const {
    if (!r_.accumulate) return enqueue_zeros(to, l.layers->weight_bytes, stream_);
    return in_place ? result<void>() : calls_.gather(l, ours, to, stream_);
  }
};

result<void> forward(const dnn::rnn_forward& r, lane& where) {
  return forward_pass(r, where).run();
}
result<void> backward_data(const dnn::rnn_backward_data& r, lane& where) {
  return backward_data_pass(r, where).run();
}
result<void> backward_weights(const dnn::rnn_backward_weights& r, lane& where) {
  return backward_weights_pass(r, where).run();
}

result<dnn::rnn_byte_counts> sizes(const dnn::rnn_sizes& r, lane_context& lane_of) {
  dnn::rnn_byte_counts counts{.weights = dnn::rnn_weight_count(r.network, r.input)};
  const dnn::rnn_shape s = dnn::shape_of(r);
  if (dnn::nothing_to_run(s, {})) return counts;
  if (s.resets_first) {
    counts.reserve = static_cast<std::int64_t>(gru::reserve_bytes(r));
    return counts;
  }
  for (const bool whole : {true, false}) {
    const auto calls =
        TRY(chain::make(r.network, s, r.type, {}, whole, true, true, static_cast<lane&>(lane_of)));
    counts.reserve = std::max(counts.reserve, static_cast<std::int64_t>(calls.reserve_bytes()));
  }
  return counts;
}

const plugin_operations rnn_operations([](operation_table& table) {
  table.add<dnn::rnn_sizes>(sizes);
  add<dnn::rnn_forward>(table, forward);
  add<dnn::rnn_backward_data>(table, backward_data);
  add<dnn::rnn_backward_weights>(table, backward_weights);
});

}  // namespace
}  // namespace troupe::cuda
