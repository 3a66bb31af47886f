#include "backend/cuda/context/executor.hpp"
#include "libraries/dnn/cuda/images/averages.cuh"

#include <troupe/dnn/resample.hpp>

namespace troupe::cuda {
namespace {

using dnn::interpolated_samples;

result<void> resample(const dnn::resample_forward& r, lane& where) {
  return run_average(windows_between<interpolated_samples>(r.x, r.y, r.interpolation), r.x, r.y,
                     false, where);
}
result<void> resample_gradient(const dnn::resample_backward& r, lane& where) {
  return run_average(windows_between<interpolated_samples>(r.dx, r.dy, r.interpolation), r.dx, r.dy,
                     true, where);
}

const plugin_operations operations([](operation_table& table) {
  add<dnn::resample_forward>(table, resample);
  add<dnn::resample_backward>(table, resample_gradient);
});

}  // namespace
}  // namespace troupe::cuda
