#include "libraries/primitives/cpu/sorting_workspace.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/selection.hpp>

#include <array>
#include <numeric>
#include <string>

namespace troupe::cpu {
namespace {

/// An element of 16 bytes.
struct wide_element {
  std::array<std::uint64_t, 2> words;
  friend bool operator==(const wide_element&, const wide_element&) = default;
};

/// Calls `f` with a value that has the type's width and compares by its bits.
template <class F>
auto with_element(dtype type, F f) {
  if (size_of(type) == 16) return f(wide_element{});
  return with_key(type, f);
}

/// Answers the number, and writes it to `count` if that is given.
result<std::int64_t> answer(std::int64_t number, const any_tensor& count, std::int64_t capacity) {
  if (!count.null()) *count.data<std::int64_t>() = number;
  if (number <= capacity) return number;
  return error{.code = errc::capacity_exceeded,
               .message = "needs " + std::to_string(number) +
                          " elements, but the result has room for " + std::to_string(capacity)};
}

/// Whether each element is selected, whichever type the flags have.
class flags_of {
 public:
  explicit flags_of(const any_tensor& flags) noexcept : flags_(flags) {}
  bool operator[](std::int64_t i) const noexcept { return flags_[i] != 0; }

 private:
  elements<const std::uint8_t> flags_;
};

result<std::int64_t> run_select(const primitives::select& r, lane_context&) {
  return with_element(r.x.type(), [&]<class T>(T) {
    const elements<T> x(r.x);
    const elements<T> y(r.y);
    const flags_of selected(r.flags);
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      if (!selected[i]) continue;
      if (number < y.count()) y[number] = x[i];
      ++number;
    }
    return answer(number, r.count, y.count());
  });
}

result<std::int64_t> run_partition(const primitives::partition& r, lane_context&) {
  return with_element(r.x.type(), [&]<class T>(T) {
    const elements<T> x(r.x);
    const elements<T> y(r.y);
    const flags_of selected(r.flags);
    std::int64_t number = 0;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      if (selected[i]) y[number++] = x[i];
    }
    std::int64_t to = number;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      if (!selected[i]) y[to++] = x[i];
    }
    return answer(number, r.count, y.count());
  });
}

/// Finds the runs of `element(i)`, which is at `place(i)` in x.
template <class T, class Element, class Place>
result<std::int64_t> keep_runs(const primitives::unique& r, Element element, Place place) {
  const elements<T> y(r.y);
  std::int64_t number = 0;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < r.x.extent(0); ++i) {
    if (i == 0 || !(element(i) == element(i - 1))) {
      if (number < y.count()) y[number] = element(i);
      ++number;
      begin = i;
    }
    if (!r.counts.null() && number <= y.count())
      elements<std::int64_t>(r.counts)[number - 1] = i + 1 - begin;
    if (!r.inverse.null()) elements<std::int64_t>(r.inverse)[place(i)] = number - 1;
  }
  return answer(number, r.count, y.count());
}

/// With a `Value`, elements take their indices along.
template <class Key, class Value>
result<std::int64_t> keep_sorted(const primitives::unique& r, lane_context& lane) {
  constexpr bool has_indices = !std::is_same_v<Value, no_value>;
  const std::int64_t n = r.x.extent(0);
  const sorting_order<Key> order(r.x.type(), false);
  auto workspace = sorting_workspace_for<Key, Value>(n, lane);
  if (!workspace) return std::move(workspace).error();
  load_keys(elements<Key>(r.x), order, workspace->keys);
  if constexpr (has_indices) std::iota(workspace->values, workspace->values + n, Value{0});
  radix_sort(*workspace, n);
  return keep_runs<Key>(
      r, [&](std::int64_t i) { return order.bits_of(workspace->keys[i]); },
      [&](std::int64_t i) {
        if constexpr (has_indices) return static_cast<std::int64_t>(workspace->values[i]);
        return i;
      });
}

result<std::int64_t> run_unique(const primitives::unique& r, lane_context& lane) {
  if (r.sort) {
    return with_key(r.x.type(), [&]<class Key>(Key) {
      return r.inverse.null() ? keep_sorted<Key, no_value>(r, lane)
                              : keep_sorted<Key, std::uint32_t>(r, lane);
    });
  }
  return with_element(r.x.type(), [&]<class T>(T) {
    const elements<T> x(r.x);
    return keep_runs<T>(r, [&](std::int64_t i) { return x[i]; }, [](std::int64_t i) { return i; });
  });
}

result<std::int64_t> run_run_length(const primitives::run_length& r, lane_context&) {
  return with_element(r.x.type(), [&]<class T>(T) {
    const elements<T> x(r.x);
    const elements<T> values(r.values);
    const elements<std::int64_t> lengths(r.lengths);
    std::int64_t number = 0;
    for (std::int64_t begin = 0; begin < x.count();) {
      std::int64_t end = begin + 1;
      while (end < x.count() && x[end] == x[begin])
        ++end;
      if (number < values.count()) {
        values[number] = x[begin];
        lengths[number] = end - begin;
      }
      ++number;
      begin = end;
    }
    return answer(number, r.count, values.count());
  });
}

const plugin_operations selection_operations([](operation_table& table) {
  table.add<primitives::select>(run_select, effort::by_size);
  table.add<primitives::partition>(run_partition, effort::by_size);
  table.add<primitives::unique>(run_unique, effort::by_size);
  table.add<primitives::run_length>(run_run_length, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
