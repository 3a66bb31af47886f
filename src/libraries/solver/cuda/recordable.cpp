#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/banded.hpp>
#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/indefinite.hpp>
#include <troupe/solver/lu.hpp>
#include <troupe/solver/qr.hpp>
#include <troupe/solver/triangular.hpp>

namespace troupe::cuda {
namespace {

// Routines of which captured and launched calls were compared with plain ones, and kernels of our
// own. Eigenvalues, singular values and least squares wait for the device; cuSOLVER does not say
// that of potri and sytrf, nor that they can be captured.
const plugin_recordings recordings([](recordable_operations& can) {
  can.be<solver::getrf, solver::getrs, solver::gesv, solver::potrf, solver::potrs, solver::posv,
         solver::geqrf, solver::orgqr, solver::ormqr, solver::trtri>();
  can.be<solver::getri, solver::hetrf, solver::hetrs, solver::sytrs, solver::gbsv, solver::pbsv>();
});

}  // namespace
}  // namespace troupe::cuda
