#include <troupe/plugin/static_registration.hpp>
#include <troupe/tensors/combine.hpp>
#include <troupe/tensors/contract.hpp>
#include <troupe/tensors/contract_blocks.hpp>
#include <troupe/tensors/reduce.hpp>

namespace troupe::cuda {
namespace {

// Compiled, not run on a GPU yet: programs of products, copies and functions, which can be recorded
// themselves, and of cuTENSOR's sums. Ours do not tune their plans, which takes times on the
// stream; their factors are read while they are called, and their workspace is the lane's. `./dev
// gpu-test recorded` compares results.
const plugin_recordings recordings([](recordable_operations& can) {
  can.be<tensors::contract, tensors::einsum, tensors::contract_blocks, tensors::reduce>();
  can.be<tensors::permute, tensors::unary, tensors::binary, tensors::trinary>();
});

}  // namespace
}  // namespace troupe::cuda
