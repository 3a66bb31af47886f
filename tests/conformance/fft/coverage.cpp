#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover fft("fft", {
                                {"c2c c2r", {c64, c128, f16, bf16}},
                                {"r2c", {f32, f64, f16, bf16}},
                            });

}  // namespace
}  // namespace troupe::conformance
