#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/conversions.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/sparse/structured.hpp>
#include <troupe/sparse/triangular.hpp>
#include <troupe/sparse/vectors.hpp>

namespace troupe::cuda {
namespace {

// Kernels of our own, and cuSPARSE's SpMV, SpMM and SDDMM, which its documentation says can be
// captured: they get buffers of the lane's workspace, and read factors while they are called. The
// same holds for cuSPARSELt's products and compression. Kernels of products are measured in the
// first call of their plan, which is not recorded.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace sparse;
  can.be<spmv, spmm, sddmm, spsv, spsm>();
  can.be<axpby, gather, scatter, sparse::rot, to_dense>();
  can.be<structured_prune, structured_check, structured_compress, structured_matmul>();
});

}  // namespace
}  // namespace troupe::cuda
