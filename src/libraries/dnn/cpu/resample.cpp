#include "libraries/dnn/cpu/lines/pooler.hpp"
#include "libraries/dnn/shared/samples.hpp"

#include <troupe/dnn/resample.hpp>
#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

template <class T>
pooler<T, dnn::interpolated_samples> between(const any_tensor& image, const any_tensor& response,
                                             dnn::interpolation how) {
  pooler<T, dnn::interpolated_samples> p;
  p.take(image, response);
  for (std::size_t d = 0; d < p.windows.size(); ++d) {
    p.windows[d] = {p.in.space[d], p.out.space[d], how};
  }
  return p;
}

result<void> forward(const dnn::resample_forward& r, lane_context& lane) {
  return dnn::for_image_type(r.x.type(), [&]<class T>(T) {
    return between<T>(r.x, r.y, r.interpolation).average_forward(lane);
  });
}
result<void> backward(const dnn::resample_backward& r, lane_context& lane) {
  return dnn::for_image_type(r.dx.type(), [&]<class T>(T) {
    return between<T>(r.dx, r.dy, r.interpolation).average_backward(lane);
  });
}

const plugin_operations resample_operations([](operation_table& table) {
  table.add<dnn::resample_forward>(forward, effort::by_size);
  table.add<dnn::resample_backward>(backward, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
