#include "libraries/collective/cuda/launches.hpp"

#include <troupe/collective/distribution.hpp>

#include <cstddef>
#include <vector>

namespace troupe::cuda {
namespace {

result<void> run_broadcast(const collective::broadcast& r, lane& where, late_failure failure) {
  return copy_items(r.x, r.y, r.part, where, failure);
}

// Tensors of all ranks one after the other.
result<void> gather_on(std::int64_t root, const std::vector<any_tensor>& x,
                       const std::vector<any_tensor>& y, const world_part& part, lane& where,
                       late_failure failure) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  return pull(part, x.size() / ranks, where, failure, [&](std::size_t item, auto add) {
    if (part.rank != root) return;
    const any_tensor& to = y[item * ranks + static_cast<std::size_t>(part.rank)];
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const any_tensor& from = x[item * ranks + rank];
      add(from, 0, to, static_cast<std::int64_t>(rank) * from.count(), from.count());
    }
  });
}

result<void> run_all_gather(const collective::all_gather& r, lane& where, late_failure failure) {
  return gather_on(r.part.rank, r.x, r.y, r.part, where, failure);
}

result<void> run_gather(const collective::gather& r, lane& where, late_failure failure) {
  return gather_on(r.root, r.x, r.y, r.part, where, failure);
}

result<void> run_scatter(const collective::scatter& r, lane& where, late_failure failure) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  return pull(r.part, r.y.size() / ranks, where, failure, [&](std::size_t item, auto add) {
    const any_tensor& to = r.y[item * ranks + static_cast<std::size_t>(r.part.rank)];
    add(r.x[item * ranks + static_cast<std::size_t>(r.root)], r.part.rank * to.count(), to, 0,
        to.count());
  });
}

const plugin_operations distributions([](operation_table& table) {
  add<collective::broadcast>(table, run_broadcast);
  add<collective::all_gather>(table, run_all_gather);
  add<collective::gather>(table, run_gather);
  add<collective::scatter>(table, run_scatter);
});

}  // namespace
}  // namespace troupe::cuda
