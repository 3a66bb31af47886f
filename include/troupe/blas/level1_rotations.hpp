#pragma once

#include <troupe/request/request.hpp>

/// BLAS level 1: plane rotations.
///
/// Vectors as in `level1.hpp`. A rotation is generated into one-element tensors and applied from
/// them, so that a chain of both runs without waiting for the host.
namespace troupe::blas {

/// Applies a plane rotation to two vectors: x, y = c · x + s · y, c · y − conj(s) · x.
///
/// Updates x and y. c and s are numbers, c real. If `c_at` and `s_at` are given (both or neither),
/// the values of these one-element tensors at run time are used instead: c_at has the real type of
/// x, s_at the type of x. Types: f32, f64, c64, c128. Source: BLAS xROT, LAPACK CROT for a complex
/// s. Errors: as in `level1.hpp`; `invalid_argument` for a complex c, or if only one of c_at and
/// s_at is given.
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
/// All four are one-element tensors. Updates a to r. Updates b for real types to the z from which c
/// and s can be reconstructed; for complex types b is unchanged. Writes c, of the real type, and s.
/// Types: f32, f64, c64, c128. Source: BLAS xROTG.
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
/// Updates x and y; reads `param`, 5 elements [flag, h11, h21, h12, h22]. The flag selects the
/// elements of H that are used: −1 all; 0 h21 and h12, with a diagonal of ones; 1 h11 and h22, with
/// h12 = 1 and h21 = −1; −2 none, H is the identity. Types: f32, f64. Source: BLAS xROTM.
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
/// All are one-element tensors except `param`, which has 5 elements as in `rotm`. Updates d1, d2
/// and x1, reads y1, and updates param (elements that the flag excludes keep their content). Types:
/// f32, f64. Source: BLAS xROTMG.
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
