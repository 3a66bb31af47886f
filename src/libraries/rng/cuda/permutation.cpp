#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/cuda/sorting.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"

#include <troupe/rng/permutation.hpp>

namespace troupe::cuda {
namespace {

result<void> run_permutation(const rng::permutation& r, lane& where) {
  constexpr std::size_t alignment = 256;
  const std::int64_t count = r.to.extent(0);
  if (count == 0) return {};
  auto ordering = ordering_bytes(count);
  if (!ordering) return std::move(ordering).error();
  const std::size_t order_bytes = (*ordering + alignment - 1) / alignment * alignment;
  auto room =
      where.workspace(order_bytes + draw_scratch_bytes(r.from, r.to, rng::budget::sort_key));
  if (!room) return std::move(room).error();
  const auto keys = any_tensor::unowned(room->data(), dtype::u64, {count});
  if (auto done = enqueue_draws(r.from, keys, rng::bits_sampler<std::uint64_t>{},
                                room->subspan(order_bytes), where);
      !done) {
    return done;
  }
  return enqueue_order(room->first(*ordering), r.to, where);
}

const plugin_operations operations([](operation_table& table) {
  add<rng::permutation>(table, run_permutation);
});

}  // namespace

}  // namespace troupe::cuda
