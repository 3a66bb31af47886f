#include <troupe/dnn/batch_norm.hpp>
#include <troupe/dnn/kv_append.hpp>
#include <troupe/dnn/lrn.hpp>
#include <troupe/dnn/pooling.hpp>
#include <troupe/dnn/resample.hpp>
#include <troupe/dnn/sampling.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cuda {
namespace {

// Kernels of our own. Plans of cuDNN may be dropped while a recording needs them; recurrent layers
// record by themselves.
const plugin_recordings recordings([](recordable_operations& can) {
  using namespace dnn;
  can.be<kv_append, lrn_forward, lrn_backward, resample_forward, resample_backward, sample_rows>();
  can.be<max_pool_forward, max_pool_backward, average_pool_forward, average_pool_backward,
         adaptive_max_pool_forward, adaptive_max_pool_backward, adaptive_average_pool_forward,
         adaptive_average_pool_backward>();
  can.be<batch_norm_training, batch_norm_inference, batch_norm_backward>();
});

}  // namespace
}  // namespace troupe::cuda
