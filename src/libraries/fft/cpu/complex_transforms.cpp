#include "libraries/fft/cpu/transforms.hpp"

#include <troupe/plugin/static_registration.hpp>

namespace troupe::cpu {
namespace {

result<void> run_c2c(const fft::c2c& r, lane_context& lane) {
  return transform_all(fft::transform_of(r), fft::request_fields::of(r), lane);
}

const plugin_operations complex_transforms_operations([](operation_table& table) {
  table.add<fft::c2c>(run_c2c, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
