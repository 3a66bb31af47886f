#pragma once

#include <troupe/request/request.hpp>

/// Histograms of a vector, of any length and any stride of at least 1. Types: all but the complex
/// ones; elements are compared as f64. `counts` (i64) is overwritten. NaNs and elements outside all
/// bins are not counted.
namespace troupe::primitives {

/// Counts elements in bins of equal width: element v of [lower, upper) is in bin
/// ⌊(v − lower) · (bins / (upper − lower))⌋, computed in f64, the last one at most. bins is the
/// length of `counts`, at least 1. lower < upper, and their difference is finite.
struct TROUPE_EXPORT histogram_even {
  static constexpr std::string_view name = "primitives.histogram_even";
  using reply = void;

  any_tensor x{};
  any_tensor counts{};
  double lower = 0;
  double upper = 1;

  static void describe(description<histogram_even>& d);
};

/// Counts elements between edges: bin i has the elements of [edges[i], edges[i + 1]). Edges are
/// f64.
///
/// Errors: `invalid_argument`, detected when it runs, if an edge is NaN or below the one before it;
/// what `counts` holds then is unspecified.
struct TROUPE_EXPORT histogram_range {
  static constexpr std::string_view name = "primitives.histogram_range";
  using reply = void;

  any_tensor x{};
  any_tensor edges{};
  any_tensor counts{};

  static void describe(description<histogram_range>& d);
};

}  // namespace troupe::primitives
