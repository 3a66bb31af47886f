#include "libraries/dnn/cpu/lines/pooler.hpp"
#include "libraries/dnn/shared/pooling_windows.hpp"

#include <troupe/plugin/static_registration.hpp>

#include <type_traits>
#include <utility>

namespace troupe::cpu {
namespace {

using dnn::adaptive_windows;

/// Calls `run` with the pooling of a request.
template <class R, class Run>
result<void> pool(const R& r, Run run) {
  constexpr bool is_adaptive = !requires { r.window; };
  using windows = std::conditional_t<is_adaptive, adaptive_windows, fixed_windows>;
  constexpr bool is_backward = requires { r.dx; };
  const auto [image, response] = [&]() -> std::pair<const any_tensor*, const any_tensor*> {
    if constexpr (is_backward) {
      return {&r.dx, &r.dy};
    } else {
      return {&r.x, &r.y};
    }
  }();
  return dnn::for_image_type(image->type(), [&]<class T>(T) {
    pooler<T, windows> p;
    p.take(*image, *response);
    if constexpr (requires { r.places; }) p.take_places(r.places);
    for (int d = 0; d < dnn::most_space; ++d) {
      const auto i = static_cast<std::size_t>(d);
      if constexpr (is_adaptive) {
        p.windows[i] = {p.in.space[i], p.out.space[i]};
      } else {
        p.windows[i] = dnn::windows_along(dnn::pooling_of(r), d);
      }
    }
    return run(p);
  });
}

template <class R>
result<void> max_forward(const R& r, lane_context& lane) {
  return pool(r, [&](const auto& p) { return p.max_forward(lane); });
}
template <class R>
result<void> max_backward(const R& r, lane_context& lane) {
  return pool(r, [&](const auto& p) { return p.max_backward(lane); });
}
template <class R>
result<void> average_forward(const R& r, lane_context& lane) {
  return pool(r, [&](const auto& p) { return p.average_forward(lane); });
}
template <class R>
result<void> average_backward(const R& r, lane_context& lane) {
  return pool(r, [&](const auto& p) { return p.average_backward(lane); });
}

const plugin_operations pooling_operations([](operation_table& table) {
  table.add<dnn::max_pool_forward>(max_forward, effort::by_size);
  table.add<dnn::max_pool_backward>(max_backward, effort::by_size);
  table.add<dnn::average_pool_forward>(average_forward, effort::by_size);
  table.add<dnn::average_pool_backward>(average_backward, effort::by_size);
  table.add<dnn::adaptive_average_pool_forward>(average_forward, effort::by_size);
  table.add<dnn::adaptive_average_pool_backward>(average_backward, effort::by_size);
  table.add<dnn::adaptive_max_pool_forward>(max_forward, effort::by_size);
  table.add<dnn::adaptive_max_pool_backward>(max_backward, effort::by_size);
});

}  // namespace
}  // namespace troupe::cpu
