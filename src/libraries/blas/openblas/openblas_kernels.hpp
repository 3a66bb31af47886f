#pragma once

namespace troupe::cpu {

/// The properties of a processor that select OpenBLAS's kernels.
struct processor {
  bool is_amd = false;
  bool avx2_fma = false;
  bool avx512 = false;  ///< F, CD, BW, DQ and VL
};
[[nodiscard]] processor this_processor() noexcept;

/// The kernels that fit a processor, as `OPENBLAS_CORETYPE` names them; null where OpenBLAS's own
/// choice can be no worse. Source: OpenBLAS, driver/others/dynamic.c, for the processors it knows.
[[nodiscard]] const char* openblas_kernels_for(const processor& p) noexcept;

}  // namespace troupe::cpu
