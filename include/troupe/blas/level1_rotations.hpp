#pragma once

#include <troupe/request/request.hpp>

/// BLAS level 1: plane rotations.
///
/// Vectors as in `level1.hpp`. A rotation is generated into tensors of one element and applied from
/// them, so that a chain of both runs without waiting for the host.
namespace troupe::blas {

/// Applies a plane rotation to two vectors: x, y = c · x + s · y, c · y − conj(s) · x.
///
/// Updates x and y. c and s are numbers, c real; or, where `c_at` and `s_at` are given (both), what
/// these tensors of one element hold when the request runs: c_at of the real type of x, s_at of the
/// type of x. Types: f32, f64, c64, c128. Source: BLAS xROT, LAPACK CROT for a complex s.
/// Errors: as in `level1.hpp`; `invalid_argument` for a complex c, or one of c_at and s_at alone.
struct TROUPE_EXPORT rot {
  static constexpr std::string_view name = "blas.rot";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  scalar c = 1;
  scalar s = 0;
  any_tensor c_at{};
  any_tensor s_at{};

  static void describe(description<rot>& d);
};

/// Generates a plane rotation: c and s with c · a + s · b = r and c · b − conj(s) · a = 0.
///
/// All four are tensors of one element. Updates a, which becomes r, and b, which for real types
/// becomes the z that c and s can be found from, and for complex types stays. Writes c, of the real
/// type, and s. Types: f32, f64, c64, c128. Source: BLAS xROTG.
struct TROUPE_EXPORT rotg {
  static constexpr std::string_view name = "blas.rotg";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor c{};
  any_tensor s{};

  static void describe(description<rotg>& d);
};

/// Applies a modified plane rotation to two vectors: [x; y] = H · [x; y].
///
/// Updates x and y; reads `param`, 5 elements [flag, h11, h21, h12, h22]. The flag says which
/// elements of H count: −1 all; 0 h21 and h12, the diagonal being ones; 1 h11 and h22, with h12 = 1
/// and h21 = −1; −2 H is the identity. Types: f32, f64. Source: BLAS xROTM.
struct TROUPE_EXPORT rotm {
  static constexpr std::string_view name = "blas.rotm";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  any_tensor param{};

  static void describe(description<rotm>& d);
};

/// Generates the modified plane rotation that makes the second component of
/// [√d1 · x1; √d2 · y1] zero.
///
/// All are tensors of one element, `param` of 5, laid out as in `rotm`. Updates d1, d2 and x1,
/// reads y1, writes param (elements that the flag excludes keep their content: it is an update).
/// Types: f32, f64. Source: BLAS xROTMG.
struct TROUPE_EXPORT rotmg {
  static constexpr std::string_view name = "blas.rotmg";
  using reply = void;

  any_tensor d1{};
  any_tensor d2{};
  any_tensor x1{};
  any_tensor y1{};
  any_tensor param{};

  static void describe(description<rotmg>& d);
};

}  // namespace troupe::blas
