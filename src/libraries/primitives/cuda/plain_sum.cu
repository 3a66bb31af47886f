#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/scans.hpp"

#include <cub/device/device_scan.cuh>

namespace troupe::cuda {
namespace {

// One count for all lengths: CUB's scan is as fast with 64 bits.
template <class T>
result<void> enqueue(const primitives::scan& r, lane& where) {
  const auto* const x = reinterpret_cast<const T*>(r.x.address());
  auto* const y = reinterpret_cast<T*>(r.y.address());
  const auto sum = [&](void* memory, std::size_t& bytes) {
    return r.exclusive
               ? cub::DeviceScan::ExclusiveSum(memory, bytes, x, y, r.x.extent(0), where.stream())
               : cub::DeviceScan::InclusiveSum(memory, bytes, x, y, r.x.extent(0), where.stream());
  };
  auto bytes = TRY(temporary_bytes("cub::DeviceScan", sum));
  call_frame c(where);
  c.share(bytes);
  TRY(c.begin());
  return check(sum(c.shared(), bytes), "cub::DeviceScan");
}

}  // namespace

bool is_plain_sum(const primitives::scan& r) noexcept {
  return r.op == primitives::combination::sum && r.x.type() == r.y.type() &&
         size_of(r.x.type()) >= 4 && r.x.stride(0) == 1 && r.y.stride(0) == 1;
}

result<void> enqueue_plain_sum(const primitives::scan& r, lane& where) {
  // The sum of integers modulo 2^bits does not depend on their sign.
  switch (r.x.type()) {
    case dtype::f64:
      return enqueue<double>(r, where);
    case dtype::f32:
      return enqueue<float>(r, where);
    default:
      return size_of(r.x.type()) == 4 ? enqueue<std::uint32_t>(r, where)
                                      : enqueue<std::uint64_t>(r, where);
  }
}

}  // namespace troupe::cuda
