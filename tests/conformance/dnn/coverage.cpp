#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover dnn(
    "dnn",
    {
        {"attention_forward", {f64, f32, f16, bf16, e4m3}},
        {"attention_backward", {f64, f32, f16, bf16}},
        {"graph", {f64, f32, f16, bf16}},
        {"kv_append", {f64, f32, f16, bf16, e4m3}},
        {"convolution_forward", {f64, f32, f16, bf16, i8, e4m3}},
        {"convolution_backward_data convolution_backward_filter "
         "convolution_transposed",
         {f64, f32, f16, bf16}},
        {"rnn_forward rnn_backward_data rnn_backward_weights rnn_sizes", {f64, f32, f16, bf16}},
        {"max_pool_forward max_pool_backward average_pool_forward "
         "average_pool_backward adaptive_average_pool_forward adaptive_max_pool_forward "
         "adaptive_max_pool_backward "
         "adaptive_average_pool_backward resample_forward resample_backward "
         "batch_norm_training batch_norm_inference batch_norm_backward "
         "lrn_forward lrn_backward",
         {f64, f32, f16, bf16}},
        {"sample_rows", {f32, f16, bf16}},
        {"plans", {f32}},
    },
    "plans rnn_sizes");

}  // namespace
}  // namespace troupe::conformance
