#include "libraries/dnn/cuda/rnn/stack.hpp"

#include "base/try.hpp"
#include "libraries/dnn/cuda/limits.hpp"

#include <algorithm>
#include <utility>

namespace troupe::cuda::rnn {
namespace {

constexpr char stacks_key = 0;
// A request has at most two stacks: with dropout, all layers but the first are alike.
constexpr std::size_t most_stacks = 64;

cudnnRNNMode_t mode_of(dnn::rnn_cell cell) noexcept {
  switch (cell) {
    case dnn::rnn_cell::relu:
      return CUDNN_RNN_RELU;
    case dnn::rnn_cell::tanh:
      return CUDNN_RNN_TANH;
    case dnn::rnn_cell::lstm:
      return CUDNN_LSTM;
    case dnn::rnn_cell::gru:
      return CUDNN_GRU;
  }
  return CUDNN_LSTM;
}

cudnnMathType_t math_of(dtype type, dnn::math_mode mode) noexcept {
  if (type == dtype::f16 || type == dtype::bf16) return CUDNN_TENSOR_OP_MATH;
  // The default allows tf32.
  return mode == dnn::math_mode::tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

/// cuDNN's number of a parameter's first matrix. The matrix of the projection follows those of all
/// gates.
int first_matrix(dnn::rnn_role role, int gates) noexcept {
  switch (role) {
    case dnn::rnn_role::input_weight:
    case dnn::rnn_role::input_bias:
      return 0;
    case dnn::rnn_role::hidden_weight:
    case dnn::rnn_role::hidden_bias:
      return gates;
    case dnn::rnn_role::projection_weight:
      return 2 * gates;
  }
  return 0;
}

bool is_bias(dnn::rnn_role role) noexcept {
  return role == dnn::rnn_role::input_bias || role == dnn::rnn_role::hidden_bias;
}

}  // namespace

bool stack_key::operator==(const stack_key& other) const noexcept {
  const dnn::rnn_network& a = network;
  const dnn::rnn_network& b = other.network;
  return a.cell == b.cell && a.hidden == b.hidden && a.layers == b.layers &&
         a.bidirectional == b.bidirectional && a.projection == b.projection && a.math == b.math &&
         input == other.input && type == other.type && algorithm == other.algorithm;
}

// Measured for up to this many sequences. PERSIST_STATIC is even faster for few sequences in f16.
cudnnRNNAlgo_t preferred_algorithm(const stack_key& of, std::int64_t batch, bool whole) noexcept {
  constexpr std::int64_t most_sequences = 128;
  const dnn::rnn_network& n = of.network;
  const bool small =
      batch <= most_sequences && whole &&
      limits::cudnn::has_small_rnn(dnn::gates_of(n.cell), n.hidden, n.projection, of.type);
  return small ? CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H : CUDNN_RNN_ALGO_STANDARD;
}

result<stacks*> stacks::of(lane& where) {
  std::shared_ptr<void>& place = where.attachment(&stacks_key);
  if (!place) {
    const auto library = TRY(cudnn_of(where));
    auto none = TRY(describe_no_dropout(library));
    place = std::shared_ptr<stacks>(new stacks(library, std::move(none)));
  }
  return static_cast<stacks*>(place.get());
}

result<const stack*> stacks::find(const stack_key& key) {
  const auto found = std::ranges::find(entries_, key, &entry::key);
  if (found != entries_.end()) return found->what.get();
  auto made = TRY(make(key));
  if (entries_.size() >= most_stacks) entries_.erase(entries_.begin());
  entries_.push_back({key, std::make_unique<stack>(std::move(made))});
  return entries_.back().what.get();
}

result<stack> stacks::make(const stack_key& key) const {
  const dnn::rnn_network& n = key.network;
  cudnnRNNDescriptor_t native = nullptr;
  TRY(check(cudnnCreateRNNDescriptor(&native), "cudnnCreateRNNDescriptor"));
  stack one;
  one.native = network_descriptor(native);
  const auto computed_in = key.type == dtype::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  TRY(check(cudnnSetRNNDescriptor_v8(
                native, key.algorithm, mode_of(n.cell), CUDNN_RNN_DOUBLE_BIAS,
                n.bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
                data_type_of(key.type), computed_in, math_of(key.type, n.math),
                static_cast<std::int32_t>(key.input), static_cast<std::int32_t>(n.hidden),
                static_cast<std::int32_t>(dnn::output_of(n)), static_cast<std::int32_t>(n.layers),
                no_dropout_.get(), CUDNN_RNN_PADDED_IO_ENABLED),
            "cudnnSetRNNDescriptor_v8"));
  TRY(check(cudnnGetRNNWeightSpaceSize(library_, native, &one.weight_bytes),
            "cudnnGetRNNWeightSpaceSize"));
  const auto matrix = TRY(describe_states(key.type, 1, 1, 1));
  const auto bias = TRY(describe_states(key.type, 1, 1, 1));
  // cuDNN computes addresses in a weight space. It does not access it, so any base address works.
  auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32);
  const auto gates = static_cast<int>(dnn::gates_of(n.cell));
  for (const dnn::rnn_parameter& p : dnn::rnn_parameters(n, key.input)) {
    const int parts = p.role == dnn::rnn_role::projection_weight ? 1 : gates;
    for (int gate = 0; gate < parts; ++gate) {
      void* matrix_at = nullptr;
      void* bias_at = nullptr;
      const auto state = static_cast<std::int32_t>(p.layer * dnn::directions_of(n) + p.direction);
      TRY(check(cudnnGetRNNWeightParams(library_, native, state, one.weight_bytes, base,
                                        first_matrix(p.role, gates) + gate, matrix.get(),
                                        &matrix_at, bias.get(), &bias_at),
                "cudnnGetRNNWeightParams"));
      auto* const at = static_cast<std::byte*>(is_bias(p.role) ? bias_at : matrix_at);
      one.places.push_back(static_cast<std::size_t>(at - base));
    }
  }
  return one;
}

}  // namespace troupe::cuda::rnn
