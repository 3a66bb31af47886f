#pragma once

#include "libraries/fft/requests/geometry.hpp"

#include <fftw3.h>

#include <cstddef>
#include <memory>
#include <type_traits>

/// FFTW in both precisions under one name, and in Troupe's types.
namespace troupe::cpu {

template <class Real>
struct fftw_of;

#define TROUPE_FFTW(Real, prefix)                                   \
  template <>                                                       \
  struct fftw_of<Real> {                                            \
    using plan = prefix##_plan;                                     \
    using complex = prefix##_complex;                               \
    static constexpr auto plan_c2c = &prefix##_plan_guru64_dft;     \
    static constexpr auto plan_r2c = &prefix##_plan_guru64_dft_r2c; \
    static constexpr auto plan_c2r = &prefix##_plan_guru64_dft_c2r; \
    static constexpr auto run_c2c = &prefix##_execute_dft;          \
    static constexpr auto run_r2c = &prefix##_execute_dft_r2c;      \
    static constexpr auto run_c2r = &prefix##_execute_dft_c2r;      \
    static constexpr auto destroy = &prefix##_destroy_plan;         \
    static constexpr auto alignment_of = &prefix##_alignment_of;    \
  }
TROUPE_FFTW(float, fftwf);
TROUPE_FFTW(double, fftw);
#undef TROUPE_FFTW

/// Lanes may run one plan at once. It lives as long as one of them does, also when it is no longer
/// kept.
template <class Real>
using fftw_plan_of = std::shared_ptr<std::remove_pointer_t<typename fftw_of<Real>::plan>>;

/// Whether a transform out of place leaves its input as it is. A c2r of several dimensions cannot.
enum class input : bool { kept, spent };

/// The plan of `t` for these addresses and all that are as aligned: one that is kept, or a new one;
/// null where FFTW does not do such a transform. Any thread may call it.
template <class Real>
[[nodiscard]] fftw_plan_of<Real> plan_for(const fft::transform& t, std::byte* in, std::byte* out,
                                          input afterwards);

/// Runs a plan of `t` on memory aligned like the memory that the plan was made for.
template <class Real>
void run(const fftw_plan_of<Real>& plan, const fft::transform& t, std::byte* in, std::byte* out);

}  // namespace troupe::cpu
