#include <troupe/blas/batched.hpp>
#include <troupe/blas/batched_factor.hpp>
#include <troupe/blas/level1.hpp>
#include <troupe/blas/level1_reductions.hpp>
#include <troupe/blas/level1_rotations.hpp>
#include <troupe/blas/level2.hpp>
#include <troupe/blas/level2_banded.hpp>
#include <troupe/blas/level2_packed.hpp>
#include <troupe/blas/level2_symmetric.hpp>
#include <troupe/blas/level3.hpp>
#include <troupe/blas/level3_symmetric.hpp>
#include <troupe/blas/level3_triangular.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// cuBLAS takes factors from the host while it is called and its workspace is the lane's. Lists of
// addresses travel as arguments of a kernel. Plans are chosen without measuring. Grouped products
// are not on the list: cuBLAS copies their sizes from the call's memory.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace blas;
  can.be<axpy, axpby, scal, blas::copy, blas::swap, rot, rotg, rotm, rotmg>();
  can.be<dot, dsdot, sdsdot, dotc, dotu, nrm2, asum, iamax, iamin>();
  can.be<gemv, ger, geru, gerc, trmv, trsv, gbmv, sbmv, hbmv, tbmv, tbsv>();
  can.be<spmv, hpmv, spr, hpr, spr2, hpr2, tpmv, tpsv, symv, hemv, syr, her, syr2, her2>();
  can.be<gemm, geam, dgmm, symm, hemm, syrk, syr2k, herk, her2k, trmm, trsm, gemmt>();
  can.be<gemm_strided_batched, gemm_batched, gemv_batched, trsm_batched>();
  can.be<getrf_batched, getrs_batched, getri_batched, geqrf_batched>();
});

}  // namespace
}  // namespace troupe::cuda
