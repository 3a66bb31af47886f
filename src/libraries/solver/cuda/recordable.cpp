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
  can.be<solver::getrf, solver::getrs, solver::gesv, solver::potrf, solver::potrs, solver::posv,
         solver::geqrf, solver::orgqr, solver::ormqr, solver::trtri>();
});

}  // namespace
}  // namespace troupe::cuda
