#include "libraries/collective/cpu/direct.hpp"
#include "libraries/collective/cpu/items.hpp"
#include "libraries/memory/cpu/copy.hpp"

#include <troupe/collective/distribution.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cstddef>
#include <vector>

namespace troupe::cpu {
namespace {

result<void> run_broadcast(const collective::broadcast& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      const any_tensor& from = r.x[first + static_cast<std::size_t>(r.root)];
      if (!r.y[mine].same_view(from)) copy_elements(from, r.y[mine]);
    });
  });
}

void gather_here(const std::vector<any_tensor>& x, std::size_t first, const any_tensor& y,
                 int ranks) {
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const any_tensor& from = x[first + rank];
    copy_some(from, 0, y, static_cast<std::int64_t>(rank) * from.count(), from.count());
  }
}

result<void> run_all_gather(const collective::all_gather& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      gather_here(r.x, first, r.y[mine], r.part.ranks());
    });
  });
}

result<void> run_gather(const collective::gather& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    if (r.part.rank != r.root) return;
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      gather_here(r.x, first, r.y[mine], r.part.ranks());
    });
  });
}

result<void> run_scatter(const collective::scatter& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      const std::int64_t count = r.y[mine].count();
      copy_some(r.x[first + static_cast<std::size_t>(r.root)], r.part.rank * count, r.y[mine], 0,
                count);
    });
  });
}

const plugin_operations distributions([](operation_table& table) {
  table.add<collective::broadcast>(run_broadcast);
  table.add<collective::all_gather>(run_all_gather);
  table.add<collective::gather>(run_gather);
  table.add<collective::scatter>(run_scatter);
});

}  // namespace
}  // namespace troupe::cpu
