#include "backend/cuda/context/call_frame.hpp"
#include "libraries/primitives/cuda/kernels/grid.cuh"
#include "libraries/primitives/cuda/kernels/numbers.cuh"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/row_search.hpp"

#include <algorithm>
#include <bit>

// All elements are sorted together, and then, which keeps their order, by the numbers of their
// rows. Both are sorts that exist for vectors, and no shape of rows leaves the GPU idle.
namespace troupe::cuda {
namespace {

using primitives::sorting_order;

/// Some neighbouring rows.
struct row_group {
  row_search r;
  std::int64_t first_row;
  std::int64_t count;  ///< their elements
};

template <class Key>
__global__ void __launch_bounds__(block_threads)
    load_rows(row_group g, sorting_order<Key> order, Key* keys, std::uint32_t* places) {
  const primitives::tensor_rows& x = g.r.x;
  for_each_element(g.count, [&](std::int64_t i) {
    const auto* const row = reinterpret_cast<const Key*>(x.row(g.first_row + i / x.length));
    // The same bits, but of booleans.
    keys[i] = order.bits_of(order.key_of(row[i % x.length * x.step]));
    places[i] = static_cast<std::uint32_t>(i);
  });
}

__global__ void __launch_bounds__(block_threads)
    number_rows(const std::uint32_t* places, std::int64_t length, std::uint32_t* rows,
                std::int64_t count) {
  for_each_element(
      count, [&](std::int64_t i) { rows[i] = static_cast<std::uint32_t>(places[i] / length); });
}

template <class Key>
__global__ void __launch_bounds__(block_threads)
    store_rows(row_group g, const Key* keys, const std::uint32_t* places) {
  const primitives::tensor_rows& to = g.r.found;
  const primitives::tensor_rows& indices = g.r.indices;
  const std::int64_t length = g.r.x.length;
  for_each_element(g.count, [&](std::int64_t i) {
    const std::int64_t row = g.first_row + i / length;
    const std::int64_t at = i % length;
    if (at >= to.length) return;
    reinterpret_cast<Key*>(to.row(row))[at * to.step] = keys[places[i]];
    if (indices.first == nullptr) return;
    store_bits(indices.row(row) + at * indices.step * indices.bytes, indices.bytes,
               places[i] - static_cast<std::uint32_t>(i - at));
  });
}

template <class Key>
result<void> sort_group(const row_group& g, lane& where) {
  const std::int64_t rows = g.count / g.r.x.length;
  radix_sort<Key, std::uint32_t> by_key{.order = sorting_order<Key>(g.r.x.type, g.r.descending),
                                        .count = g.count};
  radix_sort<std::uint32_t, std::uint32_t> by_row{
      .order = sorting_order<std::uint32_t>(dtype::u32, false),
      .count = g.count,
      .bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows - 1)))};
  const auto key_bytes = TRY(by_key.temporary_bytes());
  const auto row_bytes = rows > 1 ? TRY(by_row.temporary_bytes()) : 0;
  call_frame c(where);
  const auto keys = c.array<Key>(g.count);
  const auto sorted_keys = c.array<Key>(g.count);
  const auto places = c.array<std::uint32_t>(g.count);
  const auto sorted_places = c.array<std::uint32_t>(g.count);
  const auto numbers = c.array<std::uint32_t>(rows > 1 ? 2 * g.count : 0);
  c.share(std::max(key_bytes, row_bytes));
  TRY(c.begin());

  TRY(launch_over(g.count, load_rows<Key>, where.stream(), g, by_key.order, keys, places));
  by_key.keys = keys;
  by_key.values = places;
  by_key.sorted_keys = sorted_keys;
  by_key.sorted_values = sorted_places;
  TRY(by_key.enqueue(c.shared(), key_bytes, where));
  if (rows == 1)
    return launch_over(g.count, store_rows<Key>, where.stream(), g, keys, sorted_places);
  TRY(launch_over(g.count, number_rows, where.stream(), sorted_places, g.r.x.length, numbers,
                  g.count));
  by_row.keys = numbers;
  by_row.values = sorted_places;
  by_row.sorted_keys = numbers + g.count;
  by_row.sorted_values = places;
  TRY(by_row.enqueue(c.shared(), row_bytes, where));
  return launch_over(g.count, store_rows<Key>, where.stream(), g, keys, places);
}

}  // namespace

result<void> enqueue_by_sort(const row_search& r, lane& where) {
  // Groups bound the workspace.
  constexpr std::int64_t most_elements = std::int64_t{1} << 26;
  const std::int64_t most_rows = std::max<std::int64_t>(most_elements / r.x.length, 1);
  for (std::int64_t row = 0; row < r.x.count(); row += most_rows) {
    const row_group g{r, row, std::min(most_rows, r.x.count() - row) * r.x.length};
    TRY(primitives::with_key(r.x.type, [&]<class Key>(Key) { return sort_group<Key>(g, where); }));
  }
  return {};
}

}  // namespace troupe::cuda
