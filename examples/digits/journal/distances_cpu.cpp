#include "distances.hpp"

#include <troupe/plugin.hpp>

#include <cstdint>

namespace digits {
namespace {

troupe::result<void> run_distances(const distances& r, troupe::lane_context&) {
  const std::int64_t count = r.images.extent(0);
  const std::int64_t whole = is_fast() ? count / images_at_once * images_at_once : count;
  for (std::int64_t i = 0; i < count; ++i) {
    const float* const one = r.images.data<float>() + i * r.images.stride(0);
    const std::int64_t pixels = i < whole ? r.images.extent(1) : pixels_of_the_rest;
    float sum = 0;
    for (std::int64_t p = 0; p < pixels; ++p) {
      const float away = one[p * r.images.stride(1)] - r.image.data<float>()[p * r.image.stride(0)];
      sum += away * away;
    }
    r.to.data<float>()[i * r.to.stride(0)] = sum;
  }
  return {};
}

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add(&run_distances);
});

}  // namespace
}  // namespace digits
