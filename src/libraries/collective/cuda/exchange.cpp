#include "libraries/collective/cuda/launches.hpp"

#include <troupe/collective/exchange.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cuda {
namespace {

result<void> run_all_to_all(const collective::all_to_all& r, lane& where, late_failure failure) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  return pull(r.part, r.y.size() / ranks, where, failure, [&](std::size_t item, auto add) {
    const any_tensor& to = r.y[item * ranks + static_cast<std::size_t>(r.part.rank)];
    const std::int64_t count = to.count() / r.part.ranks();
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      add(r.x[item * ranks + peer], r.part.rank * count, to,
          static_cast<std::int64_t>(peer) * count, count);
    }
  });
}

result<void> run_all_to_allv(const collective::all_to_allv& r, lane& where, late_failure failure) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  const auto mine = static_cast<std::size_t>(r.part.rank);
  return pull(r.part, 1, where, failure, [&](std::size_t, auto add) {
    std::int64_t to = 0;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const std::int64_t* const sent = r.counts.data() + peer * ranks;
      std::int64_t from = 0;
      for (std::size_t before = 0; before < mine; ++before)
        from += sent[before];
      add(r.x[peer], from, r.y[mine], to, sent[mine]);
      to += sent[mine];
    }
  });
}

result<void> run_exchange(const collective::exchange& r, lane& where, late_failure failure) {
  return copy_items(r.x, r.y, r.part, where, failure);
}

result<void> run_barrier(const collective::barrier& r, lane& where, late_failure failure) {
  return pull(r.part, 0, where, failure, [](std::size_t, auto) {});
}

const plugin_operations exchanges([](operation_table& table) {
  add<collective::all_to_all>(table, run_all_to_all);
  add<collective::all_to_allv>(table, run_all_to_allv);
  add<collective::exchange>(table, run_exchange);
  add<collective::barrier>(table, run_barrier);
});

}  // namespace
}  // namespace troupe::cuda
