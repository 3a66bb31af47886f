#pragma once

#include "conformance/scene.hpp"

namespace troupe::conformance {

/// Types of a product's factors, of its result, and of its sums.
struct product_type {
  dtype in, out, compute;
};
inline constexpr product_type product_types[] = {
    {dtype::f32, dtype::f32, dtype::f32},   {dtype::f64, dtype::f64, dtype::f64},
    {dtype::c64, dtype::c64, dtype::f32},   {dtype::c128, dtype::c128, dtype::f64},
    {dtype::f16, dtype::f16, dtype::f32},   {dtype::f16, dtype::f32, dtype::f32},
    {dtype::bf16, dtype::bf16, dtype::f32}, {dtype::bf16, dtype::f32, dtype::f32},
    {dtype::i8, dtype::i32, dtype::i32},
};

}  // namespace troupe::conformance
