#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover tensors("tensors",
                         {
                             {"contract einsum", {f32, f64, f16, bf16, c64, c128, i32, i64}},
                             {"reduce permute unary binary trinary",
                              {f32, f64, f16, bf16, c64, c128}},
                             {"contract_blocks", {f32, f64, c64, c128}},
                         },
                         "contract_blocks");

}  // namespace
}  // namespace troupe::conformance
