#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover blaslt("blaslt", {{"matmul", {f64, f32, f16, bf16, c64, c128, i8, e4m3, e5m2}}});

}  // namespace
}  // namespace troupe::conformance
