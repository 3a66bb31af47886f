#include "libraries/collective/cpu/direct.hpp"
#include "libraries/collective/shared/combine.hpp"
#include "wire/world_algorithms.hpp"

#include <troupe/collective/reduction.hpp>
#include <troupe/plugin/static_registration.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace troupe::cpu {
namespace {

using collective::combination;
using collective::reduction;
using collective::then;

constexpr std::int64_t factor_bytes = 8;

/// One operation on elements of all ranks.
struct combining {
  reduction op{};
  double factor = 1.0;
  std::vector<double> by_rank{};  // in place of it, unless empty

  /// Combines `n` elements of each source, in order.
  void run(dtype type, std::span<const std::byte* const> from, std::byte* to,
           std::int64_t n) const {
    elementwise::for_element_type(type, [&]<class T>(T) { run_as<T>(from, to, n); });
  }

 private:
  template <class T>
  void run_as(std::span<const std::byte* const> from, std::byte* to, std::int64_t n) const {
    using how = combination<T>;
    using sum = typename how::sum;
    constexpr std::int64_t stretch = 512;
    sum sums[stretch];
    const auto ranks = static_cast<std::int64_t>(from.size());
    for (std::int64_t first = 0; first < n; first += stretch) {
      const std::int64_t count = std::min(stretch, n - first);
      for (std::size_t rank = 0; rank < from.size(); ++rank) {
        const double scale = by_rank.empty() ? factor : by_rank[rank];
        const T* const x = reinterpret_cast<const T*>(from[rank]) + first;
        const auto each = [&](auto combine) {
          for (std::int64_t i = 0; i < count; ++i) {
            const sum value = how::scaled(element(x + i), scale);
            sums[i] = rank == 0 ? value : combine(sums[i], value);
          }
        };
        switch (op) {
          case reduction::sum:
          case reduction::avg:
            each(how::added);
            break;
          case reduction::prod:
            each(how::multiplied);
            break;
          case reduction::min:
            each(how::template chosen<false>);
            break;
          case reduction::max:
            each(how::template chosen<true>);
            break;
        }
      }
      T* const y = reinterpret_cast<T*>(to) + first;
      for (std::int64_t i = 0; i < count; ++i) {
        y[i] = op == reduction::avg ? how::averaged(sums[i], ranks) : how::narrow(sums[i]);
      }
    }
  }
  template <class T>
  static typename combination<T>::sum element(const T* at) noexcept {
    if constexpr (std::same_as<T, bool>) {
      // As a byte: memory that was set otherwise may hold more than 0 and 1, which no bool may.
      return *reinterpret_cast<const std::byte*>(at) != std::byte{};
    } else {
      return combination<T>::widen(*at);
    }
  }
};

/// The tensors of one item, by rank.
struct item {
  std::span<const any_tensor> x;
  const any_tensor* y = nullptr;  // this rank's; null if it gets none
  std::int64_t first = 0;         // the element of x whose result is the first of y
};

std::vector<item> items_of(const std::vector<any_tensor>& x, const std::vector<any_tensor>& y,
                           const world_part& part) {
  const auto ranks = static_cast<std::size_t>(part.ranks());
  std::vector<item> all;
  for (std::size_t k = 0; k < x.size(); k += ranks) {
    const any_tensor& mine = y[k + static_cast<std::size_t>(part.rank)];
    all.push_back({.x = std::span(x).subspan(k, ranks), .y = mine.null() ? nullptr : &mine});
  }
  return all;
}

// Combines `count` elements of the result, from the `first` of y on, where the peers' tensors are.
void pull(const item& one, const combining& how, std::int64_t first, std::byte* to,
          std::int64_t count) {
  const std::int64_t element = size_of(one.y->type());
  std::vector<const std::byte*> sources;
  for (const any_tensor& x : one.x)
    sources.push_back(x.address() + (one.first + first) * element);
  how.run(one.y->type(), sources, to, count);
}
void pull(const item& one, const combining& how, std::int64_t first, std::int64_t count) {
  if (one.y == nullptr) return;
  pull(one, how, first, one.y->address() + first * size_of(one.y->type()), count);
}

// A factor in memory: a float or a double.
double factor_at(const std::byte* at, dtype type) {
  if (type == dtype::f64) return *reinterpret_cast<const double*>(at);
  return *reinterpret_cast<const float*>(at);
}

// A rank's factor is input, too: it is staged at the end of each slot.
template <class Steps>
bool staged(Steps& steps, const shared_words& words, std::uint64_t operation,
            std::span<const item> items, combining how, const std::vector<any_tensor>& factors) {
  const std::int64_t usable = words.slot_bytes() - (factors.empty() ? 0 : factor_bytes);
  const auto factor_in = [&](std::size_t rank, std::uint64_t slot) {
    return words.slot(rank, slot) + usable;
  };
  std::uint64_t number = 0;
  for (const item& one : items) {
    const any_tensor& mine = one.x[words.rank()];
    const std::int64_t element = size_of(mine.type());
    const std::int64_t longest = usable / element;
    for (std::int64_t first = 0; first < mine.count(); first += longest) {
      const std::int64_t count = std::min(longest, mine.count() - first);
      const std::uint64_t step = collective::step_of(operation, number++);
      // Another slot for the step after it.
      const auto stage = [&](std::uint64_t of) {
        const std::int64_t from = of == step ? first : first + longest;
        const std::uint64_t slot = collective::slot_of(of);
        const std::int64_t some = std::min(longest, mine.count() - from);
        std::memcpy(words.slot(words.rank(), slot), mine.address() + from * element,
                    static_cast<std::size_t>(some * element));
        if (factors.empty()) return;
        const any_tensor& factor = factors[words.rank()];
        std::memcpy(factor_in(words.rank(), slot), factor.address(),
                    static_cast<std::size_t>(size_of(factor.type())));
      };
      const auto combine = [&](bool stages_next) {
        if (stages_next) stage(step + 1);  // as GPUs do, both at once
        if (one.y == nullptr) return;
        // The elements of this rank's result among those that are staged.
        const std::int64_t begin = std::max(first, one.first);
        const std::int64_t end = std::min(first + count, one.first + one.y->count());
        if (begin >= end) return;
        const std::uint64_t slot = collective::slot_of(step);
        std::vector<const std::byte*> sources;
        how.by_rank.clear();
        for (std::size_t rank = 0; rank < one.x.size(); ++rank) {
          sources.push_back(words.slot(rank, slot) + (begin - first) * element);
          if (factors.empty()) continue;
          how.by_rank.push_back(factor_at(factor_in(rank, slot), factors[rank].type()));
        }
        how.run(mine.type(), sources, one.y->address() + (begin - one.first) * element,
                end - begin);
      };
      const then next = first + longest < mine.count() ? then::more : then::another;
      if (!steps.staged(step, next, stage, combine)) return false;
    }
  }
  // Each part keeps step with its peers, which may still read the slots of the one before.
  return number > 0 ||
         steps.staged(
             collective::step_of(operation, 0), then::another, [](std::uint64_t) {}, [](bool) {});
}

// All ranks decide alike.
template <class R>
wire::algorithm algorithm_of(const R& r) {
  std::int64_t bytes = 0;
  bool is_in_place = false;
  for (std::size_t k = 0; k < r.x.size(); ++k) {
    is_in_place = is_in_place || (!r.y[k].null() && r.y[k].address() == r.x[k].address());
    bytes += r.x[k].count() * size_of(r.x[k].type());
  }
  if (r.part.connection != 0) return wire::algorithm::direct;  // as NCCL's result is verified
  return wire::algorithm_for(false, r.part.ranks(), bytes / r.part.ranks(), is_in_place,
                             r.part.through_host, std::same_as<R, collective::all_reduce>);
}

// For steps that read their peers' tensors.
template <class R>
combining directly(const R& r) {
  combining how{.op = r.op, .factor = r.factor};
  for (const any_tensor& one : r.factors)
    how.by_rank.push_back(factor_at(one.address(), one.type()));
  return how;
}

template <class R>
result<void> run_staged(const R& r, const std::vector<item>& items, lane_context& lane) {
  return run_part(r.part, lane, [&](auto& steps, const shared_words& words) {
    return staged(steps, words, lane.sequence(), items, {.op = r.op, .factor = r.factor},
                  r.factors);
  });
}

// The elements that a rank computes for all, of `count`: the first, and their number.
std::pair<std::int64_t, std::int64_t> slice_of(std::int64_t count, const world_part& part,
                                               std::int64_t rank) {
  const std::int64_t ranks = part.ranks();
  const std::int64_t each = (count + ranks - 1) / ranks;
  const std::int64_t first = std::min(rank * each, count);
  return {first, std::min(each, count - first)};
}

result<void> run_two_shot(const collective::all_reduce& r, const std::vector<item>& items,
                          lane_context& lane) {
  return run_part(r.part, lane, [&](auto& steps, const shared_words&) {
    return steps.two_shot(
        collective::step_of(lane.sequence(), 0),
        [&] {
          const combining how = directly(r);
          for (const item& one : items) {
            const auto [first, count] = slice_of(one.y->count(), r.part, r.part.rank);
            pull(one, how, first, count);
          }
        },
        [&] {
          for (const item& one : items) {
            const std::int64_t element = size_of(one.y->type());
            const any_tensor* const all = one.y - r.part.rank;  // those of all ranks
            for (std::int64_t peer = 0; peer < r.part.ranks(); ++peer) {
              const auto [first, count] = slice_of(one.y->count(), r.part, peer);
              if (peer == r.part.rank || count == 0) continue;
              std::memcpy(one.y->address() + first * element, all[peer].address() + first * element,
                          static_cast<std::size_t>(count * element));
            }
          }
        });
  });
}

// In pieces of which each rank's slice fills a slot.
result<void> run_sliced(const collective::all_reduce& r, const std::vector<item>& items,
                        lane_context& lane) {
  const combining how = directly(r);
  return run_part(r.part, lane, [&](auto& steps, const shared_words& words) {
    std::uint64_t number = 0;
    if (!steps.begun(collective::step_of(lane.sequence(), number++))) return false;
    for (const item& one : items) {
      const std::int64_t element = size_of(one.y->type());
      const std::int64_t longest = words.slot_bytes() / element * r.part.ranks();
      const std::int64_t total = one.y->count();
      for (std::int64_t at = 0; at < total; at += longest) {
        const std::uint64_t step = collective::step_of(lane.sequence(), number++);
        const auto reduce = [&](std::uint64_t of) {
          const std::int64_t piece = of == step ? at : at + longest;
          const auto [first, count] =
              slice_of(std::min(longest, total - piece), r.part, r.part.rank);
          pull(one, how, piece + first, words.slot(words.rank(), collective::slot_of(of)), count);
        };
        const auto gather = [&](bool reduces_next) {
          if (reduces_next) reduce(step + 1);
          for (std::int64_t peer = 0; peer < r.part.ranks(); ++peer) {
            const auto [first, count] = slice_of(std::min(longest, total - at), r.part, peer);
            if (count == 0) continue;
            std::memcpy(one.y->address() + (at + first) * element,
                        words.slot(static_cast<std::size_t>(peer), collective::slot_of(step)),
                        static_cast<std::size_t>(count * element));
          }
        };
        const then next = at + longest < total ? then::more : then::another;
        if (!steps.staged(step, next, reduce, gather)) return false;
      }
    }
    return true;
  });
}

template <class R>
result<void> run_whole(const R& r, lane_context& lane) {
  const std::vector<item> items = items_of(r.x, r.y, r.part);
  switch (algorithm_of(r)) {
    case wire::algorithm::staged:
      return run_staged(r, items, lane);
    case wire::algorithm::two_shot:
      if constexpr (std::same_as<R, collective::all_reduce>) return run_two_shot(r, items, lane);
      break;
    case wire::algorithm::sliced:
      if constexpr (std::same_as<R, collective::all_reduce>) return run_sliced(r, items, lane);
      break;
    case wire::algorithm::direct:
      break;
  }
  return run_direct(r, lane, [&] {
    const combining how = directly(r);
    for (const item& one : items)
      if (one.y != nullptr) pull(one, how, 0, one.y->count());
  });
}

result<void> run_reduce_scatter(const collective::reduce_scatter& r, lane_context& lane) {
  std::vector<item> items = items_of(r.x, r.y, r.part);
  for (item& one : items)
    one.first = r.part.rank * one.y->count();
  if (r.part.through_host) return run_staged(r, items, lane);
  return run_direct(r, lane, [&] {
    const combining how = directly(r);
    for (const item& one : items)
      pull(one, how, 0, one.y->count());
  });
}

const plugin_operations reductions([](operation_table& table) {
  table.add<collective::all_reduce>(run_whole<collective::all_reduce>);
  table.add<collective::reduce>(run_whole<collective::reduce>);
  table.add<collective::reduce_scatter>(run_reduce_scatter);
});

}  // namespace
}  // namespace troupe::cpu
