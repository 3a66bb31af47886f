#include "libraries/collective/cpu/direct.hpp"
#include "libraries/collective/cpu/items.hpp"
#include "libraries/memory/cpu/copy.hpp"

#include <troupe/collective/exchange.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <cstddef>
#include <cstdint>

namespace troupe::cpu {
namespace {

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

result<void> run_exchange(const collective::exchange& r, lane_context& lane) {
  return run_direct(r.part, lane, [&] {
    for_each_item(r.y, r.part, [&](std::size_t first, std::size_t mine) {
      if (r.y[mine].null()) return;
      std::size_t from = first;
      while (r.x[from].null())
        ++from;
      copy_elements(r.x[from], r.y[mine]);
    });
  });
}

result<void> run_barrier(const collective::barrier& r, lane_context& lane) {
  return run_direct(r.part, lane, [] {});
}

const plugin_operations exchanges([](operation_table& table) {
  table.add<collective::all_to_all>(run_all_to_all);
  table.add<collective::all_to_allv>(run_all_to_allv);
  table.add<collective::exchange>(run_exchange);
  table.add<collective::barrier>(run_barrier);
});

}  // namespace
}  // namespace troupe::cpu
