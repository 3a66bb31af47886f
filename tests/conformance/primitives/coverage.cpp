#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const std::vector<dtype> ordered = {f64, f32, f16, bf16, e4m3, e5m2, i8,     u8,
                                    i16, u16, i32, u32,  i64,  u64,  boolean};
const std::vector<dtype> every = {f64, f32, f16, bf16, e4m3, e5m2, c64, c128,   i8,
                                  u8,  i16, u16, i32,  u32,  i64,  u64, boolean};

const must_cover primitives("primitives",
                            {
                                {"reduce argmin argmax segmented_reduce scan", ordered},
                                {"sort sort_pairs segmented_sort top_k", ordered},
                                {"histogram_even histogram_range", ordered},
                                {"select partition unique run_length", every},
                            });

}  // namespace
}  // namespace troupe::conformance
