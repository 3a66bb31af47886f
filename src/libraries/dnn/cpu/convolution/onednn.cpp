#include "libraries/dnn/cpu/convolution/onednn.hpp"

#include "libraries/dnn/cpu/convolution/onednn_plan.hpp"
#include "libraries/dnn/cpu/limits.hpp"
#include "libraries/dnn/cpu/result_rows.hpp"

namespace troupe::cpu {
namespace {

result<bool> run(direction way, const dnn::convolution& c, const epilogue& after,
                 lane_context& lane) {
  if (!limits::onednn::accepts_operands(c, after)) return false;
  const auto plan = onednn_plan_for(way, c, after);
  if (plan == nullptr) return false;
  const auto at = [](const any_tensor& t) { return t.null() ? nullptr : t.address(); };
  auto done = plan->run({c.image.view.address(), c.filter.view.address(), c.response.view.address(),
                         at(after.z), at(after.bias)},
                        lane);
  if (!done) return std::move(done).error();
  if (follows_plan(after.activation))
    activate_dense(after, way == direction::forward ? c.response.view : c.image.view);
  return true;
}

}  // namespace

result<bool> onednn_forward(const dnn::convolution& c, const epilogue& after, lane_context& lane) {
  return run(direction::forward, c, after, lane);
}
result<bool> onednn_backward_data(const dnn::convolution& c, const epilogue& after,
                                  lane_context& lane) {
  return run(direction::backward_data, c, after, lane);
}
result<bool> onednn_backward_filter(const dnn::convolution& c, const epilogue& after,
                                    lane_context& lane) {
  return run(direction::backward_filter, c, after, lane);
}

}  // namespace troupe::cpu
