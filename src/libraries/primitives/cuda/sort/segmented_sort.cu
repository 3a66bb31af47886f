#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/kernels/first_wrong.cuh"
#include "libraries/primitives/cuda/kernels/offsets.cuh"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/segmented_sort.hpp"

#include <cub/device/device_segmented_radix_sort.cuh>

namespace troupe::cuda {
namespace {

/// Stores the bounds of all segments, clamped to the vector.
__global__ void __launch_bounds__(block_threads)
    bound_segments(segment_offsets offsets, int* begins, int* ends) {
  for_each_element(offsets.segments(), [&](std::int64_t i) {
    begins[i] = static_cast<int>(offsets.begin(i));
    ends[i] = static_cast<int>(offsets.end(i));
  });
}

template <class Key>
result<void> enqueue(const primitives::segmented_sort& r, late_failure failure, lane& where) {
  const segment_offsets offsets(r.offsets, r.x.extent(0));
  const std::int64_t count = r.x.extent(0);
  const std::int64_t segments = offsets.segments();
  const primitives::sorting_order<Key> order(r.x.type(), r.descending);
  call_frame c(where);
  const auto first_wrong = c.array<unsigned long long>(1);
  const auto keys = c.array<Key>(count);
  const auto sorted = c.array<Key>(count);
  const auto begins = c.array<int>(segments);
  const auto ends = c.array<int>(segments);
  // Not DeviceSegmentedSort: it waits for the device.
  const auto sort = [&](void* memory, std::size_t& bytes) {
    return cub::DeviceSegmentedRadixSort::SortKeys(
        memory, bytes, keys.get(), sorted.get(), static_cast<int>(count),
        static_cast<int>(segments), begins.get(), ends.get(), 0, static_cast<int>(sizeof(Key)) * 8,
        where.stream());
  };
  auto bytes = TRY(temporary_bytes("cub::DeviceSegmentedRadixSort", sort));
  c.share(bytes);
  TRY(c.begin());

  // Elements outside of all segments keep their place in the copy.
  TRY(enqueue_keys(r.x, order, keys.get(), sorted.get(), where));
  if (count > 0 && segments > 0) {
    TRY(launch_over(segments, bound_segments, where.stream(), offsets, begins, ends));
    TRY(check(sort(c.shared(), bytes), "cub::DeviceSegmentedRadixSort"));
  }
  TRY(enqueue_elements<Key>(sorted, order, r.y, where));
  return enqueue_check(offsets, first_wrong, failure, where.stream());
}

}  // namespace

result<void> enqueue_segmented_sort(const primitives::segmented_sort& r, lane& where,
                                    late_failure failure) {
  return primitives::with_key(r.x.type(),
                              [&]<class Key>(Key) { return enqueue<Key>(r, failure, where); });
}

}  // namespace troupe::cuda
