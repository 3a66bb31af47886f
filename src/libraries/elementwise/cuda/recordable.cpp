#include <troupe/elementwise/activation.hpp>
#include <troupe/elementwise/cross_entropy.hpp>
#include <troupe/elementwise/indexing.hpp>
#include <troupe/elementwise/map.hpp>
#include <troupe/elementwise/norms.hpp>
#include <troupe/elementwise/optimizers.hpp>
#include <troupe/elementwise/reduce.hpp>
#include <troupe/elementwise/rotary.hpp>
#include <troupe/elementwise/rows.hpp>
#include <troupe/elementwise/selection.hpp>
#include <troupe/elementwise/softmax.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// While the interpreter stands in for a kernel that is being compiled, calls are provisional.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace elementwise;
  can.be<elementwise::map, rows, elementwise::reduce, activation, activation_backward, bias_add,
         bias_add_backward, residual_add, dropout>();
  can.be<softmax, softmax_backward, log_softmax, log_softmax_backward>();
  can.be<layer_norm, layer_norm_backward, rms_norm, rms_norm_backward, group_norm,
         group_norm_backward, instance_norm, instance_norm_backward, l2_normalize,
         l2_normalize_backward>();
  can.be<rotary_embedding, rotary_embedding_backward, clamp, elementwise::where, compare, one_hot,
         arange>();
  can.be<cross_entropy, cross_entropy_backward, nll_loss, nll_loss_backward, sgd, adamw>();
  can.be<gather_rows, gather_rows_backward, scatter_rows, cumulate>();
});

}  // namespace
}  // namespace troupe::cuda
