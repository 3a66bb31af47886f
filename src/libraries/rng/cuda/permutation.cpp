#include "backend/cuda/context/executor.hpp"
#include "libraries/rng/cuda/draws.hpp"
#include "libraries/rng/cuda/sorting.hpp"
#include "libraries/rng/shared/bits_samplers.hpp"

#include <troupe/rng/permutation.hpp>

namespace troupe::cuda {
namespace {

result<void> run_permutation(const rng::permutation& r, lane& where) {
  const std::int64_t count = r.to.extent(0);
  if (count == 0) return {};
  call_frame c(where);
  const ordering order = TRY(ordering::in(c, count));
  c.share(draw_scratch_bytes(r.from, r.to, rng::budget::sort_key));
  TRY(c.begin());
  const auto keys =
      any_tensor::unowned(reinterpret_cast<std::byte*>(order.keys.get()), dtype::u64, {count});
  TRY(enqueue_draws(r.from, keys, rng::bits_sampler<std::uint64_t>{}, c.shared(), where));
  return order.enqueue(r.to, c.shared(), where);
}

const plugin_operations permutation_operations([](operation_table& table) {
  add<rng::permutation>(table, run_permutation);
});

}  // namespace

}  // namespace troupe::cuda
