#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover elementwise(
    "elementwise",
    {
        {"map",
         {f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8, u8, i16, u16, i32, u32, i64, u64,
          boolean}},
        {"rows", {f64, f32, f16, bf16, i32, i64, u8}},
        {"reduce", {f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8, u8, i32, i64, boolean}},
        {"softmax softmax_backward log_softmax log_softmax_backward layer_norm layer_norm_backward "
         "rms_norm rms_norm_backward group_norm group_norm_backward instance_norm "
         "instance_norm_backward l2_normalize l2_normalize_backward cross_entropy "
         "cross_entropy_backward nll_loss gather_rows_backward scatter_rows "
         "rotary_embedding "
         "rotary_embedding_backward sgd adamw",
         {f64, f32, f16, bf16}},
        {"activation activation_backward bias_add bias_add_backward residual_add dropout",
         {f64, f32, f16, bf16, e4m3, e5m2}},
        {"clamp", {f64, f32, f16, bf16, e4m3, e5m2, i8, u8, i16, u16, i32, u32, i64}},
        {"compare",
         {f64, f32, f16, bf16, e4m3, e5m2, i8, u8, i16, u16, i32, u32, i64, u64, boolean}},
        {"gather_rows",
         {f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8, u8, i16, u16, i32, u32, i64, u64,
          boolean}},
        {"cumulate", {f64, f32, f16, bf16, i32, i64}},
        {"where", {boolean}},
        {"one_hot nll_loss_backward", {i32, i64}},
        {"arange", {f64, f32, f16, bf16, e4m3, e5m2, i8, u8, i16, u16, i32, u32, i64, u64}},
    });

}  // namespace
}  // namespace troupe::conformance
