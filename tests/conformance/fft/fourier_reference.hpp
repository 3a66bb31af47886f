#pragma once

#include "conformance/element.hpp"

#include <troupe/fft/modes.hpp>

#include <cstdint>
#include <span>
#include <vector>

/// Fourier transforms from their definition, for results to be compared with. Numbers are in
/// row-major order.
namespace troupe::conformance {

/// Σ x[j] · exp(∓2πi jk / n): n² products, in long double.
[[nodiscard]] std::vector<number> transformed_by_definition(const std::vector<number>& x,
                                                            fft::direction direction);
/// The same by splitting off a prime factor at a time, for lengths that the definition takes too
/// long for. Source: J. W. Cooley, J. W. Tukey, "An Algorithm for the Machine Calculation of
/// Complex Fourier Series", 1965.
[[nodiscard]] std::vector<number> transformed_by_factors(const std::vector<number>& x,
                                                         fft::direction direction);

/// Every transform of the last `rank` dimensions of `extents`.
[[nodiscard]] std::vector<number> transformed(std::vector<number> x,
                                              std::span<const std::int64_t> extents, int rank,
                                              fft::direction direction);

/// Every transform's coefficients, each made the conjugate of its partner exactly, as those of real
/// numbers are.
[[nodiscard]] std::vector<number> hermitian(const std::vector<number>& x,
                                            std::span<const std::int64_t> extents, int rank);

/// The numbers 0 … n / 2 of the last dimension of each transform, and all numbers again from those.
[[nodiscard]] std::vector<number> halved(const std::vector<number>& x,
                                         std::span<const std::int64_t> extents);
[[nodiscard]] std::vector<number> completed(const std::vector<number>& half,
                                            std::span<const std::int64_t> extents, int rank);

}  // namespace troupe::conformance
