#pragma once

#include <troupe/dnn/rnn.hpp>
#include <troupe/plugin/executor.hpp>

namespace troupe::cpu::rnn {

[[nodiscard]] result<void> forward(const dnn::rnn_forward& r, lane_context& lane);
[[nodiscard]] result<void> backward_data(const dnn::rnn_backward_data& r, lane_context& lane);
[[nodiscard]] result<void> backward_weights(const dnn::rnn_backward_weights& r, lane_context& lane);
/// The reserve of a network of these sizes.
[[nodiscard]] std::int64_t reserve_bytes(const dnn::rnn_sizes& r) noexcept;

}  // namespace troupe::cpu::rnn
