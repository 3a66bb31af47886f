#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/executor.hpp"
#include "libraries/primitives/cuda/cub_call.hpp"
#include "libraries/primitives/cuda/packing.hpp"
#include "libraries/primitives/cuda/sort/radix_sort.hpp"
#include "libraries/primitives/cuda/sort/row_search.hpp"
#include "libraries/primitives/cuda/sort/segmented_sort.hpp"
#include "libraries/primitives/cuda/sort/top_k.hpp"

#include <troupe/primitives/sorting.hpp>

#include <limits>

namespace troupe::cuda {
namespace {

using primitives::sorting_order;
using primitives::with_key;

bool packed(const any_tensor& t) noexcept { return t.stride(0) == 1; }

template <class T>
T* elements_of(const packed_operand& t) noexcept {
  return reinterpret_cast<T*>(t->address());
}

/// The memory that CUB reads and writes: the operands themselves if they are packed, otherwise
/// parts of the workspace.
struct sorted_pair {
  packed_operand before;
  packed_operand after;

  sorted_pair(call_frame& c, const any_tensor& from, const any_tensor& to)
      : before(c, from, use::reads, packed(from) && !to.same_view(from), enqueue_copy),
        after(c, to, use::writes, packed(to), enqueue_copy) {}
};

result<void> sort_vector(const any_tensor& x, const any_tensor& y, bool descending, lane& where) {
  return with_key(x.type(), [&]<class Key>(Key) -> result<void> {
    radix_sort<Key, no_value> sort{.order = sorting_order<Key>(x.type(), descending),
                                   .count = x.extent(0)};
    const std::size_t bytes = TRY(sort.temporary_bytes());
    call_frame c(where);
    sorted_pair keys(c, x, y);
    c.share(bytes);
    TRY(c.begin());
    sort.keys = elements_of<const Key>(keys.before);
    sort.sorted_keys = elements_of<Key>(keys.after);
    TRY(sort.enqueue(c.shared(), bytes, where));
    return c.end();
  });
}

result<void> run_sort(const primitives::sort& r, lane& where) {
  if (r.x.empty()) return {};
  const row_search rows{.x = {r.x, r.axis},
                        .found = {r.y, r.axis},
                        .indices = {r.indices, r.axis},
                        .descending = r.descending};
  if (fits_blocks(rows)) return enqueue_by_blocks(rows, where);
  if (rows.x.count() > 1 || !r.indices.null()) return enqueue_by_sort(rows, where);
  return sort_vector(rows.x.view(0), rows.found.view(0), r.descending, where);
}

/// Sorts values of 4 and 8 bytes together with their keys.
template <class Key, class Value>
result<void> sort_with_values(const primitives::sort_pairs& r, lane& where) {
  radix_sort<Key, Value> sort{.order = sorting_order<Key>(r.keys.type(), r.descending),
                              .count = r.keys.extent(0)};
  const std::size_t bytes = TRY(sort.temporary_bytes());
  call_frame c(where);
  sorted_pair keys(c, r.keys, r.sorted_keys);
  sorted_pair values(c, r.values, r.sorted_values);
  c.share(bytes);
  TRY(c.begin());
  sort.keys = elements_of<const Key>(keys.before);
  sort.values = elements_of<const Value>(values.before);
  sort.sorted_keys = elements_of<Key>(keys.after);
  sort.sorted_values = elements_of<Value>(values.after);
  TRY(sort.enqueue(c.shared(), bytes, where));
  return c.end();
}

/// Sorts the indices of values of other widths together with the keys.
template <class Key, class Index>
result<void> sort_with_indices(const primitives::sort_pairs& r, lane& where) {
  const std::int64_t count = r.keys.extent(0);
  radix_sort<Key, Index> sort{.order = sorting_order<Key>(r.keys.type(), r.descending),
                              .count = count};
  const std::size_t bytes = TRY(sort.temporary_bytes());
  call_frame c(where);
  sorted_pair keys(c, r.keys, r.sorted_keys);
  packed_operand values(c, r.values, use::reads, !r.sorted_values.same_view(r.values),
                        enqueue_copy);
  const auto indices = c.array<Index>(count);
  const auto sorted_indices = c.array<Index>(count);
  c.share(bytes);
  TRY(c.begin());
  TRY(enqueue_numbers(indices.get(), count, where));
  sort.keys = elements_of<const Key>(keys.before);
  sort.values = indices;
  sort.sorted_keys = elements_of<Key>(keys.after);
  sort.sorted_values = sorted_indices;
  TRY(sort.enqueue(c.shared(), bytes, where));
  TRY(enqueue_gather<Index>(*values, sorted_indices, r.sorted_values, where));
  return c.end();
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

const plugin_operations sorting_operations([](operation_table& table) {
  add<primitives::sort>(table, run_sort);
  add<primitives::sort_pairs>(table, run_sort_pairs);
  add<primitives::segmented_sort>(table, enqueue_segmented_sort);
  add<primitives::top_k>(table, enqueue_top_k);
});

}  // namespace

}  // namespace troupe::cuda
