#pragma once

#include <troupe/dnn/attention.hpp>
#include <troupe/plugin/executor.hpp>

namespace troupe::cpu::attention {

[[nodiscard]] result<void> forward(const dnn::attention_forward& r, lane_context& lane);
[[nodiscard]] result<void> backward(const dnn::attention_backward& r, lane_context& lane);

}  // namespace troupe::cpu::attention
