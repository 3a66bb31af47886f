#pragma once

#include "libraries/primitives/cpu/numbers.hpp"
#include "libraries/primitives/cpu/radix_sort.hpp"

#include <troupe/plugin/executor.hpp>

#include <cstddef>
#include <utility>

namespace troupe::cpu {

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

}  // namespace troupe::cpu
