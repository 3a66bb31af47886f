#include "libraries/dnn/cpu/rnn/passes.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<dnn::rnn_byte_counts> sizes(const dnn::rnn_sizes& r, lane_context&) {
  return dnn::rnn_byte_counts{.weights = dnn::rnn_weight_count(r.network, r.input),
                              .reserve = rnn::reserve_bytes(r)};
}

const plugin_operations rnn_operations([](operation_table& table) {
  table.add<dnn::rnn_sizes>(sizes, effort::by_size);
  table.add<dnn::rnn_forward>(rnn::forward, effort::by_size);
  table.add<dnn::rnn_backward_data>(rnn::backward_data, effort::by_size);
  table.add<dnn::rnn_backward_weights>(rnn::backward_weights, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
