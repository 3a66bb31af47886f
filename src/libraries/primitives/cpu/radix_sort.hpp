#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// Sorting by keys, digit after digit from the lowest on: stable, and in linear time.
namespace troupe::cpu {

/// Nothing goes along with the keys.
struct no_value {};

/// Two places for keys and for what goes along; sorting moves between them.
template <class Key, class Value>
struct sorting_workspace {
  Key* keys = nullptr;
  Key* other_keys = nullptr;
  Value* values = nullptr;
  Value* other_values = nullptr;
  std::byte* further = nullptr;  ///< for the user's own purposes

  void swap() noexcept {
    std::swap(keys, other_keys);
    std::swap(values, other_values);
  }
};

namespace detail {

template <class Key>
inline constexpr int digit_bits = sizeof(Key) < 4 ? 8 : 11;
template <class Key>
inline constexpr std::size_t digit_count =
    (sizeof(Key) * 8 + digit_bits<Key> - 1) / digit_bits<Key>;
template <class Key>
inline constexpr std::size_t digit_values = std::size_t{1} << digit_bits<Key>;

template <class Key>
[[nodiscard]] constexpr std::size_t digit_of(Key key, std::size_t number) noexcept {
  return static_cast<std::size_t>(key >> (number * digit_bits<Key>)) & (digit_values<Key> - 1);
}

/// Moves what goes before others ahead of them, one after the other.
template <class Key, class Value>
void insertion_sort(const sorting_workspace<Key, Value>& workspace, std::int64_t n) {
  for (std::int64_t i = 1; i < n; ++i) {
    const Key key = workspace.keys[i];
    std::int64_t to = i;
    for (; to > 0 && workspace.keys[to - 1] > key; --to)
      workspace.keys[to] = workspace.keys[to - 1];
    workspace.keys[to] = key;
    if constexpr (!std::is_same_v<Value, no_value>) {
      std::rotate(workspace.values + to, workspace.values + i, workspace.values + i + 1);
    }
  }
}

}  // namespace detail

/// Sorts `n` keys, and with them their values. The result is in `keys` and `values`, which may have
/// changed places with the others.
template <class Key, class Value>
void radix_sort(sorting_workspace<Key, Value>& workspace, std::int64_t n) {
  using namespace detail;
  constexpr std::int64_t few = 64;
  if (n <= few) return insertion_sort(workspace, n);
  if constexpr (std::is_same_v<Value, no_value> && sizeof(Key) >= 4) {
    // Counting takes longer than comparing.
    constexpr std::int64_t fewer_than_counters = 1024;
    if (n <= fewer_than_counters) return std::sort(workspace.keys, workspace.keys + n);
  }

  std::array<std::array<std::int64_t, digit_values<Key>>, digit_count<Key>> places{};
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::size_t d = 0; d < digit_count<Key>; ++d)
      ++places[d][digit_of(workspace.keys[i], d)];
  }
  for (std::size_t d = 0; d < digit_count<Key>; ++d) {
    auto& next = places[d];
    if (next[digit_of(workspace.keys[0], d)] == n) continue;  // all have the same digit
    std::int64_t before = 0;
    for (std::int64_t& one : next)
      before += std::exchange(one, before);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t to = next[digit_of(workspace.keys[i], d)]++;
      workspace.other_keys[to] = workspace.keys[i];
      if constexpr (!std::is_same_v<Value, no_value>)
        workspace.other_values[to] = workspace.values[i];
    }
    workspace.swap();
  }
}

}  // namespace troupe::cpu
