#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/lu.hpp>
#include <troupe/solver/qr.hpp>
#include <troupe/solver/triangular.hpp>

namespace troupe::cuda {
namespace {

// Those of which captured and launched calls were compared with plain ones. Eigenvalues, singular
// values and least squares wait for the device.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace solver;
  can.be<getrf, getrs, gesv, potrf, potrs, posv, geqrf, orgqr, ormqr, trtri>();
});

}  // namespace
}  // namespace troupe::cuda
