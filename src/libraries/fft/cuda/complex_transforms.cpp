#include "backend/cuda/context/executor.hpp"
#include "libraries/fft/cuda/transforms.hpp"

namespace troupe::cuda {
namespace {

result<void> run_c2c(const fft::c2c& r, lane& where) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), where);
}

const plugin_operations complex_transforms_operations([](operation_table& table) {
  add<fft::c2c>(table, run_c2c);
});

}  // namespace

}  // namespace troupe::cuda
