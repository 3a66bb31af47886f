#pragma once

#include <troupe/fft/modes.hpp>
#include <troupe/request/request.hpp>

/// Discrete Fourier transforms of complex numbers.
namespace troupe::fft {

/// Transforms complex numbers along the last `rank` dimensions, once for each index of the others:
/// out[k] = s · Σ in[j] · exp(∓2πi jk / n), with `direction`'s sign and `scale`'s s.
///
/// `in` and `out` have the same extents. Any other dimensions than the last are transformed through
/// a view (`permute`); the order and the gaps of the elements are free, in both.
///
/// Types: c64, c128; f16 and bf16, in which a complex number is two elements: one more dimension,
/// the last, of extent 2 and stride 1, over which nothing is transformed, and every other stride is
/// even. Extents of such a transform are powers of two.
///
/// Reads in, writes out; `out` may be the very same view as `in`, then it is updated. A strided
/// view that the library cannot take is copied through workspace.
///
/// \errors `invalid_argument` for a `rank` other than 1, 2, 3 and for an operand not given;
/// `shape_mismatch` for different extents, fewer dimensions than `rank`, a transformed extent of 0;
/// `type_mismatch`; `unsupported` for an extent of halves that is no power of two; `size_overflow`;
/// `layout_unsupported`; `aliasing`. Source: cuFFT cufftXtExec, FFTW plan_guru64_dft.
struct TROUPE_EXPORT c2c {
  static constexpr std::string_view name = "fft.c2c";
  using reply = void;

  any_tensor in{};
  any_tensor out{};
  std::int64_t rank = 1;
  fft::direction direction = fft::direction::forward;
  normalization scale = normalization::none;

  static void describe(description<c2c>& d);
};

}  // namespace troupe::fft
