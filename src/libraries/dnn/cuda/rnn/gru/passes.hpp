#pragma once

#include "backend/cuda/context/lane.hpp"

#include <troupe/dnn/rnn.hpp>

#include <cstddef>

/// Networks of GRU cells whose reset gate multiplies the state before its weights do
/// (`linear_before_reset` = false), which cuDNN does not have: products by the backend's blas, and
/// kernels for what is between them. Precondition of all: some sequence has a step.
namespace troupe::cuda::rnn::gru {

[[nodiscard]] std::size_t reserve_bytes(const dnn::rnn_sizes& r);
[[nodiscard]] result<void> forward(const dnn::rnn_forward& r, lane& where);
[[nodiscard]] result<void> backward_data(const dnn::rnn_backward_data& r, lane& where);
[[nodiscard]] result<void> backward_weights(const dnn::rnn_backward_weights& r, lane& where);

}  // namespace troupe::cuda::rnn::gru
