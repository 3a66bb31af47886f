#include "libraries/primitives/cpu/numbers.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/primitives/sorting.hpp>

#include <algorithm>

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
/// is what another one must be before.
template <class Key>
result<void> find_top(const primitives::top_k& r, lane_context& lane) {
  const std::int64_t k = r.values.extent(0);
  if (k == 0) return {};
  constexpr std::int64_t least_workspace = 1024;
  const std::int64_t n = r.x.extent(0);
  const std::int64_t most = std::min(n, k + std::max(k, least_workspace));
  auto memory = lane.workspace(static_cast<std::size_t>(most) * sizeof(candidate<Key>));
  if (!memory) return std::move(memory).error();
  auto* const best = reinterpret_cast<candidate<Key>*>(memory->data());

  const primitives::sorting_order<Key> order(r.x.type(), !r.smallest);
  const elements<Key> x(r.x);
  std::int64_t count = 0;
  bool has_bound = false;
  Key bound{};
  for (std::int64_t i = 0; i < n; ++i) {
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

  const elements<Key> values(r.values);
  for (std::int64_t i = 0; i < k; ++i)
    values[i] = order.bits_of(best[i].key);
  if (r.indices.null()) return {};
  for (std::int64_t i = 0; i < k; ++i)
    r.indices.data<std::int64_t>()[i * r.indices.stride(0)] = best[i].index;
  return {};
}

result<void> run_top_k(const primitives::top_k& r, lane_context& lane) {
  return with_key(r.x.type(), [&]<class Key>(Key) { return find_top<Key>(r, lane); });
}

const plugin_operations top_k_operations([](operation_table& table) {
  table.add<primitives::top_k>(run_top_k, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
