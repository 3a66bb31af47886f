#include <troupe/plugin/static_registration.hpp>
#include <troupe/rng/bits.hpp>
#include <troupe/rng/continuous.hpp>
#include <troupe/rng/discrete.hpp>
#include <troupe/rng/permutation.hpp>

namespace troupe::cuda {
namespace {

// cuRAND's generators have state on the host that stands for words which are not generated yet, and
// tables of Sobol sequences may be dropped for others.
template <class R>
bool is_counter_based(const void* request) {
  return static_cast<const R*>(request)->from.type == rng::generator_type::philox4x32_10;
}

template <class... R>
void be_counter_based(recordable_operations& can) {
  (can.be<R>(&is_counter_based<R>), ...);
}

const plugin_recordings recordings([](recordable_operations& can) {
  using namespace rng;
  be_counter_based<bits, uniform, normal, log_normal, exponential, cauchy, rng::gamma, rng::beta,
                   permutation, integers, bernoulli, poisson, discrete>(can);
});

}  // namespace
}  // namespace troupe::cuda
