#include "libraries/collective/cpu/direct.hpp"
#include "libraries/memory/cpu/copy.hpp"

#include <troupe/collective/distribution.hpp>
#include <troupe/collective/exchange.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cstring>
#include <vector>

namespace troupe::cpu {
namespace {

/// Copies `count` elements between packed tensors of one type.
void copy_some(const any_tensor& from, std::int64_t from_first, const any_tensor& to,
               std::int64_t to_first, std::int64_t count) {
  const std::int64_t element = size_of(to.type());
  if (count == 0) return;
  std::memcpy(to.address() + to_first * element, from.address() + from_first * element,
              static_cast<std::size_t>(count * element));
}

/// Calls `visit` with the index of each item's first tensor, and this rank's.
template <class Visit>
void for_each_item(const std::vector<any_tensor>& of, const world_part& part, Visit&& visit) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  for (std::size_t first = 0; first < of.size(); first += ranks)
    visit(first, first + static_cast<std::size_t>(part.rank));
}

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

result<void> run_all_to_all(const collective::all_to_all& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      const std::int64_t count = r.y[mine].count() / r.part.ranks();
      for (std::size_t peer = 0; peer < static_cast<std::size_t>(r.part.ranks()); ++peer) {
        copy_some(r.x[first + peer], r.part.rank * count, r.y[mine],
                  static_cast<std::int64_t>(peer) * count, count);
      }
    });
  });
}

result<void> run_all_to_allv(const collective::all_to_allv& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    const auto ranks = static_cast<std::size_t>(r.part.ranks());
    const auto mine = static_cast<std::size_t>(r.part.rank);
    std::int64_t to = 0;
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      const std::int64_t* const sent = r.counts.data() + peer * ranks;
      std::int64_t from = 0;
      for (std::size_t before = 0; before < mine; ++before)
        from += sent[before];
      copy_some(r.x[peer], from, r.y[mine], to, sent[mine]);
      to += sent[mine];
    }
  });
}

result<void> run_barrier(const collective::barrier& r, lane_context& lane) {
  return run_direct(r.part, lane, [] {});
}

const plugin_operations distributions([](operation_table& table) {
  table.add<collective::broadcast>(run_broadcast);
  table.add<collective::all_gather>(run_all_gather);
  table.add<collective::gather>(run_gather);
  table.add<collective::scatter>(run_scatter);
  table.add<collective::all_to_all>(run_all_to_all);
  table.add<collective::all_to_allv>(run_all_to_allv);
  table.add<collective::barrier>(run_barrier);
});

}  // namespace
}  // namespace troupe::cpu
