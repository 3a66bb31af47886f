#pragma once

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/collective/cuda/kernels.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::cuda {

/// Calls `visit(first, last)` for groups of items, each small enough for a launch. Every rank makes
/// the same groups: at least one, because a part without a step would not keep step.
template <class Visit>
[[nodiscard]] result<void> for_each_launch(std::size_t items, int ranks, Visit&& visit) {
  const auto most = static_cast<std::size_t>(most_tensors / ranks);
  std::size_t first = 0;
  do {
    const std::size_t last = std::min(items, first + most);
    TRY(visit(first, last));
    first = last;
  } while (first < items);
  return {};
}

/// One step, by a kernel or the copy engine.
[[nodiscard]] result<void> pull_pieces(const part_launch& of, const pulled_pieces& what,
                                       late_failure failure, lane& where);

/// Enqueues copies. `pieces_of(item, add)` calls `add(from, from_first, to, to_first, count)` for
/// the elements of packed tensors that one item brings this rank.
template <class PiecesOf>
[[nodiscard]] result<void> pull(const world_part& part, std::size_t items, lane& where,
                                late_failure failure, PiecesOf&& pieces_of) {
  part_launch of(part, where);
  return for_each_launch(items, of.ranks, [&](std::size_t first, std::size_t last) -> result<void> {
    pulled_pieces what;
    const auto add = [&](const any_tensor& from, std::int64_t from_first, const any_tensor& to,
                         std::int64_t to_first, std::int64_t count) {
      const std::int64_t element = size_of(to.type());
      const pulled_pieces::piece one{.from = from.address() + from_first * element,
                                     .to = to.address() + to_first * element,
                                     .bytes = count * element};
      if (count > 0 && one.from != one.to) what.all[what.count++] = one;
    };
    for (std::size_t item = first; item < last; ++item)
      pieces_of(item, add);
    of.is_last = last == items;
    TRY(pull_pieces(of, what, failure, where));
    ++of.step;
    return {};
  });
}

/// Enqueues copies, each an item: the x that one rank gives to each y. Views of any strides.
[[nodiscard]] result<void> copy_items(const std::vector<any_tensor>& x,
                                      const std::vector<any_tensor>& y, const world_part& part,
                                      lane& where, late_failure failure);

}  // namespace troupe::cuda
