#include "libraries/primitives/cpu/numbers.hpp"
#include "libraries/primitives/cpu/radix_sort.hpp"
#include "libraries/primitives/cpu/segments.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/sorting.hpp>

#include <limits>

namespace troupe::cpu {
namespace {

using primitives::sorting_order;

/// Room for `n` keys and values in a lane's workspace, twice, and for `further_bytes` behind them.
template <class Key, class Value>
result<sorting_workspace<Key, Value>> sorting_workspace_for(std::int64_t n, lane_context& lane,
                                                            std::int64_t further_bytes = 0) {
  constexpr bool has_values = !std::is_same_v<Value, no_value>;
  constexpr std::size_t alignment = 8;
  const auto count = (static_cast<std::size_t>(n) + alignment - 1) / alignment * alignment;
  auto memory = lane.workspace(2 * count * (sizeof(Key) + (has_values ? sizeof(Value) : 0)) +
                               static_cast<std::size_t>(further_bytes));
  if (!memory) return std::move(memory).error();
  sorting_workspace<Key, Value> workspace;
  std::byte* at = memory->data();
  if constexpr (has_values) {
    // First, because they may be wider than keys.
    workspace.values = reinterpret_cast<Value*>(at);
    workspace.other_values = workspace.values + count;
    at += 2 * count * sizeof(Value);
  }
  workspace.keys = reinterpret_cast<Key*>(at);
  workspace.other_keys = workspace.keys + count;
  workspace.further = reinterpret_cast<std::byte*>(workspace.other_keys + count);
  return workspace;
}

template <class Key>
void load_keys(const elements<Key>& from, const sorting_order<Key>& order, Key* to) {
  for (std::int64_t i = 0; i < from.count(); ++i)
    to[i] = order.key_of(from[i]);
}
template <class Key>
void store_keys(const Key* from, const sorting_order<Key>& order, const elements<Key>& to) {
  for (std::int64_t i = 0; i < to.count(); ++i)
    to[i] = order.bits_of(from[i]);
}

result<void> run_sort(const primitives::sort& r, lane_context& lane) {
  return with_key(r.x.type(), [&]<class Key>(Key) -> result<void> {
    const sorting_order<Key> order(r.x.type(), r.descending);
    auto workspace = sorting_workspace_for<Key, no_value>(r.x.extent(0), lane);
    if (!workspace) return std::move(workspace).error();
    load_keys(elements<Key>(r.x), order, workspace->keys);
    radix_sort(*workspace, r.x.extent(0));
    store_keys(workspace->keys, order, elements<Key>(r.y));
    return {};
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
  for (std::int64_t i = 0; i < n; ++i)
    workspace->values[i] = static_cast<Index>(i);
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
