#pragma once

#include "libraries/dnn/cpu/onednn/plan.hpp"
#include "libraries/dnn/requests/rnn_shape.hpp"

#include <memory>

/// Layers of lstm and gru by oneDNN, in f32, of sequences that all have every step, without what
/// backward would need.
namespace troupe::cpu::rnn {

/// The memory of one layer and direction: rows of all steps, time first; weights in our order, but
/// of gru with the gates z, r, n; states of a batch.
enum layer_place : onednn_plan::place {
  input_place,
  input_weights_place,
  hidden_weights_place,
  bias_place,  ///< for each gate; for gru, n's two apart: z, r, its input's, its state's
  first_h_place,
  first_c_place,
  result_place,
  last_c_place,
};

/// Whether it is faster than our loops.
[[nodiscard]] bool is_faster_by_onednn(const dnn::rnn_shape& s) noexcept;
/// The plan of a layer, made once; null where oneDNN has none. `backwards`: from the last step on.
[[nodiscard]] std::shared_ptr<const onednn_plan> onednn_layer(const dnn::rnn_shape& s,
                                                              std::int64_t layer, bool backwards);

}  // namespace troupe::cpu::rnn
