#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/averages.cuh"
#include "libraries/dnn/shared/pooling_windows.hpp"

namespace troupe::cuda {
namespace {

using dnn::adaptive_windows;
using dnn::fixed_windows;

template <class R>
average_operands<fixed_windows> windows_of(const R& r) {
  const dnn::pooling pooling = dnn::pooling_of(r);
  average_operands<fixed_windows> p;
  p.depth = dnn::windows_along(pooling, 0);
  p.height = dnn::windows_along(pooling, 1);
  p.width = dnn::windows_along(pooling, 2);
  return p;
}
result<void> forward(const dnn::average_pool_forward& r, lane& where) {
  return run_average(windows_of(r), r.x, r.y, false, where);
}
result<void> backward(const dnn::average_pool_backward& r, lane& where) {
  return run_average(windows_of(r), r.dx, r.dy, true, where);
}
result<void> adaptive_forward(const dnn::adaptive_average_pool_forward& r, lane& where) {
  return run_average(windows_between<adaptive_windows>(r.x, r.y), r.x, r.y, false, where);
}
result<void> adaptive_backward(const dnn::adaptive_average_pool_backward& r, lane& where) {
  return run_average(windows_between<adaptive_windows>(r.dx, r.dy), r.dx, r.dy, true, where);
}
const plugin_operations operations([](operation_table& table) {
  add<dnn::average_pool_forward>(table, forward);
  add<dnn::average_pool_backward>(table, backward);
  add<dnn::adaptive_average_pool_forward>(table, adaptive_forward);
  add<dnn::adaptive_average_pool_backward>(table, adaptive_backward);
});

}  // namespace
}  // namespace troupe::cuda
