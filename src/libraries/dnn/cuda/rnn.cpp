#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/rnn/chain.hpp"
#include "libraries/dnn/cuda/rnn/operands.hpp"
#include "libraries/dnn/cuda/rnn/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace troupe::cuda {
namespace {

using namespace rnn;

/// What all passes do before and after cuDNN's calls.
template <class R>
class pass {
 public:
  pass(const R& r, const any_tensor& sequence, bool training, lane& where)
      : r_(r),
        s_(dnn::shape_of(r)),
        type_(sequence.type()),
        time_first_(dnn::time_first(sequence)),
        training_(training),
        where_(where) {}

 protected:
  /// The calls. \errors `invalid_argument` where the reserve is too small for them
  result<void> plan(const any_tensor& reserve) {
    auto made = chain::make(r_.network, s_, type_, r_.lengths, dnn::every_step(s_, r_.lengths),
                            time_first_, training_, where_);
    if (!made) return std::move(made).error();
    calls_ = *std::move(made);
    const auto has = static_cast<std::size_t>(reserve.null() ? 0 : reserve.extent(0));
    if (training_ && has < calls_.reserve_bytes()) {
      return error{
          .code = errc::invalid_argument,
          .message = fmt::format("reserve must have the {} bytes that rnn_sizes says; it has {}",
                                 calls_.reserve_bytes(), has)};
    }
    work_ = room_.add(static_cast<std::int64_t>(calls_.workspace_bytes()));
    weights_ = room_.add(static_cast<std::int64_t>(calls_.weight_bytes()));
    return {};
  }
  /// Enqueues what `calls` does, once all operands are there, between the copies of those that lie
  /// elsewhere. `kind` tells requests apart whose operands are alike.
  template <class Calls>
  [[nodiscard]] result<void> enqueue(std::uint64_t kind, Calls calls) {
    auto memory = where_.workspace(std::max<std::size_t>(room_.bytes(), 1));
    if (!memory) return std::move(memory).error();
    base_ = memory->data();
    auto recorded = recorded_calls::of(where_);
    if (!recorded) return std::move(recorded).error();
    return (*recorded)->run(words(kind), [&](cudaStream_t stream) {
      stream_ = stream;
      if (auto begun = operands_.begin(base_, stream_); !begun) return begun;
      if (auto done = calls(); !done) return done;
      return operands_.end(stream_);
    });
  }
  [[nodiscard]] std::byte* at(std::size_t operand) const noexcept { return operands_.at(operand); }
  /// The part of the states that a call is about.
  [[nodiscard]] std::byte* state(std::size_t operand, const link& l, bool cell) const noexcept {
    std::byte* const all = at(operand);
    return all == nullptr ? nullptr : all + calls_.states_before(l, cell);
  }
  /// The weights of a call, as cuDNN wants them.
  [[nodiscard]] result<std::byte*> weights_of(const link& l, std::size_t operand) {
    if (std::byte* const same = calls_.in_place(l, at(operand));
        same != nullptr && reinterpret_cast<std::uintptr_t>(same) % 16 == 0) {
      return same;
    }
    std::byte* const to = base_ + weights_;
    if (auto done = calls_.gather(l, at(operand), to, stream_); !done) {
      return std::move(done).error();
    }
    return to;
  }
  /// Sequences without a step keep their state, which cuDNN's manual does not promise.
  [[nodiscard]] result<void> keep(std::size_t from, std::size_t to, std::int64_t width) const {
    if (at(to) == nullptr) return {};
    const auto row = static_cast<std::size_t>(width * size_of(type_));
    const std::size_t pitch = row * static_cast<std::size_t>(s_.batch);
    const auto rows = static_cast<std::size_t>(s_.states());
    for (std::size_t n = 0; n < r_.lengths.size(); ++n) {
      if (r_.lengths[n] != 0) continue;
      std::byte* const target = at(to) + n * row;
      auto done =
          at(from) == nullptr
              ? check(cudaMemset2DAsync(target, pitch, 0, row, rows, stream_), "cudaMemset2DAsync")
              : check(cudaMemcpy2DAsync(target, pitch, at(from) + n * row, pitch, row, rows,
                                        cudaMemcpyDeviceToDevice, stream_),
                      "cudaMemcpy2DAsync");
      if (!done) return done;
    }
    return {};
  }
  /// Where no sequence has a step.
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
                   std::bit_cast<std::uint64_t>(base_)};
    for (const std::int64_t number :
         {n.hidden, n.layers, n.projection, s_.steps, s_.batch, s_.input})
      all.push_back(static_cast<std::uint64_t>(number));
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
  pieces room_;
  operands operands_;
  std::size_t work_ = 0;
  std::size_t weights_ = 0;
  std::byte* base_ = nullptr;
  cudaStream_t stream_ = nullptr;  ///< what calls enqueue on
};

class forward_pass : pass<dnn::rnn_forward> {
 public:
  forward_pass(const dnn::rnn_forward& r, lane& where) : pass(r, r.x, !r.reserve.null(), where) {}

  result<void> run() {
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      if (auto done = zero(r_.y); !done) return done;
      if (auto done = keep_all(r_.h_0, r_.h_n); !done) return done;
      return keep_all(r_.c_0, r_.c_n);
    }
    if (auto planned = plan(r_.reserve); !planned) return planned;
    const std::size_t x = operands_.add(r_.x, use::reads, room_);
    const std::size_t weights = operands_.add(r_.weights, use::reads, room_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, room_);
    const std::size_t c_0 = operands_.add(r_.c_0, use::reads, room_);
    const std::size_t y = operands_.add(r_.y, use::writes, room_);
    const std::size_t h_n = operands_.add(r_.h_n, use::writes, room_);
    const std::size_t c_n = operands_.add(r_.c_n, use::writes, room_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::writes, room_);
    return enqueue(0, [&]() -> result<void> {
      const std::byte* input = at(x);
      for (const link& l : calls_.links()) {
        const bool last = &l == &calls_.links().back();
        std::byte* const result_at = last ? at(y) : at(reserve) + l.y_at;
        auto of_call = weights_of(l, weights);
        if (!of_call) return std::move(of_call).error();
        if (auto done =
                check(cudnnRNNForward(
                          calls_.library(), l.layers->native.get(), calls_.mode(), nullptr,
                          l.x.get(), input, l.y.get(), result_at, l.h.get(), state(h_0, l, false),
                          state(h_n, l, false), l.c.get(), state(c_0, l, true), state(c_n, l, true),
                          l.layers->weight_bytes, *of_call, l.workspace_bytes, base_ + work_,
                          l.reserve_bytes, training_ ? at(reserve) + l.reserve_at : nullptr),
                      "cudnnRNNForward", stream_);
            !done) {
          return done;
        }
        if (last) break;
        std::byte* const dropped = at(reserve) + l.dropped_at;
        if (auto done = calls_.enqueue_drop(l, result_at, dropped, stream_); !done) {
          return done;
        }
        input = dropped;
      }
      if (auto done = keep(h_0, h_n, s_.output); !done) return done;
      if (auto done = keep(c_0, c_n, s_.hidden); !done) return done;
      return {};
    });
  }
};

class backward_data_pass : pass<dnn::rnn_backward_data> {
 public:
  backward_data_pass(const dnn::rnn_backward_data& r, lane& where) : pass(r, r.y, true, where) {}

  result<void> run() {
    if (dnn::nothing_to_run(s_, r_.lengths)) {
      if (auto done = zero(r_.dx); !done) return done;
      if (auto done = keep_all(r_.dh_n, r_.dh_0); !done) return done;
      return keep_all(r_.dc_n, r_.dc_0);
    }
    if (auto planned = plan(r_.reserve); !planned) return planned;
    const std::size_t weights = operands_.add(r_.weights, use::reads, room_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, room_);
    const std::size_t c_0 = operands_.add(r_.c_0, use::reads, room_);
    const std::size_t y = operands_.add(r_.y, use::reads, room_);
    const std::size_t dy = operands_.add(r_.dy, use::reads, room_);
    const std::size_t dh_n = operands_.add(r_.dh_n, use::reads, room_);
    const std::size_t dc_n = operands_.add(r_.dc_n, use::reads, room_);
    const std::size_t dx = operands_.add(r_.dx, use::writes, room_);
    const std::size_t dh_0 = operands_.add(r_.dh_0, use::writes, room_);
    const std::size_t dc_0 = operands_.add(r_.dc_0, use::writes, room_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::updates, room_);
    // What comes down from one layer to the next, in turns.
    const bool several = calls_.links().size() > 1;
    const auto joint = static_cast<std::int64_t>(several ? calls_.joint_bytes() : 0);
    const std::size_t between[2] = {room_.add(joint), room_.add(joint)};
    return enqueue(1, [&]() -> result<void> {
      const std::byte* gradient = at(dy);
      const auto& links = calls_.links();
      for (std::size_t i = links.size(); i-- > 0;) {
        const link& l = links[i];
        const std::byte* const of_y = i + 1 == links.size() ? at(y) : at(reserve) + l.y_at;
        std::byte* const to = i == 0 ? at(dx) : base_ + between[i % 2];
        auto of_call = weights_of(l, weights);
        if (!of_call) return std::move(of_call).error();
        if (auto done = check(
                cudnnRNNBackwardData_v8(
                    calls_.library(), l.layers->native.get(), nullptr, l.y.get(), of_y, gradient,
                    l.x.get(), to, l.h.get(), state(h_0, l, false), state(dh_n, l, false),
                    state(dh_0, l, false), l.c.get(), state(c_0, l, true), state(dc_n, l, true),
                    state(dc_0, l, true), l.layers->weight_bytes, *of_call, l.workspace_bytes,
                    base_ + work_, l.reserve_bytes, at(reserve) + l.reserve_at),
                "cudnnRNNBackwardData_v8", stream_);
            !done) {
          return done;
        }
        if (i == 0) break;
        if (auto done = calls_.enqueue_drop(links[i - 1], to, to, stream_); !done) {
          return done;
        }
        gradient = to;
      }
      if (auto done = keep(dh_n, dh_0, s_.output); !done) return done;
      if (auto done = keep(dc_n, dc_0, s_.hidden); !done) return done;
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
    if (auto planned = plan(r_.reserve); !planned) return planned;
    const std::size_t x = operands_.add(r_.x, use::reads, room_);
    const std::size_t h_0 = operands_.add(r_.h_0, use::reads, room_);
    const std::size_t y = operands_.add(r_.y, use::reads, room_);
    const std::size_t reserve = operands_.add_reserve(r_.reserve, use::reads, room_);
    const std::size_t dweights =
        operands_.add(r_.dweights, r_.accumulate ? use::updates : use::writes, room_);
    return enqueue(r_.accumulate ? 3 : 2, [&]() -> result<void> {
      const std::byte* input = at(x);
      for (const link& l : calls_.links()) {
        const bool last = &l == &calls_.links().back();
        const std::byte* const of_y = last ? at(y) : at(reserve) + l.y_at;
        std::byte* to = calls_.in_place(l, at(dweights));
        const bool in_place = to != nullptr;
        if (!in_place) to = base_ + weights_;
        if (auto begun = begin_sums(l, at(dweights), to, in_place); !begun) return begun;
        if (auto done = check(cudnnRNNBackwardWeights_v8(
                                  calls_.library(), l.layers->native.get(), CUDNN_WGRAD_MODE_ADD,
                                  nullptr, l.x.get(), input, l.h.get(), state(h_0, l, false),
                                  l.y.get(), of_y, l.layers->weight_bytes, to, l.workspace_bytes,
                                  base_ + work_, l.reserve_bytes, at(reserve) + l.reserve_at),
                              "cudnnRNNBackwardWeights_v8", stream_);
            !done) {
          return done;
        }
        if (!in_place) {
          if (auto done = calls_.scatter(l, to, at(dweights), stream_); !done) return done;
        }
        input = at(reserve) + l.dropped_at;
      }
      return {};
    });
  }

 private:
  // cuDNN adds to what is there.
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
  for (const bool whole : {true, false}) {
    auto calls =
        chain::make(r.network, s, r.type, {}, whole, true, true, static_cast<lane&>(lane_of));
    if (!calls) return std::move(calls).error();
    counts.reserve = std::max(counts.reserve, static_cast<std::int64_t>(calls->reserve_bytes()));
  }
  return counts;
}

const plugin_operations operations([](operation_table& table) {
  table.add<dnn::rnn_sizes>(sizes);
  add<dnn::rnn_forward>(table, forward);
  add<dnn::rnn_backward_data>(table, backward_data);
  add<dnn::rnn_backward_weights>(table, backward_weights);
});

}  // namespace
}  // namespace troupe::cuda
