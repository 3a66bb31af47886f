#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

// Kernels get addresses: how their operands lie is theirs to know.
const must_cover jit("jit", {{"launch", {f32, f64, i32}}, {"attributes occupancy", {f32}}},
                     "launch attributes occupancy");

}  // namespace
}  // namespace troupe::conformance
