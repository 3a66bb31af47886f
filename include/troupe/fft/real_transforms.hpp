#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/fft/modes.hpp>
#include <troupe/request/request.hpp>

#include <vector>

/// Discrete Fourier transforms of real numbers. The coefficients are conjugate in pairs, so only
/// the first n / 2 + 1 of the last dimension are stored.
///
/// Real types: f32, f64, f16, bf16. The complex side is c64, c128, or pairs of f16 or bf16 as in
/// `c2c`. Both requests may work in place. Then both views begin at the same address and have unit
/// stride in the last dimension, and every other stride of the real view is twice that of the
/// complex view (so rows of n real numbers have room for n + 1 or n + 2); `real_rows` makes the
/// real view.
///
/// `load` and `store` are as in `c2c`; what they compute with and give is real on the real side.
/// With functions, a transform works in place where both views have the transform's own types.
///
/// \errors as `c2c`
namespace troupe::fft {

/// Transforms real numbers along the last `rank` dimensions, forward: out[k] = s · Σ in[j] ·
/// exp(−2πi jk / n), for 0 ≤ k ≤ n / 2 in the last dimension.
///
/// `in` is […, n], `out` is […, n / 2 + 1]. Reads in, writes out.
/// Source: cuFFT cufftXtExec, FFTW plan_guru64_dft_r2c.
struct TROUPE_EXPORT r2c {
  static constexpr std::string_view name = "fft.r2c";
  using reply = void;

  any_tensor in{};
  any_tensor out{};
  std::int64_t rank = 1;
  normalization scale = normalization::none;

  elementwise::function load{};
  std::vector<any_tensor> load_operands{};
  elementwise::function store{};
  std::vector<any_tensor> store_operands{};
  fft::precision precision = precision::of_operands;

  static void describe(description<r2c>& d);
};

/// The inverse of `r2c`: out[j] = s · Σ in[k] · exp(+2πi jk / n), where the coefficients that are
/// not stored are the conjugates of those that are.
///
/// `in` is […, n / 2 + 1], `out` is […, n]; the extent of `out` decides whether n is odd or even.
/// Coefficients that are their own conjugates must be real. Those with k = 0 or n / 2 in the last
/// dimension must be conjugate in pairs; otherwise it is unspecified which of a pair is used. Reads
/// in, writes out. `in` is preserved, which costs a copy of it on a GPU, and on the CPU if `rank`
/// is above 1; with `load` it is computed anew instead. In place both are updated, and the ends of
/// the complex rows are then undefined. Source: cuFFT cufftXtExec, FFTW plan_guru64_dft_c2r.
struct TROUPE_EXPORT c2r {
  static constexpr std::string_view name = "fft.c2r";
  using reply = void;

  any_tensor in{};
  any_tensor out{};
  std::int64_t rank = 1;
  normalization scale = normalization::none;

  elementwise::function load{};
  std::vector<any_tensor> load_operands{};
  elementwise::function store{};
  std::vector<any_tensor> store_operands{};
  fft::precision precision = precision::of_operands;

  static void describe(description<c2r>& d);
};

/// The real view […, n] of complex numbers […, n / 2 + 1], for transforms in place: a view of the
/// same memory.
/// \errors `type_mismatch` for a type that is not complex; `shape_mismatch` if the last dimension
/// is not n / 2 + 1; `layout_unsupported` if its stride is not 1
[[nodiscard]] TROUPE_EXPORT result<any_tensor> real_rows(const any_tensor& complex, std::int64_t n);

}  // namespace troupe::fft
