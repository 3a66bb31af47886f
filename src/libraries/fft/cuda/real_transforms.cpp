#include "backend/cuda/context/executor.hpp"
#include "libraries/fft/cuda/transforms.hpp"

namespace troupe::cuda {
namespace {

result<void> run_r2c(const fft::r2c& r, lane& where) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), where);
}

result<void> run_c2r(const fft::c2r& r, lane& where) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), where);
}

const plugin_operations real_transforms_operations([](operation_table& table) {
  add<fft::r2c>(table, run_r2c);
  add<fft::c2r>(table, run_c2r);
});

}  // namespace

}  // namespace troupe::cuda
