#include "raw_check.hpp"
#include "raw_primitives.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>

namespace troupe::bench::raw {
namespace {

struct pointers {
  const float* x = nullptr;
  float* y = nullptr;
  const std::uint32_t* values = nullptr;
  std::uint32_t* sorted_values = nullptr;
};

cudaError_t add_up(void* at, std::size_t& bytes, const pointers& p, std::int64_t n,
                   cudaStream_t s) {
  return cub::DeviceReduce::Sum(at, bytes, p.x, p.y, n, s);
}
cudaError_t scan(void* at, std::size_t& bytes, const pointers& p, std::int64_t n, cudaStream_t s) {
  return cub::DeviceScan::InclusiveSum(at, bytes, p.x, p.y, n, s);
}
cudaError_t sort_keys(void* at, std::size_t& bytes, const pointers& p, std::int64_t n,
                      cudaStream_t s) {
  return cub::DeviceRadixSort::SortKeys(at, bytes, p.x, p.y, static_cast<std::uint32_t>(n), 0, 32,
                                        s);
}
cudaError_t sort_both(void* at, std::size_t& bytes, const pointers& p, std::int64_t n,
                      cudaStream_t s) {
  return cub::DeviceRadixSort::SortPairs(at, bytes, p.x, p.y, p.values, p.sorted_values,
                                         static_cast<std::uint32_t>(n), 0, 32, s);
}

std::size_t most_bytes(std::int64_t count) {
  std::size_t most = 0;
  for (const auto algorithm : {add_up, scan, sort_keys, sort_both}) {
    std::size_t bytes = 0;
    check(algorithm(nullptr, bytes, {}, count, nullptr), "cub");
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

cub_calls::cub_calls(stream& on, std::int64_t count)
    : count_(count), stream_(on.native()), temporary_(memory::place::device, most_bytes(count)) {}

void cub_calls::sum(const float* x, float* to) {
  std::size_t bytes = temporary_.bytes().size();
  check(add_up(temporary_.address(), bytes, {x, to}, count_, of(stream_)), "cub::DeviceReduce");
}
void cub_calls::inclusive_sum(const float* x, float* y) {
  std::size_t bytes = temporary_.bytes().size();
  check(scan(temporary_.address(), bytes, {x, y}, count_, of(stream_)), "cub::DeviceScan");
}
void cub_calls::sort(const float* x, float* y) {
  std::size_t bytes = temporary_.bytes().size();
  check(sort_keys(temporary_.address(), bytes, {x, y}, count_, of(stream_)),
        "cub::DeviceRadixSort");
}
void cub_calls::sort_pairs(const float* keys, const std::uint32_t* values, float* sorted_keys,
                           std::uint32_t* sorted_values) {
  std::size_t bytes = temporary_.bytes().size();
  check(sort_both(temporary_.address(), bytes, {keys, sorted_keys, values, sorted_values}, count_,
                  of(stream_)),
        "cub::DeviceRadixSort");
}

}  // namespace troupe::bench::raw
