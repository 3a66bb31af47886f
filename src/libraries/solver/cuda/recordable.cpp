#include <troupe/plugin/static_registration.hpp>
#include <troupe/solver/banded.hpp>
#include <troupe/solver/cholesky.hpp>
#include <troupe/solver/indefinite.hpp>
#include <troupe/solver/lu.hpp>
#include <troupe/solver/qr.hpp>
#include <troupe/solver/triangular.hpp>

namespace troupe::cuda {
namespace {

// Routines of which captured and launched calls were compared with plain ones on a GPU; and kernels
// of our own, of which no recording has run on a GPU yet. Eigenvalues, singular values and least
// squares wait for the device. Whether potri and sytrf of cuSOLVER do was not tried.
const plugin_recordings recordings([](recordable_operations& can) {
  can.be<solver::getrf, solver::getrs, solver::gesv, solver::potrf, solver::potrs, solver::posv,
         solver::geqrf, solver::orgqr, solver::ormqr, solver::trtri>();
  can.be<solver::getri, solver::hetrf, solver::hetrs, solver::sytrs, solver::gbsv, solver::pbsv>();
});

}  // namespace
}  // namespace troupe::cuda
