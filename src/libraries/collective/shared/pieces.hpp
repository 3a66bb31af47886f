#pragma once

#include <troupe/collective/distribution.hpp>
#include <troupe/collective/exchange.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// Requests that copy, as pieces: `pieces_of(r, item, add)` calls `add(source, from, to, count)`
/// for the elements of an item that this rank gets. `source` is the rank that has them, `from` and
/// `to` are the first of them in its x and in this rank's y, in row-major order.
namespace troupe::collective {

/// The tensors of one item, by rank.
[[nodiscard]] inline const any_tensor* tensors_of(const std::vector<any_tensor>& all,
                                                  const world_part& part,
                                                  std::size_t item) noexcept {
  return all.data() + item * static_cast<std::size_t>(part.ranks());
}
[[nodiscard]] inline std::size_t rank_of(const world_part& part) noexcept {
  return static_cast<std::size_t>(part.rank);
}
template <class R>
[[nodiscard]] std::size_t items_of(const R& r) noexcept {
  if constexpr (requires { r.y; }) {
    return r.y.size() / static_cast<std::size_t>(r.part.ranks());
  } else {
    return 0;
  }
}

template <class Add>
void pieces_of(const broadcast& r, std::size_t item, Add&& add) {
  const any_tensor& x = tensors_of(r.x, r.part, item)[r.root];
  if (!tensors_of(r.y, r.part, item)[r.part.rank].same_view(x)) {
    add(static_cast<std::size_t>(r.root), 0, 0, x.count());
  }
}

/// Tensors of all ranks one after the other.
template <class Add>
void gathered_pieces(const any_tensor* x, const world_part& part, Add&& add) {
  for (std::int64_t peer = 0; peer < part.ranks(); ++peer)
    add(static_cast<std::size_t>(peer), 0, peer * x[peer].count(), x[peer].count());
}
template <class Add>
void pieces_of(const all_gather& r, std::size_t item, Add&& add) {
  gathered_pieces(tensors_of(r.x, r.part, item), r.part, add);
}
template <class Add>
void pieces_of(const gather& r, std::size_t item, Add&& add) {
  if (r.part.rank == r.root) gathered_pieces(tensors_of(r.x, r.part, item), r.part, add);
}

template <class Add>
void pieces_of(const scatter& r, std::size_t item, Add&& add) {
  const std::int64_t count = tensors_of(r.y, r.part, item)[r.part.rank].count();
  add(static_cast<std::size_t>(r.root), r.part.rank * count, 0, count);
}

template <class Add>
void pieces_of(const all_to_all& r, std::size_t item, Add&& add) {
  const std::int64_t count = tensors_of(r.y, r.part, item)[r.part.rank].count() / r.part.ranks();
  for (std::int64_t peer = 0; peer < r.part.ranks(); ++peer)
    add(static_cast<std::size_t>(peer), r.part.rank * count, peer * count, count);
}

template <class Add>
void pieces_of(const all_to_allv& r, std::size_t, Add&& add) {
  const auto ranks = static_cast<std::size_t>(r.part.ranks());
  const std::size_t mine = rank_of(r.part);
  std::int64_t to = 0;
  for (std::size_t peer = 0; peer < ranks; ++peer) {
    const std::int64_t* const sent = r.counts.data() + peer * ranks;
    std::int64_t from = 0;
    for (std::size_t before = 0; before < mine; ++before)
      from += sent[before];
    add(peer, from, to, sent[mine]);
    to += sent[mine];
  }
}

template <class Add>
void pieces_of(const exchange& r, std::size_t item, Add&& add) {
  const any_tensor* const x = tensors_of(r.x, r.part, item);
  const any_tensor& y = tensors_of(r.y, r.part, item)[r.part.rank];
  if (y.null()) return;
  std::size_t source = 0;
  while (x[source].null())
    ++source;
  add(source, 0, 0, y.count());
}

template <class Add>
void pieces_of(const barrier&, std::size_t, Add&&) {}

/// The most elements that any rank gives to an item: as many pass through staging memory.
template <class R>
[[nodiscard]] std::int64_t longest_input(const R& r, std::size_t item) noexcept {
  std::int64_t longest = 0;
  if constexpr (requires { r.x; }) {
    const any_tensor* const x = tensors_of(r.x, r.part, item);
    for (std::int64_t rank = 0; rank < r.part.ranks(); ++rank) {
      if (!x[rank].null() && x[rank].count() > longest) longest = x[rank].count();
    }
  }
  return longest;
}

}  // namespace troupe::collective
