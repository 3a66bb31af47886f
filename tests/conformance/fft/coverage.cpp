#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover fft("fft", {
                                {"c2c", {c64, c128, f16, bf16, f32, f64, i8, i16}},
                                {"c2r", {c64, c128, f16, bf16, f32, f64, i16}},
                                {"r2c", {f32, f64, f16, bf16, u8, i16}},
                            });

}  // namespace
}  // namespace troupe::conformance
