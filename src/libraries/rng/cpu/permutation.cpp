#include "libraries/rng/cpu/draw.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"

#include <troupe/plugin/static_registration.hpp>
#include <troupe/rng/permutation.hpp>

#include <algorithm>

namespace troupe::cpu {
namespace {

struct keyed {
  std::uint64_t key;
  std::int64_t index;
};

template <class T>
void store(std::span<const keyed> sorted, const any_tensor& to) {
  for (std::size_t i = 0; i < sorted.size(); ++i)
    to.data<T>()[static_cast<std::int64_t>(i) * to.stride(0)] = static_cast<T>(sorted[i].index);
}

result<void> run_permutation(const rng::permutation& r, lane_context& lane) {
  const std::int64_t count = r.to.extent(0);
  auto workspace = lane.workspace(static_cast<std::size_t>(count) * sizeof(keyed));
  if (!workspace) return std::move(workspace).error();
  const std::span all(reinterpret_cast<keyed*>(workspace->data()), static_cast<std::size_t>(count));
  const std::int64_t stride[] = {sizeof(keyed) / sizeof(std::uint64_t)};
  draw(r.from, any_tensor::unowned(workspace->data(), dtype::u64, {count}, stride),
       rng::bits_sampler<std::uint64_t>{});
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].index = static_cast<std::int64_t>(i);
  std::ranges::sort(all, [](const keyed& a, const keyed& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  });
  if (r.to.type() == dtype::i32) {
    store<std::int32_t>(all, r.to);
  } else {
    store<std::int64_t>(all, r.to);
  }
  return {};
}

const plugin_operations permutation_operations([](operation_table& table) {
  table.add<rng::permutation>(run_permutation, effort::by_size);
});

}  // namespace

}  // namespace troupe::cpu
