#include "libraries/dnn/cuda/rnn/chain.hpp"

#include "backend/cuda/context/failure.hpp"
#include "base/try.hpp"
#include "libraries/dnn/cuda/rnn/operands.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cuda::rnn {

result<chain> chain::make(const dnn::rnn_network& network, const dnn::rnn_shape& s, dtype type,
                          const std::vector<std::int64_t>& lengths, bool whole,
                          bool lies_time_first, bool training, lane& where) {
  const auto from = TRY(stacks::of(where));
  chain made;
  made.library_ = from->library();
  made.network_ = network;
  made.s_ = s;
  made.type_ = type;
  made.training_ = training;
  made.whole_ = whole;
  made.sequences_ = {.steps = s.steps, .batch = s.batch, .time_first = lies_time_first};
  made.sequences_.lengths.assign(static_cast<std::size_t>(s.batch), static_cast<int>(s.steps));
  std::ranges::transform(lengths, made.sequences_.lengths.begin(),
                         [](std::int64_t n) { return static_cast<int>(n); });
  made.joint_ = static_cast<std::size_t>(s.rows() * s.width() * size_of(type));
  const std::int64_t at_once = training && dnn::drops(network) ? 1 : s.layers;
  for (std::int64_t layer = 0; layer < s.layers; layer += at_once) {
    TRY(made.add(layer, at_once, *from));
  }
  return made;
}

result<void> chain::add(std::int64_t first_layer, std::int64_t count, stacks& from) {
  link l;
  l.first_layer = first_layer;
  l.layer_count = count;
  dnn::rnn_network of_layers = network_;
  of_layers.layers = count;
  const std::int64_t width = s_.input_of(first_layer);
  const std::int64_t states = count * s_.directions;
  l.x = TRY(describe_sequences(type_, sequences_, width));
  l.y = TRY(describe_sequences(type_, sequences_, s_.width()));
  l.h = TRY(describe_states(type_, states, s_.batch, s_.output));
  l.c = TRY(describe_states(type_, states, s_.batch, s_.hidden));
  stack_key key{.network = of_layers, .input = width, .type = type_};
  key.algorithm = preferred_algorithm(key, s_.batch, whole_);
  auto taken = take_stack(l, key, from);
  if (!taken && key.algorithm != CUDNN_RNN_ALGO_STANDARD) {
    key.algorithm = CUDNN_RNN_ALGO_STANDARD;
    taken = take_stack(l, key, from);
  }
  if (!taken) return taken;
  l.reserve_at = reserve_.add(static_cast<std::int64_t>(l.reserve_bytes));
  if (first_layer + count < s_.layers) {
    l.y_at = reserve_.add(static_cast<std::int64_t>(joint_));
    l.dropped_at = reserve_.add(static_cast<std::int64_t>(joint_));
  }
  l.weights = runs_of(l);
  workspace_ = std::max(workspace_, l.workspace_bytes);
  weight_bytes_ = std::max(weight_bytes_, l.layers->weight_bytes);
  links_.push_back(std::move(l));
  return {};
}

// Only this call shows whether cuDNN has an algorithm for these sizes.
result<void> chain::take_stack(link& l, const stack_key& key, stacks& from) const {
  l.layers = TRY(from.find(key));
  return check(cudnnGetRNNTempSpaceSizes(library_, l.layers->native.get(), mode(), l.x.get(),
                                         &l.workspace_bytes, &l.reserve_bytes),
               "cudnnGetRNNTempSpaceSizes");
}

std::vector<weight_run> chain::runs_of(const link& l) const {
  std::vector<weight_run> runs;
  auto place = l.layers->places.begin();
  const auto element = static_cast<std::size_t>(size_of(type_));
  for (const dnn::rnn_parameter& p : dnn::rnn_parameters(network_, s_.input)) {
    if (p.layer < l.first_layer || p.layer >= l.first_layer + l.layer_count) continue;
    const std::int64_t parts = p.role == dnn::rnn_role::projection_weight ? 1 : s_.gates();
    const std::size_t bytes = static_cast<std::size_t>(p.count() / parts) * element;
    for (std::int64_t gate = 0; gate < parts; ++gate, ++place) {
      const std::size_t ours =
          static_cast<std::size_t>(p.offset) * element + static_cast<std::size_t>(gate) * bytes;
      if (!runs.empty() && runs.back().ours + runs.back().bytes == ours &&
          runs.back().theirs + runs.back().bytes == *place) {
        runs.back().bytes += bytes;
      } else {
        runs.push_back({.ours = ours, .theirs = *place, .bytes = bytes});
      }
    }
  }
  return runs;
}

result<void> chain::enqueue_drop(const link& below, const std::byte* from, std::byte* to,
                                 cudaStream_t stream) const {
  return check(
      enqueue_dropped(dropped_after(network_, s_, below.first_layer, sequences_.time_first), type_,
                      from, to, stream),
      "drop_numbers");
}

std::byte* chain::in_place(const link& l, std::byte* ours) const noexcept {
  const bool same = l.weights.size() == 1 && l.weights[0].theirs == 0 &&
                    l.weights[0].bytes == l.layers->weight_bytes;
  return same ? ours + l.weights[0].ours : nullptr;
}

result<void> chain::gather(const link& l, const std::byte* ours, std::byte* theirs,
                           cudaStream_t stream) const {
  for (const weight_run& run : l.weights) {
    TRY(enqueue_copy(theirs + run.theirs, ours + run.ours, run.bytes, stream));
  }
  return {};
}

result<void> chain::scatter(const link& l, const std::byte* theirs, std::byte* ours,
                            cudaStream_t stream) const {
  for (const weight_run& run : l.weights) {
    TRY(enqueue_copy(ours + run.ours, theirs + run.theirs, run.bytes, stream));
  }
  return {};
}

}  // namespace troupe::cuda::rnn
