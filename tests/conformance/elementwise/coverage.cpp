#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover elementwise("elementwise", {
                                                {"map",
                                                 {f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8,
                                                  u8, i16, u16, i32, u32, i64, u64, boolean}},
                                                {"rows", {f64, f32, f16, bf16, i32, i64, u8}},
                                            });

}  // namespace
}  // namespace troupe::conformance
