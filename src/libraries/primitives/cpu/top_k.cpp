#include "libraries/primitives/cpu/numbers.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/sorting.hpp>

#include <algorithm>
#include <span>

namespace troupe::cpu {
namespace {

template <class Key>
struct candidate {
  Key key;
  std::int64_t index;

  friend bool operator<(const candidate& a, const candidate& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

/// Candidates gather until there is no room left; then all but the best k go, and the last of these
/// is what another one must be before. The best k end up sorted at the front.
template <class Key>
void find_top(const elements<Key>& x, const primitives::sorting_order<Key>& order,
              std::span<candidate<Key>> room, std::int64_t k) {
  candidate<Key>* const best = room.data();
  const auto most = static_cast<std::int64_t>(room.size());
  std::int64_t count = 0;
  bool has_bound = false;
  Key bound{};
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const Key key = order.key_of(x[i]);
    // An equal one has a larger index than those that are there.
    if (has_bound && key >= bound) continue;
    best[count++] = {key, i};
    if (count < most) continue;
    std::nth_element(best, best + k - 1, best + count);
    bound = best[k - 1].key;
    has_bound = true;
    count = k;
  }
  std::partial_sort(best, best + k, best + count);
}

template <class Key>
result<void> find_top_of_rows(const primitives::top_k& r, lane_context& lane) {
  const primitives::tensor_rows x(r.x, -1);
  const primitives::tensor_rows values(r.values, -1);
  const primitives::tensor_rows indices(r.indices, -1);
  constexpr std::int64_t least_workspace = 1024;
  const std::int64_t k = values.length;
  const auto most = static_cast<std::size_t>(std::min(x.length, k + std::max(k, least_workspace)));
  auto memory = lane.workspace(most * sizeof(candidate<Key>));
  if (!memory) return std::move(memory).error();
  const std::span best(reinterpret_cast<candidate<Key>*>(memory->data()), most);
  const primitives::sorting_order<Key> order(r.x.type(), !r.smallest);
  for (std::int64_t row = 0; row < x.count(); ++row) {
    find_top(elements<Key>(x, row), order, best, k);
    const elements<Key> to(values, row);
    for (std::int64_t i = 0; i < k; ++i)
      to[i] = order.bits_of(best[static_cast<std::size_t>(i)].key);
    store_indices(indices, row,
                  [&](std::int64_t i) { return best[static_cast<std::size_t>(i)].index; });
  }
  return {};
}

result<void> run_top_k(const primitives::top_k& r, lane_context& lane) {
  if (r.values.empty()) return {};
  return with_key(r.x.type(), [&]<class Key>(Key) { return find_top_of_rows<Key>(r, lane); });
}

const plugin_operations top_k_operations([](operation_table& table) {
  table.add<primitives::top_k>(run_top_k, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
