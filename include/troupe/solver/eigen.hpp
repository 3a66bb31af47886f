#pragma once

#include <troupe/request/request.hpp>

/// Eigenvalues of matrices of any kind. Rules and errors as in `lu.hpp`.
namespace troupe::solver {

/// Finds eigenvalues and eigenvectors: a · vr = vr · diag(w), vlᴴ · a = diag(w) · vlᴴ.
///
/// a is [batch, n, n]. The results are complex, of a's precision, for real a too (c64 for f32, c128
/// for f64): w is [batch, n], vr (if `right` is set) and vl (if `left` is set) are [batch, n, n].
/// Eigenvectors are columns of Euclidean norm 1. For a real matrix, complex eigenvalues and their
/// vectors come as conjugate pairs, the one with the positive imaginary part first. Otherwise the
/// order is not specified.
///
/// info: i where the QR iteration failed, and only the eigenvalues from i on, counted from 0, were
/// found; or −1 where a has infinities or NaNs. The rest of that matrix's results is unspecified.
/// Source: LAPACK xGEEV, cuSOLVER Xgeev.
struct TROUPE_EXPORT eig {
  static constexpr std::string_view name = "solver.eig";
  using reply = void;

  any_tensor a{};
  any_tensor w{};
  any_tensor vr{};
  any_tensor vl{};
  any_tensor info{};
  bool right = true;
  bool left = false;

  static void describe(description<eig>& d);
};

/// Finds eigenvalues and eigenvectors of a with b: beta · a · vr = alpha · b · vr, beta · vlᴴ · a =
/// alpha · vlᴴ · b, for each pair of alpha and beta.
///
/// a and b are [batch, n, n], matrices of any kind. An eigenvalue is alpha / beta, and infinite
/// where beta is 0: b may be singular. If both are 0, the pencil is singular, and every number
/// is an eigenvalue. alpha is [batch, n], complex; beta is [batch, n], real and not negative. vr
/// (if `right` is set) and vl (if `left` is set) are [batch, n, n], complex, with vectors in
/// columns, of which the sum of magnitudes of real and imaginary part is at most 1 and reaches it.
/// For real matrices, complex eigenvalues come as neighbours, the one with the positive imaginary
/// part first.
///
/// info: i where the QZ iteration failed and only the eigenvalues from i on, counted from 0, were
/// found; or −1 where a or b has infinities or NaNs. CPU only: on CUDA `unsupported`. Source:
/// LAPACK xGGEV.
struct TROUPE_EXPORT eig_generalised {
  static constexpr std::string_view name = "solver.eig_generalised";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor alpha{};
  any_tensor beta{};
  any_tensor vr{};
  any_tensor vl{};
  any_tensor info{};
  bool right = true;
  bool left = false;

  static void describe(description<eig_generalised>& d);
};

}  // namespace troupe::solver
