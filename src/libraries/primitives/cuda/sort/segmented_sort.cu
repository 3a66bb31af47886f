#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/kernels/first_wrong.cuh"
#include "libraries/primitives/cuda/kernels/offsets.cuh"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/segmented_sort.hpp"

#include <cub/device/device_segmented_radix_sort.cuh>

namespace troupe::cuda {
namespace {

/// Where segments begin and end, within the vector whatever the offsets are.
__global__ void __launch_bounds__(block_threads)
    bound_segments(segment_offsets offsets, int* begins, int* ends) {
  for_each_element(offsets.segments(), [&](std::int64_t i) {
    begins[i] = static_cast<int>(offsets.begin(i));
    ends[i] = static_cast<int>(offsets.end(i));
  });
}

template <class Key>
result<void> enqueue(const primitives::segmented_sort& r, const segment_offsets& offsets,
                     workspace_parts& parts, std::size_t first_wrong, late_failure failure,
                     lane& where) {
  const std::int64_t count = r.x.extent(0);
  const std::int64_t segments = offsets.segments();
  const primitives::sorting_order<Key> order(r.x.type(), r.descending);
  // Not DeviceSegmentedSort, which waits for the device.
  const auto sort = [&](void* memory, std::size_t& bytes, const Key* keys, Key* sorted,
                        const int* begins, const int* ends) {
    return cub::DeviceSegmentedRadixSort::SortKeys(
        memory, bytes, keys, sorted, static_cast<int>(count), static_cast<int>(segments), begins,
        ends, 0, static_cast<int>(sizeof(Key)) * 8, where.stream());
  };
  auto bytes =
      temporary_bytes("cub::DeviceSegmentedRadixSort", [&](void* memory, std::size_t& needed) {
        return sort(memory, needed, nullptr, nullptr, nullptr, nullptr);
      });
  if (!bytes) return std::move(bytes).error();
  const auto keys = parts.add<Key>(count);
  const auto sorted = parts.add<Key>(count);
  const auto begins = parts.add<int>(segments);
  const auto ends = parts.add<int>(segments);
  const auto temporary = parts.add<std::byte>(static_cast<std::int64_t>(*bytes));
  if (auto done = parts.take(where); !done) return done;

  // Elements of no segment stay as they are in the copy.
  if (auto done = enqueue_keys(r.x, order, parts.at<Key>(keys), parts.at<Key>(sorted), where);
      !done) {
    return done;
  }
  if (count > 0 && segments > 0) {
    if (auto done = launch_over(segments, bound_segments, where.stream(), offsets,
                                parts.at<int>(begins), parts.at<int>(ends));
        !done) {
      return done;
    }
    if (auto done = check(sort(parts.at<void>(temporary), *bytes, parts.at<Key>(keys),
                               parts.at<Key>(sorted), parts.at<int>(begins), parts.at<int>(ends)),
                          "cub::DeviceSegmentedRadixSort");
        !done) {
      return done;
    }
  }
  if (auto done = enqueue_elements(parts.at<const Key>(sorted), order, r.y, where); !done) {
    return done;
  }
  return enqueue_check(offsets, parts.at<unsigned long long>(first_wrong), failure, where.stream());
}

}  // namespace

result<void> enqueue_segmented_sort(const primitives::segmented_sort& r, lane& where,
                                    late_failure failure) {
  return primitives::with_key(r.x.type(), [&]<class Key>(Key) {
    workspace_parts parts;
    const auto first_wrong = parts.add<unsigned long long>(1);
    return enqueue<Key>(r, segment_offsets(r.offsets, r.x.extent(0)), parts, first_wrong, failure,
                        where);
  });
}

}  // namespace troupe::cuda
