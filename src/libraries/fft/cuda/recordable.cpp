#include "libraries/fft/shared/functions.hpp"

#include <troupe/fft/complex_transforms.hpp>
#include <troupe/fft/real_transforms.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// Plans of cuFFT can be captured: `./dev gpu-test recorded` has compared their results on an H200.
// With functions, the way in which a transform runs is decided by times, and functions may be
// linked into a plan meanwhile.
template <class R>
bool has_no_functions(const void* request) {
  const auto fields = fft::request_fields::of(*static_cast<const R*>(request));
  return !fields.loads() && !fields.stores();
}

const plugin_recordings recordings([](recordable_operations& can) {
  can.be<fft::c2c>(&has_no_functions<fft::c2c>);
  can.be<fft::r2c>(&has_no_functions<fft::r2c>);
  can.be<fft::c2r>(&has_no_functions<fft::c2r>);
});

}  // namespace
}  // namespace troupe::cuda
