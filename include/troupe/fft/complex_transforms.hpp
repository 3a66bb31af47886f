#pragma once

#include <troupe/fft/modes.hpp>
#include <troupe/request/request.hpp>

/// Discrete Fourier transforms of complex numbers.
namespace troupe::fft {

/// Transforms complex numbers along the last `rank` dimensions, once for each index of the others:
/// out[k] = s · Σ in[j] · exp(∓2πi jk / n), with `direction`'s sign and `scale`'s s.
///
/// `in` and `out` have the same extents. Use a view (`permute`) to transform other dimensions than
/// the last. Both may have any order and spacing of elements.
///
/// Types: c64, c128; f16 and bf16, in which a complex number is two elements. These are the last
/// dimension, of extent 2 and stride 1, which is not transformed; all other strides are even.
/// Extents of such a transform are powers of two.
///
/// Reads in, writes out. `out` may be the same view as `in`, which is then updated. A strided view
/// that the library does not support is copied through workspace.
///
/// \errors `invalid_argument` for a `rank` other than 1, 2, 3 and for a missing operand;
/// `shape_mismatch` for different extents, fewer dimensions than `rank`, a transformed extent of 0;
/// `type_mismatch`; `unsupported` if an extent of f16 or bf16 is not a power of two;
/// `size_overflow`; `layout_unsupported`; `aliasing`. Source: cuFFT cufftXtExec, FFTW
/// plan_guru64_dft.
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
