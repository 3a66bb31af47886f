#include <troupe/plugin/static_registration.hpp>
#include <troupe/sparse/conversions.hpp>
#include <troupe/sparse/products.hpp>
#include <troupe/sparse/structured.hpp>
#include <troupe/sparse/triangular.hpp>
#include <troupe/sparse/vectors.hpp>

namespace troupe::cuda {
namespace {

// Compiled, not run on a GPU yet: kernels of our own; cuSPARSE's SpMV, SpMM and SDDMM; cuSPARSELt's
// products and compression. The libraries' calls get buffers of the lane's workspace, and read
// factors while they are called. Kernels of products are measured in the first call of their plan,
// which is not recorded. `./dev gpu-test recorded` compares results.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace sparse;
  can.be<spmv, spmm, sddmm, spsv, spsm>();
  can.be<axpby, gather, scatter, sparse::rot, to_dense>();
  can.be<structured_prune, structured_check, structured_compress, structured_matmul>();
});

}  // namespace
}  // namespace troupe::cuda
