#include "libraries/dnn/cpu/convolution/onednn.hpp"

#include "libraries/dnn/cpu/convolution/onednn_plan.hpp"
#include "libraries/dnn/cpu/result_rows.hpp"

namespace troupe::cpu {
namespace {

bool takes(const dnn::convolution& c, const epilogue& after) {
  const auto lies_well = [](const any_tensor& t) {
    return dnn::order_of(t) != dnn::dimension_order::other;
  };
  const dtype type = c.filter.view.type();
  return (type == dtype::f32 || type == dtype::bf16) && lies_well(c.image.view) &&
         lies_well(c.filter.view) && lies_well(c.response.view) &&
         (after.z.null() || lies_well(after.z));
}

result<bool> run(direction way, const dnn::convolution& c, const epilogue& after,
                 lane_context& lane) {
  if (!takes(c, after)) return false;
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
