#pragma once

#include <troupe/tensor/dtype.hpp>

#include <complex>
#include <cstddef>

/// Elements of any type as complex<double>, so that tests are written once for all types.
namespace troupe::conformance {

using number = std::complex<double>;

/// Stores `value`, rounded to `type`; a real type takes the real part.
void store(dtype type, std::byte* at, number value);
[[nodiscard]] number load(dtype type, const std::byte* at);

/// Twice the unit roundoff of `type`; zero for integers.
[[nodiscard]] double epsilon(dtype type);
/// The smallest positive value of `type`.
[[nodiscard]] double smallest(dtype type);

}  // namespace troupe::conformance
