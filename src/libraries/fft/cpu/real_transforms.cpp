#include "libraries/fft/cpu/transforms.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_r2c(const fft::r2c& r, lane_context& lane) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), lane);
}

result<void> run_c2r(const fft::c2r& r, lane_context& lane) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), lane);
}

const plugin_operations real_transforms_operations([](operation_table& table) {
  table.add<fft::r2c>(run_r2c, effort::by_size);
  table.add<fft::c2r>(run_c2r, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
