#include "conformance/coverage.hpp"

namespace troupe::conformance {
namespace {

using enum dtype;

const must_cover rng("rng",
                     {
                         {"bits", {u32, u64}},
                         {"uniform normal log_normal exponential cauchy gamma beta", {f32, f64}},
                         {"integers", {i8, u8, i16, u16, i32, u32, i64, u64}},
                         {"bernoulli", {boolean, u8, i32, f32, f64}},
                         {"poisson", {i32, u32, i64}},
                         {"discrete permutation", {i32, i64}},
                     });

}  // namespace
}  // namespace troupe::conformance
