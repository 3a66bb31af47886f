#pragma once

#include "libraries/collective/cpu/direct.hpp"
#include "libraries/collective/cpu/element_ranges.hpp"
#include "libraries/collective/shared/pieces.hpp"
#include "libraries/memory/cpu/copy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe::cpu {

/// Elements of a peer's tensor, where it is.
template <class R>
void copy_pieces(const R& r) {
  if constexpr (requires { r.x; }) {
    for (std::size_t item = 0; item < collective::items_of(r); ++item) {
      const any_tensor* const x = collective::tensors_of(r.x, r.part, item);
      const any_tensor& y = collective::tensors_of(r.y, r.part, item)[r.part.rank];
      collective::pieces_of(
          r, item, [&](std::size_t source, std::int64_t from, std::int64_t to, std::int64_t count) {
            const any_tensor& of = x[source];
            if (!of.packed() || !y.packed()) return copy_elements(of, y);  // whole tensors
            unpack(of.address() + from * size_of(of.type()), y, to, count);
          });
    }
  }
}

/// Each rank stages all of its x, piece by piece, and its peers take what they need of that.
template <class R, class Steps>
bool copy_by_staging(const R& r, const lane_context& lane, Steps& steps,
                     const shared_words& words) {
  std::uint64_t number = 0;
  if constexpr (requires { r.x; }) {
    for (std::size_t item = 0; item < collective::items_of(r); ++item) {
      const any_tensor* const x = collective::tensors_of(r.x, r.part, item);
      const any_tensor& mine = x[r.part.rank];
      const any_tensor& y = collective::tensors_of(r.y, r.part, item)[r.part.rank];
      const std::int64_t total = collective::longest_input(r, item);
      if (total == 0) continue;
      std::int64_t element = 0;
      for (std::int64_t rank = 0; rank < r.part.ranks(); ++rank) {
        if (!x[rank].null()) element = size_of(x[rank].type());
      }
      const std::int64_t longest = words.slot_bytes() / element;
      for (std::int64_t first = 0; first < total; first += longest) {
        const std::uint64_t step = collective::step_of(lane.sequence(), number++);
        const auto stage = [&](std::uint64_t to) {
          const std::int64_t count =
              mine.null() ? 0 : std::clamp<std::int64_t>(mine.count() - first, 0, longest);
          if (count > 0)
            pack(mine, first, count, words.slot(words.rank(), collective::slot_of(to)));
        };
        const auto take = [&](bool) {
          collective::pieces_of(
              r, item,
              [&](std::size_t source, std::int64_t from, std::int64_t to, std::int64_t count) {
                const std::int64_t begin = std::max(from, first);
                const std::int64_t end = std::min(from + count, first + longest);
                if (begin >= end) return;
                unpack(words.slot(source, collective::slot_of(step)) + (begin - first) * element, y,
                       to + begin - from, end - begin);
              });
        };
        if (!steps.staged(step, collective::then::another, stage, take)) return false;
      }
    }
  }
  return number > 0 || steps.direct(collective::step_of(lane.sequence(), 0), [] {});
}

/// Runs a part of a request that copies.
template <class R>
result<void> run_copies(const R& r, lane_context& lane) {
  if (!r.part.through_host) return run_direct(r, lane, [&] { copy_pieces(r); });
  return run_part(r.part, lane, [&](auto& steps, const shared_words& words) {
    return copy_by_staging(r, lane, steps, words);
  });
}

}  // namespace troupe::cpu
