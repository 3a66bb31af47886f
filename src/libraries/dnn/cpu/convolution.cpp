#include "libraries/dnn/cpu/convolution.hpp"

#include "libraries/dnn/cpu/convolution/convolution_loops.hpp"
#include "libraries/dnn/cpu/convolution/onednn.hpp"
#include "libraries/dnn/cpu/onednn/plan.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

using dnn::convolution_of;

using by_library = result<bool> (*)(const dnn::convolution&, const epilogue&, lane_context&);
using by_loops = result<void> (*)(const dnn::convolution&, const epilogue&, lane_context&);

/// Uses oneDNN if it has a kernel and may be used, and own loops otherwise.
result<void> run(by_library library, by_loops loops, const dnn::convolution& c,
                 const epilogue& after, lane_context& lane) {
  if (lane.methods().dnn == dnn_method::automatic && !c.empty()) {
    auto done = library(c, after, lane);
    if (!done) return std::move(done).error();
    if (*done) return {};
  }
  return loops(c, after, lane);
}

result<void> run_backward_data(const dnn::convolution_backward_data& r, lane_context& lane) {
  const dnn::convolution c = convolution_of(r);
  if (c.empty()) return {};
  return run(onednn_backward_data, convolve_backward, c, epilogue_of(r, r.dx), lane);
}

// Without images too: the sums are 0 then.
result<void> run_backward_filter(const dnn::convolution_backward_filter& r, lane_context& lane) {
  return run(onednn_backward_filter, correlate_filter, convolution_of(r), epilogue_of(r, r.dw),
             lane);
}

result<void> run_transposed(const dnn::convolution_transposed& r, lane_context& lane) {
  const dnn::convolution c = convolution_of(r);
  if (c.empty()) return {};
  return run(onednn_backward_data, convolve_backward, c, epilogue_of(r), lane);
}

const plugin_operations convolution_operations([](operation_table& table) {
  table.add<dnn::convolution_forward>(run_convolution, effort::by_size);
  table.add<dnn::convolution_backward_data>(run_backward_data, effort::by_size);
  table.add<dnn::convolution_backward_filter>(run_backward_filter, effort::by_size);
  table.add<dnn::convolution_transposed>(run_transposed, effort::by_size);
});

}  // namespace

result<void> run_convolution(const dnn::convolution_forward& r, lane_context& lane) {
  const dnn::convolution c = convolution_of(r);
  if (c.empty()) return {};
  return run(onednn_forward, convolve_forward, c, epilogue_of(r), lane);
}

}  // namespace troupe::cpu
