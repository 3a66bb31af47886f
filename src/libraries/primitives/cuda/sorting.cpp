#include "backend/cuda/context/executor.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/packing.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/segmented_sort.hpp"
#include "libraries/primitives/cuda/sort/top_k.hpp"

#include <troupe/primitives/sorting.hpp>

#include <limits>

namespace troupe::cuda {
namespace {

using primitives::sorting_order;
using primitives::with_key;

bool packed(const any_tensor& t) noexcept { return t.stride(0) == 1; }

/// Where CUB reads keys and writes them sorted: the operands themselves where they are packed, else
/// parts of the workspace.
template <class Key>
class key_places {
 public:
  key_places(const any_tensor& from, const any_tensor& to, workspace_parts& parts)
      : from_(from),
        to_(to),
        reads_operand_(packed(from) && !to.same_view(from)),
        writes_operand_(packed(to)),
        keys_(parts.add<Key>(reads_operand_ ? 0 : from.extent(0))),
        sorted_(parts.add<Key>(writes_operand_ ? 0 : from.extent(0))) {}

  [[nodiscard]] const Key* keys(const workspace_parts& parts) const {
    return reads_operand_ ? reinterpret_cast<const Key*>(from_.address()) : parts.at<Key>(keys_);
  }
  [[nodiscard]] Key* sorted(const workspace_parts& parts) const {
    return writes_operand_ ? reinterpret_cast<Key*>(to_.address()) : parts.at<Key>(sorted_);
  }
  [[nodiscard]] result<void> enqueue_before(const workspace_parts& parts, const lane& where) const {
    if (reads_operand_) return {};
    return enqueue_pack(from_, parts.at<std::byte>(keys_), where);
  }
  [[nodiscard]] result<void> enqueue_after(const workspace_parts& parts, const lane& where) const {
    if (writes_operand_) return {};
    return enqueue_unpack(parts.at<std::byte>(sorted_), to_, where);
  }

 private:
  const any_tensor& from_;
  const any_tensor& to_;
  bool reads_operand_;
  bool writes_operand_;
  std::size_t keys_;
  std::size_t sorted_;
};

result<void> run_sort(const primitives::sort& r, lane& where) {
  if (r.x.empty()) return {};
  return with_key(r.x.type(), [&]<class Key>(Key) -> result<void> {
    radix_sort<Key, no_value> sort{.order = sorting_order<Key>(r.x.type(), r.descending),
                                   .count = r.x.extent(0)};
    auto bytes = sort.temporary_bytes();
    if (!bytes) return std::move(bytes).error();
    workspace_parts parts;
    const key_places<Key> places(r.x, r.y, parts);
    const auto temporary = parts.add<std::byte>(static_cast<std::int64_t>(*bytes));
    if (auto done = parts.take(where); !done) return done;
    if (auto done = places.enqueue_before(parts, where); !done) return done;
    sort.keys = places.keys(parts);
    sort.sorted_keys = places.sorted(parts);
    if (auto done = sort.enqueue(parts.at<void>(temporary), *bytes, where); !done) return done;
    return places.enqueue_after(parts, where);
  });
}

/// Values of CUB's own widths go along with their keys.
template <class Key, class Value>
result<void> sort_with_values(const primitives::sort_pairs& r, lane& where) {
  const std::int64_t count = r.keys.extent(0);
  radix_sort<Key, Value> sort{.order = sorting_order<Key>(r.keys.type(), r.descending),
                              .count = count};
  auto bytes = sort.temporary_bytes();
  if (!bytes) return std::move(bytes).error();
  workspace_parts parts;
  const key_places<Key> places(r.keys, r.sorted_keys, parts);
  const bool reads_operand = packed(r.values) && !r.sorted_values.same_view(r.values);
  const bool writes_operand = packed(r.sorted_values);
  const auto values = parts.add<Value>(reads_operand ? 0 : count);
  const auto sorted_values = parts.add<Value>(writes_operand ? 0 : count);
  const auto temporary = parts.add<std::byte>(static_cast<std::int64_t>(*bytes));
  if (auto done = parts.take(where); !done) return done;

  if (auto done = places.enqueue_before(parts, where); !done) return done;
  sort.values = reinterpret_cast<const Value*>(r.values.address());
  if (!reads_operand) {
    auto packed_already = enqueue_pack(r.values, parts.at<std::byte>(values), where);
    if (!packed_already) return packed_already;
    sort.values = parts.at<Value>(values);
  }
  sort.keys = places.keys(parts);
  sort.sorted_keys = places.sorted(parts);
  sort.sorted_values = writes_operand ? reinterpret_cast<Value*>(r.sorted_values.address())
                                      : parts.at<Value>(sorted_values);
  if (auto done = sort.enqueue(parts.at<void>(temporary), *bytes, where); !done) return done;
  if (auto done = places.enqueue_after(parts, where); !done) return done;
  if (writes_operand) return {};
  return enqueue_unpack(parts.at<std::byte>(sorted_values), r.sorted_values, where);
}

/// Of values of other widths, their indices go along.
template <class Key, class Index>
result<void> sort_with_indices(const primitives::sort_pairs& r, lane& where) {
  const std::int64_t count = r.keys.extent(0);
  radix_sort<Key, Index> sort{.order = sorting_order<Key>(r.keys.type(), r.descending),
                              .count = count};
  auto bytes = sort.temporary_bytes();
  if (!bytes) return std::move(bytes).error();
  workspace_parts parts;
  const key_places<Key> places(r.keys, r.sorted_keys, parts);
  const bool in_place = r.sorted_values.same_view(r.values);
  const auto indices = parts.add<Index>(count);
  const auto sorted_indices = parts.add<Index>(count);
  const auto copy = parts.add<std::byte>(in_place ? count * size_of(r.values.type()) : 0);
  const auto temporary = parts.add<std::byte>(static_cast<std::int64_t>(*bytes));
  if (auto done = parts.take(where); !done) return done;

  if (auto done = places.enqueue_before(parts, where); !done) return done;
  if (auto done = enqueue_numbers(parts.at<Index>(indices), count, where); !done) return done;
  sort.keys = places.keys(parts);
  sort.values = parts.at<Index>(indices);
  sort.sorted_keys = places.sorted(parts);
  sort.sorted_values = parts.at<Index>(sorted_indices);
  if (auto done = sort.enqueue(parts.at<void>(temporary), *bytes, where); !done) return done;
  if (auto done = places.enqueue_after(parts, where); !done) return done;
  any_tensor from = r.values;
  if (in_place) {
    auto* const copied = parts.at<std::byte>(copy);
    if (auto done = enqueue_pack(r.values, copied, where); !done) return done;
    from = any_tensor::unowned(copied, r.values.type(), {count});
  }
  return enqueue_gather(from, parts.at<const Index>(sorted_indices), r.sorted_values, where);
}

result<void> run_sort_pairs(const primitives::sort_pairs& r, lane& where) {
  if (r.keys.empty()) return {};
  return with_key(r.keys.type(), [&]<class Key>(Key) {
    switch (size_of(r.values.type())) {
      case 4:
        return sort_with_values<Key, std::uint32_t>(r, where);
      case 8:
        return sort_with_values<Key, std::uint64_t>(r, where);
      default:
        return r.keys.extent(0) <= std::numeric_limits<std::uint32_t>::max()
                   ? sort_with_indices<Key, std::uint32_t>(r, where)
                   : sort_with_indices<Key, std::uint64_t>(r, where);
    }
  });
}

const plugin_operations operations([](operation_table& table) {
  add<primitives::sort>(table, run_sort);
  add<primitives::sort_pairs>(table, run_sort_pairs);
  add<primitives::segmented_sort>(table, enqueue_segmented_sort);
  add<primitives::top_k>(table, enqueue_top_k);
});

}  // namespace

}  // namespace troupe::cuda
