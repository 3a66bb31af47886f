#include "base/try.hpp"
#include "libraries/blas/cuda/kernels/addresses.hpp"
#include "libraries/blas/cuda/kernels/launch.cuh"

#include <algorithm>

namespace troupe::cuda {
namespace {

constexpr int most_series = 3;

struct series_list {
  address_series all[most_series];
};

__global__ void write_all_series(void** to, series_list series, int lists, std::int64_t count) {
  for (std::int64_t i = first_step(); i < count; i += step_width()) {
    for (int list = 0; list < lists; ++list) {
      const address_series& one = series.all[list];
      to[list * count + i] = static_cast<char*>(const_cast<void*>(one.first)) + i * one.step_bytes;
    }
  }
}

// Arguments of a kernel hold up to 32 764 bytes; most lists are far shorter, and a launch copies
// the whole argument.
constexpr std::size_t few = 120;
constexpr std::size_t many = 4000;

template <std::size_t Most>
struct address_block {
  const void* all[Most];
};

template <std::size_t Most>
__global__ void write_block(void** to, const __grid_constant__ address_block<Most> block,
                            std::int64_t count) {
  const std::int64_t i = first_step();
  if (i < count) to[i] = const_cast<void*>(block.all[i]);
}

template <std::size_t Most>
result<void> launch_block(const lane& where, void** to, std::span<const void* const> addresses) {
  address_block<Most> block;
  std::ranges::copy(addresses, block.all);
  const auto count = static_cast<std::int64_t>(addresses.size());
  const auto blocks = static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
  return launch(where, "write_block", write_block<Most>, blocks, to, block, count);
}

}  // namespace

result<void> write_series(const lane& where, void** to,
                          std::initializer_list<address_series> series, std::int64_t count) {
  series_list list{};
  std::ranges::copy(series, list.all);
  return launch(where, "write_all_series", write_all_series, blocks_for(where, count), to, list,
                static_cast<int>(series.size()), count);
}

result<void> write_addresses(const lane& where, void** to, std::span<const void* const> addresses) {
  if (addresses.size() <= few) return launch_block<few>(where, to, addresses);
  while (!addresses.empty()) {
    const std::size_t now = std::min(addresses.size(), many);
    TRY(launch_block<many>(where, to, addresses.first(now)));
    addresses = addresses.subspan(now);
    to += now;
  }
  return {};
}

}  // namespace troupe::cuda
