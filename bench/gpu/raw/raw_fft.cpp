#include "raw_fft.hpp"

#include "raw_check.hpp"

#include <cufft.h>

namespace troupe::bench::raw {
namespace {

void check(cufftResult status, const char* call) {
  if (status == CUFFT_SUCCESS) return;
  throw std::runtime_error(std::string(call) + ": status " + std::to_string(status));
}

}  // namespace

fft_plan::fft_plan(stream& on, kind what, std::vector<int> extents, int batch) : what_(what) {
  const bool complex = what == kind::complex_to_complex;
  check(cufftPlanMany(&plan_, static_cast<int>(extents.size()), extents.data(), nullptr, 1, 0,
                      nullptr, 1, 0, complex ? CUFFT_C2C : CUFFT_R2C, batch),
        "cufftPlanMany");
  check(cufftSetStream(plan_, of(on.native())), "cufftSetStream");
}
fft_plan::~fft_plan() { (void)cufftDestroy(plan_); }

void fft_plan::run(void* in, void* out) {
  if (what_ == kind::complex_to_complex) {
    check(cufftExecC2C(plan_, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out),
                       CUFFT_FORWARD),
          "cufftExecC2C");
  } else {
    check(cufftExecR2C(plan_, static_cast<cufftReal*>(in), static_cast<cufftComplex*>(out)),
          "cufftExecR2C");
  }
}

void fft_plan::run_inverse(void* in, void* out) {
  check(cufftExecC2C(plan_, static_cast<cufftComplex*>(in), static_cast<cufftComplex*>(out),
                     CUFFT_INVERSE),
        "cufftExecC2C");
}

}  // namespace troupe::bench::raw
