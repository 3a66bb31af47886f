#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover sparse("sparse",
                        {
                            {"spmv spmm to_dense convert validate", {i32, i64}},
                            {"sddmm from_dense", {f64, f32, f16, bf16, c128, c64}},
                            {"spvv axpby gather scatter rot", {i32, i64}},
                        },
                        "convert validate");

}  // namespace
}  // namespace troupe::conformance
