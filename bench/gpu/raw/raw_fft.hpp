#pragma once

#include "raw.hpp"

#include <cstdint>
#include <vector>

namespace troupe::bench::raw {

/// A plan of cuFFT on a stream, of packed f32, as cufftPlanMany makes it.
class fft_plan {
 public:
  enum class kind : std::uint8_t { complex_to_complex, real_to_complex };
  /// Transforms `batch` arrays of those extents.
  fft_plan(stream& on, kind what, std::vector<int> extents, int batch);
  ~fft_plan();
  fft_plan(const fft_plan&) = delete;
  fft_plan& operator=(const fft_plan&) = delete;

  /// Forward, not scaled.
  void run(void* in, void* out);
  /// Back, of complex numbers, not scaled.
  void run_inverse(void* in, void* out);

 private:
  kind what_;
  int plan_ = 0;
};

/// y = y · by, complex f32, two numbers a thread. An even `count`.
void multiply(stream& on, void* y, const void* by, std::int64_t count);

}  // namespace troupe::bench::raw
