#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover sparse(
    "sparse",
    {
        {"spmv spmm to_dense convert slice add validate", {i32, i64}},
        {"sddmm from_dense", {f64, f32, f16, bf16, c128, c64}},
        {"spvv axpby gather scatter rot", {i32, i64}},
        {"structured_prune structured_check structured_compress structured_matmul",
         {f16, bf16, i8, e4m3}},
        {"spsv spsm", {i32, i64}},
        {"spgemm spgemm_size", {i32, i64}},
    },
    "convert slice add validate spgemm spgemm_size");

}  // namespace
}  // namespace troupe::conformance
