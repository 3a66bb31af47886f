#pragma once

#include "libraries/fft/requests/geometry.hpp"
#include "request/vendor_limit.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

/// The cases that cuFFT is given.
namespace troupe::limits::cufft {

inline constexpr vendor_limit inverse_rows{
    .name = "fft.inverse_rows",
    .library = "cuFFT",
    .from = "12.0",
    .condition = "rows of n real numbers of a c2r out of place are not 2 · (n / 2 + 1) apart",
    .evidence =
        "it stores all of that, as in place, where a complex row leaves the room: one "
        "number behind an odd row, two behind an even one, in f32 and f64: 12.0, H100, "
        "2026-11-24",
    .test = "FftRealTransforms.LeaveWhatLiesBetweenRows"};
[[nodiscard]] inline bool accepts_inverse_rows(const fft::transform& t) noexcept {
  using fft::loop;
  const auto last = t.axes.begin() + (t.rank - 1);
  if (t.kind != fft::kind::c2r) return true;
  const std::int64_t in_place = 2 * (last->n / 2 + 1);
  // Rows alone are written so, whichever dimension counts them; of a batch of matrices it is none.
  const auto counts_rows = [&](const loop& one) { return one.n > 1 && one.out == in_place; };
  const bool one_row =
      std::all_of(t.axes.begin(), last, [](const loop& one) { return one.n == 1; });
  return !(std::any_of(t.axes.begin(), last, counts_rows) ||
           (one_row && std::any_of(t.batch.begin(), t.batch.begin() + t.batches, counts_rows))) ||
         is_lifted<inverse_rows>();
}

inline constexpr vendor_limit half_numbers{
    .name = "fft.half_numbers",
    .library = "cuFFT",
    .from = "12.0",
    .condition = "real numbers of f16 and bf16 lie side by side",
    .evidence = "cuFFT documentation, Half Precision cuFFT Transforms",
    .test = "FftRealTransforms.TakeAnyAlignment:FftRealTransforms.ForwardAgrees*",
    .can_be_lifted = false};
inline constexpr vendor_limit two_bf16{
    .name = "fft.two_bf16",
    .library = "cuFFT",
    .from = "12.0",
    .condition = "coefficients of an r2c of two numbers in bf16 lie side by side",
    .evidence = "they are stored so, whatever their stride: 12.0, H200, 2026-11-22",
    .test = "FftRealTransforms.Forward*"};
/// True if cuFFT takes an operand whose neighbours along the last axis, of n numbers, are `stride`
/// apart.
[[nodiscard]] inline bool accepts_stride(const fft::transform& t, bool is_output, bool is_complex,
                                         std::int64_t n, std::int64_t stride) noexcept {
  if (stride <= 1) return true;
  if (!is_complex && fft::is_half(t.precision)) return false;
  return !(t.kind == fft::kind::r2c && t.precision == dtype::bf16 && is_output && n == 2) ||
         is_lifted<two_bf16>();
}

inline constexpr std::array all{inverse_rows, half_numbers, two_bf16};

}  // namespace troupe::limits::cufft
