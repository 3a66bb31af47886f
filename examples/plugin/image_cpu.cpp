#include "image.hpp"

#include <troupe/plugin.hpp>

#include <algorithm>
#include <cstdint>

namespace image {
namespace {

using troupe::lane_context;
using troupe::result;

// region: executors
// An executor trusts its request: it has been checked in the worker, too.
result<void> run_blur(const blur& r, lane_context&) {
  const std::int64_t height = r.x.extent(0);
  const std::int64_t width = r.x.extent(1);
  const float* const x = r.x.data<float>();
  float* const y = r.y.data<float>();
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      float sum = 0;
      int count = 0;
      for (std::int64_t k = std::max<std::int64_t>(i - 1, 0); k <= std::min(i + 1, height - 1);
           ++k) {
        for (std::int64_t l = std::max<std::int64_t>(j - 1, 0); l <= std::min(j + 1, width - 1);
             ++l, ++count)
          sum += x[k * r.x.stride(0) + l * r.x.stride(1)];
      }
      y[i * r.y.stride(0) + j * r.y.stride(1)] = sum / static_cast<float>(count);
    }
  }
  return {};
}

result<void> run_faulty(const faulty&, lane_context&) {
  volatile std::uintptr_t nowhere = 8;
  *reinterpret_cast<float*>(nowhere) = 1.0F;
  return {};
}

const troupe::plugin_operations operations([](troupe::operation_table& table) {
  table.add(&run_blur, troupe::effort::by_size);  // soon done where its operands are small
  table.add(&run_faulty);
});
// endregion: executors

}  // namespace
}  // namespace image
