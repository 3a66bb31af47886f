#pragma once

#include "libraries/collective/cuda/launches.hpp"
#include "libraries/collective/shared/pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe::cuda {

inline bool is_plain(const any_tensor& t) { return t.null() || t.packed(); }

inline const any_tensor& given(const any_tensor* x) {
  while (x->null())
    ++x;
  return *x;
}

/// One step, by a kernel or the copy engine.
inline result<void> pull(const part_launch& of, const pulled_pieces& what, bool may_halve,
                         const part_lane& on) {
  // An engine is a fifth faster than a kernel, and two more launches take some microseconds.
  constexpr std::int64_t least_engine_bytes = std::int64_t{64} << 20;
  const auto is_long = [](const auto& one) { return one.bytes >= least_engine_bytes; };
  const std::span pieces(what.all, static_cast<std::size_t>(what.count));
  if (!may_halve || on.where.is_repeated() || pieces.empty() ||
      !std::ranges::all_of(pieces, is_long)) {
    return enqueue_pull(of, what, on.failure, on.stream());
  }
  TRY(enqueue_start(of, on.failure, on.stream()));
  for (const pulled_pieces::piece& one : pieces) {
    TRY(check(cudaMemcpyAsync(one.to, one.from, static_cast<std::size_t>(one.bytes),
                              cudaMemcpyDefault, on.stream()),
              "cudaMemcpyAsync"));
  }
  return enqueue_finish(of, on.failure, on.stream());
}

/// One step for each launch, where peers can read each other's memory.
template <class R>
result<void> pull_pieces_of(const R& r, const part_lane& on) {
  part_launch of = on.launch_of(r.part);
  const std::size_t items = collective::items_of(r);
  return for_each_launch(items, of.ranks, [&](std::size_t first, std::size_t last) -> result<void> {
    pulled_pieces what;
    if constexpr (requires { r.x; }) {
      for (std::size_t item = first; item < last; ++item) {
        const any_tensor* const x = collective::tensors_of(r.x, r.part, item);
        const any_tensor& y = collective::tensors_of(r.y, r.part, item)[of.rank];
        collective::pieces_of(
            r, item,
            [&](std::size_t source, std::int64_t from, std::int64_t to, std::int64_t count) {
              const std::int64_t element = size_of(y.type());
              const pulled_pieces::piece one{.from = x[source].address() + from * element,
                                             .to = y.address() + to * element,
                                             .bytes = count * element};
              if (count > 0 && one.from != one.to) what.all[what.count++] = one;
            });
      }
    }
    of.is_last = last == items;
    TRY(pull(of, what, r.part.connection == 0, on));
    ++of.step;
    return {};
  });
}

/// Through staging memory.
template <class R>
result<void> stage_pieces_of(const R& r, const part_lane& on) {
  part_launch of = on.launch_of(r.part);
  const std::size_t items = collective::items_of(r);
  return for_each_launch(items, of.ranks, [&](std::size_t first, std::size_t last) -> result<void> {
    staged_pieces what;
    if constexpr (requires { r.x; }) {
      for (std::size_t item = first; item < last; ++item) {
        const any_tensor* const x = collective::tensors_of(r.x, r.part, item);
        const any_tensor& y = collective::tensors_of(r.y, r.part, item)[of.rank];
        const std::int64_t element = size_of(given(x).type());
        const any_tensor& mine = x[of.rank];
        const int number = what.items++;
        what.inputs[number] = {.from = mine.null() ? nullptr : mine.address(),
                               .bytes = mine.null() ? 0 : mine.count() * element,
                               .longest = collective::longest_input(r, item) * element};
        collective::pieces_of(
            r, item,
            [&](std::size_t source, std::int64_t from, std::int64_t to, std::int64_t count) {
              if (count == 0) return;
              what.all[what.count++] = {.to = y.address() + to * element,
                                        .first = from * element,
                                        .bytes = count * element,
                                        .item = number,
                                        .source = static_cast<int>(source)};
            });
      }
    }
    of.is_last = last == items;
    TRY(enqueue_staged(of, what, on.failure, on.stream()));
    for (int item = 0; item < what.items; ++item)
      of.step += staged_steps(of, what.inputs[item].longest, 1, false);
    ++of.step;  // that of a launch without elements
    return {};
  });
}

/// A copy of whole tensors with gaps: a launch for each item.
template <class R>
result<void> copy_views(const R& r, const part_lane& on) {
  part_launch of = on.launch_of(r.part);
  const std::size_t items = collective::items_of(r);
  for (std::size_t item = 0; item < items; ++item) {
    const any_tensor* const x = collective::tensors_of(r.x, r.part, item);
    const any_tensor& y = collective::tensors_of(r.y, r.part, item)[of.rank];
    const any_tensor& any = given(x);
    bool takes = false;
    std::size_t source = 0;
    collective::pieces_of(r, item, [&](std::size_t from, std::int64_t, std::int64_t, std::int64_t) {
      takes = true;
      source = from;
    });
    of.is_last = item + 1 == items;
    if (r.part.through_host) {
      staged_view what;
      what.source = static_cast<int>(source);
      what.count = any.count();
      what.element_bytes = size_of(any.type());
      if (!x[of.rank].null()) what.from = staged_view::view(x[of.rank]);
      if (takes) what.to = staged_view::view(y);
      TRY(enqueue_staged(of, what, on.failure, on.stream()));
      of.step += staged_steps(of, what.count, what.element_bytes, false) + 1;
      continue;
    }
    if (takes) {
      TRY(enqueue_pull(of, elementwise::strided_loops(x[source], y), size_of(y.type()),
                       x[source].address(), y.address(), on.failure, on.stream()));
    } else {
      TRY(enqueue_pull(of, pulled_pieces(), on.failure, on.stream()));
    }
    ++of.step;
  }
  return {};
}

/// Runs a part of a request that copies.
template <class R>
result<void> run_copies(const R& r, const part_lane& on) {
  if constexpr (requires { r.x; }) {
    // All ranks decide alike.
    if (!std::ranges::all_of(r.x, is_plain) || !std::ranges::all_of(r.y, is_plain)) {
      return copy_views(r, on);
    }
  }
  return r.part.through_host ? stage_pieces_of(r, on) : pull_pieces_of(r, on);
}

}  // namespace troupe::cuda
