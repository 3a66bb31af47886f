#include "libraries/primitives/cpu/segments.hpp"
#include "libraries/primitives/cpu/sorting_workspace.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/sorting.hpp>

#include <limits>
#include <numeric>

namespace troupe::cpu {
namespace {

/// With a `Value`, elements take their indices along.
template <class Key, class Value>
result<void> sort_rows(const primitives::sort& r, lane_context& lane) {
  constexpr bool has_indices = !std::is_same_v<Value, no_value>;
  const primitives::tensor_rows x(r.x, r.axis);
  const primitives::tensor_rows y(r.y, r.axis);
  const primitives::tensor_rows indices(r.indices, r.axis);
  const sorting_order<Key> order(r.x.type(), r.descending);
  auto workspace = sorting_workspace_for<Key, Value>(x.length, lane);
  if (!workspace) return std::move(workspace).error();
  for (std::int64_t row = 0; row < x.count(); ++row) {
    load_keys(elements<Key>(x, row), order, workspace->keys);
    if constexpr (has_indices) std::iota(workspace->values, workspace->values + x.length, Value{0});
    radix_sort(*workspace, x.length);
    store_keys(workspace->keys, order, elements<Key>(y, row));
    if constexpr (has_indices)
      store_indices(indices, row, [&](std::int64_t i) { return workspace->values[i]; });
  }
  return {};
}

result<void> run_sort(const primitives::sort& r, lane_context& lane) {
  return with_key(r.x.type(), [&]<class Key>(Key) {
    return r.indices.null() ? sort_rows<Key, no_value>(r, lane)
                            : sort_rows<Key, std::uint32_t>(r, lane);
  });
}

/// to[i] = from[indices[i]], byte by byte.
template <class Index>
void gather(const std::byte* from, std::int64_t from_step, const Index* indices,
            const any_tensor& to) {
  const auto size = static_cast<std::size_t>(size_of(to.type()));
  const std::int64_t to_step = to.stride(0) * size_of(to.type());
  for (std::int64_t i = 0; i < to.extent(0); ++i) {
    std::memcpy(to.address() + i * to_step,
                from + static_cast<std::int64_t>(indices[i]) * from_step, size);
  }
}

/// The values go along as indices, so that there is one sort for each width of keys.
template <class Key, class Index>
result<void> sort_by_index(const primitives::sort_pairs& r, lane_context& lane) {
  const std::int64_t n = r.keys.extent(0);
  const std::int64_t size = size_of(r.values.type());
  const bool in_place = r.sorted_values.same_view(r.values);
  const sorting_order<Key> order(r.keys.type(), r.descending);
  auto workspace = sorting_workspace_for<Key, Index>(n, lane, in_place ? n * size : 0);
  if (!workspace) return std::move(workspace).error();
  load_keys(elements<Key>(r.keys), order, workspace->keys);
  std::iota(workspace->values, workspace->values + n, Index{0});
  radix_sort(*workspace, n);
  store_keys(workspace->keys, order, elements<Key>(r.sorted_keys));

  const std::byte* from = r.values.address();
  std::int64_t step = r.values.stride(0) * size;
  if (in_place) {
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(workspace->further + i * size, from + i * step, static_cast<std::size_t>(size));
    from = workspace->further;
    step = size;
  }
  gather(from, step, workspace->values, r.sorted_values);
  return {};
}

result<void> run_sort_pairs(const primitives::sort_pairs& r, lane_context& lane) {
  return with_key(r.keys.type(), [&]<class Key>(Key) {
    if (r.keys.extent(0) <= std::numeric_limits<std::uint32_t>::max()) {
      return sort_by_index<Key, std::uint32_t>(r, lane);
    }
    return sort_by_index<Key, std::int64_t>(r, lane);
  });
}

result<void> run_segmented_sort(const primitives::segmented_sort& r, lane_context& lane) {
  return with_key(r.x.type(), [&]<class Key>(Key) -> result<void> {
    const std::int64_t n = r.x.extent(0);
    const sorting_order<Key> order(r.x.type(), r.descending);
    auto workspace = sorting_workspace_for<Key, no_value>(n, lane);
    if (!workspace) return std::move(workspace).error();
    load_keys(elements<Key>(r.x), order, workspace->keys);
    auto sorted = for_each_segment(r.offsets, n, [&](std::int64_t begin, std::int64_t end) {
      sorting_workspace<Key, no_value> part = *workspace;
      part.keys += begin;
      part.other_keys += begin;
      radix_sort(part, end - begin);
      if (part.keys != workspace->keys + begin)
        std::copy_n(part.keys, end - begin, workspace->keys + begin);
    });
    if (!sorted) return sorted;
    store_keys(workspace->keys, order, elements<Key>(r.y));
    return {};
  });
}

const plugin_operations sorting_operations([](operation_table& table) {
  table.add<primitives::sort>(run_sort, effort::by_size);
  table.add<primitives::sort_pairs>(run_sort_pairs, effort::by_size);
  table.add<primitives::segmented_sort>(run_segmented_sort, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
