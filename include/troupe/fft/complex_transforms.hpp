#pragma once

#include <troupe/elementwise/function.hpp>
#include <troupe/fft/modes.hpp>
#include <troupe/request/request.hpp>

#include <vector>

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
/// `load` computes each number that is transformed from an element of `in`, its first input, and
/// the elements of `load_operands`, broadcast to the shape of `in`. `store` computes each element
/// of `out` from a number that the transform gives, already scaled, and the elements of
/// `store_operands`, broadcast to the shape of `out`. Either has one output and no row operations.
/// Then `in` with `load`, and `out` with `store`, has any element type, and an element is a number.
/// The result is that of a `map`, a transform and a `map`, with intermediates in the transform's
/// type: c64 or c128, that of the side without a function, or with both functions of `precision`.
///
/// Reads in and the operands, writes out. `out` may be the same view as `in`, which is then
/// updated. A strided view that the library does not support is copied through workspace.
///
/// \errors `invalid_argument` for a `rank` other than 1, 2, 3, a missing operand, a function that
/// is not valid or takes another number of inputs, and for `precision` where it is missing or
/// decided; `shape_mismatch` for different extents, fewer dimensions than `rank`, a transformed
/// extent of 0, an operand that cannot be broadcast; `type_mismatch`; `unsupported` if an extent of
/// f16 or bf16 is not a power of two; `size_overflow`; `layout_unsupported`; `aliasing`. Source:
/// cuFFT cufftXtExec, FFTW plan_guru64_dft.
struct TROUPE_EXPORT c2c {
  static constexpr std::string_view name = "fft.c2c";
  using reply = void;

  any_tensor in{};
  any_tensor out{};
  std::int64_t rank = 1;
  fft::direction direction = fft::direction::forward;
  normalization scale = normalization::none;

  elementwise::function load{};
  std::vector<any_tensor> load_operands{};
  elementwise::function store{};
  std::vector<any_tensor> store_operands{};
  fft::precision precision = precision::of_operands;

  static void describe(description<c2c>& d);
};

}  // namespace troupe::fft
