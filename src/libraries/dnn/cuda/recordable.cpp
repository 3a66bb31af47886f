#include "libraries/dnn/cuda/attention/attention_case.hpp"

#include <troupe/dnn/attention.hpp>
#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/convolution.hpp>
#include <troupe/dnn/graph.hpp>
#include <troupe/dnn/kv_append.hpp>
#include <troupe/dnn/lrn.hpp>
#include <troupe/dnn/pooling.hpp>
#include <troupe/dnn/resample.hpp>
#include <troupe/dnn/rnn.hpp>
#include <troupe/dnn/sampling.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// Behind a plan of cuDNN, rows that attend to nothing are stored by a kernel that may begin early,
// which was not tried in a recording.
template <class R>
bool leaves_no_row_out(const void* request) {
  const attention_case what(*static_cast<const R*>(request));
  return what.by_tiles() || !what.may_be_masked_out();
}

// Kernels of our own and plans of cuDNN, which are captured when they are loaded, too: their
// numbers are read from the host while they are called, their workspace is the lane's, and
// recordings keep them. `./dev gpu-test recorded` compares their results. While a plan of a graph
// is being made, or compared with the graph's pieces, calls are provisional. Recurrent layers
// record their calls by themselves, but not within a recording.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace dnn;
  can.be<attention_forward>(&leaves_no_row_out<attention_forward>);
  can.be<attention_backward>(&leaves_no_row_out<attention_backward>);
  can.be<kv_append, lrn_forward, lrn_backward, resample_forward, resample_backward, sample_rows>();
  can.be<max_pool_forward, max_pool_backward, average_pool_forward, average_pool_backward,
         adaptive_max_pool_forward, adaptive_max_pool_backward, adaptive_average_pool_forward,
         adaptive_average_pool_backward>();
  can.be<batch_norm_training, batch_norm_inference, batch_norm_backward>();
  can.be<convolution_forward, convolution_backward_data, convolution_backward_filter,
         convolution_transposed, dnn::graph>();
  can.be<rnn_forward, rnn_backward_data, rnn_backward_weights>();
});

}  // namespace
}  // namespace troupe::cuda
