#pragma once

#include <troupe/request/request.hpp>

/// BLAS level 1: reductions of vectors to a number.
///
/// The number is the reply. If `result` is given, the number is written to that one-element tensor
/// instead, so that the program need not wait for it, and the reply is zero. Vectors and errors as
/// in `level1.hpp`.
namespace troupe::blas {

/// The inner product of two real vectors: Σ xᵢ · yᵢ; 0 for length 0.
///
/// `result` has the type of x. Types: f32, f64; f16 and bf16, accumulated in f32.
/// Source: BLAS xDOT.
struct TROUPE_EXPORT dot {
  static constexpr std::string_view name = "blas.dot";
  using reply = scalar;

  any_tensor x{};
  any_tensor y{};
  any_tensor result{};

  static void describe(description<dot>& d);
};

/// The inner product of two vectors of f32, accumulated and returned in f64; 0 for length 0.
///
/// `result` has type f64. Type: f32. Source: BLAS DSDOT.
struct TROUPE_EXPORT dsdot {
  static constexpr std::string_view name = "blas.dsdot";
  using reply = scalar;

  any_tensor x{};
  any_tensor y{};
  any_tensor result{};

  static void describe(description<dsdot>& d);
};

/// The inner product of two vectors of f32 and a number, alpha + Σ xᵢ · yᵢ, accumulated in f64 and
/// rounded to f32.
///
/// alpha is converted to f32. `result` has type f32. Type: f32. Source: BLAS SDSDOT.
struct TROUPE_EXPORT sdsdot {
  static constexpr std::string_view name = "blas.sdsdot";
  using reply = scalar;

  any_tensor x{};
  any_tensor y{};
  scalar alpha = 0;
  any_tensor result{};

  static void describe(description<sdsdot>& d);
};

/// The inner product of two complex vectors, the first conjugated: Σ conj(xᵢ) · yᵢ.
///
/// `result` has the type of x. Types: c64, c128. Source: BLAS xDOTC.
struct TROUPE_EXPORT dotc {
  static constexpr std::string_view name = "blas.dotc";
  using reply = scalar;

  any_tensor x{};
  any_tensor y{};
  any_tensor result{};

  static void describe(description<dotc>& d);
};

/// The product of two complex vectors, none conjugated: Σ xᵢ · yᵢ.
///
/// `result` has the type of x. Types: c64, c128. Source: BLAS xDOTU.
struct TROUPE_EXPORT dotu {
  static constexpr std::string_view name = "blas.dotu";
  using reply = scalar;

  any_tensor x{};
  any_tensor y{};
  any_tensor result{};

  static void describe(description<dotu>& d);
};

/// The Euclidean norm √Σ|xᵢ|², without intermediate overflow or underflow.
///
/// `result` has the real type of x (f32 for c64). Types: f32, f64, c64, c128; f16 and bf16,
/// accumulated in f64, which their norm may need as a reply. Source: BLAS xNRM2.
struct TROUPE_EXPORT nrm2 {
  static constexpr std::string_view name = "blas.nrm2";
  using reply = scalar;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<nrm2>& d);
};

/// The sum of magnitudes Σ|Re xᵢ| + |Im xᵢ|.
///
/// `result` has the real type of x. Types: f32, f64, c64, c128. Source: BLAS xASUM.
struct TROUPE_EXPORT asum {
  static constexpr std::string_view name = "blas.asum";
  using reply = scalar;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<asum>& d);
};

/// The index, from 0, of the first element with the largest |Re xᵢ| + |Im xᵢ|; −1 for length 0.
///
/// `result` has type i64. If x contains NaNs, the index is unspecified. Types: f32, f64, c64, c128.
/// Source: BLAS IxAMAX.
struct TROUPE_EXPORT iamax {
  static constexpr std::string_view name = "blas.iamax";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<iamax>& d);
};

/// The index, from 0, of the first element with the smallest |Re xᵢ| + |Im xᵢ|; −1 for length 0.
///
/// `result` has type i64. If x contains NaNs, the index is unspecified. Types: f32, f64, c64, c128.
/// Source: cuBLAS amin.
struct TROUPE_EXPORT iamin {
  static constexpr std::string_view name = "blas.iamin";
  using reply = std::int64_t;

  any_tensor x{};
  any_tensor result{};

  static void describe(description<iamin>& d);
};

}  // namespace troupe::blas
