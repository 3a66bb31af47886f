#include "libraries/tensors/shared/pair.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace troupe::tensors {
namespace {

// More ways than these are not looked at.
constexpr std::size_t most_free_dimensions = 5;
// Up to here copies cost a GPU their launches, not their bytes.
constexpr std::int64_t most_little_bytes = std::int64_t{1} << 20;

template <class List>
std::int64_t count_of(const List& l) noexcept {
  std::int64_t all = 1;
  for (const auto* one : l)
    all *= one->extent;
  return all;
}

template <class List>
std::string modes_of(const List& l) {
  std::string all;
  for (const auto* one : l)
    all += one->modes;
  return all;
}

}  // namespace

bool pair_planner::dimension::is_of(tensor t) const noexcept {
  switch (t) {
    case a:
      return in != columns;
    case b:
      return in != rows;
    case d:
      return in != sums;
  }
  return false;
}

pair_planner::pair_planner(planner& to, const named_place& left, const named_place& right,
                           const named_place* result, mode_set kept)
    : to_(to), given_{left, right, {}}, free_(result == nullptr) {
  if (!free_) given_[d] = *result;
  between_ = to.between(to.type(left));
  for_each_mode(left.set() | right.set(), [&](char mode) {
    const mode_set bit = set_of(mode);
    const bool in_a = (left.set() & bit) != 0;
    const bool in_b = (right.set() & bit) != 0;
    dimension made{.modes = std::string(1, mode),
                   .extent = to.extents_[mode],
                   .strides = {},
                   .in = (kept & bit) == 0 ? sums
                         : in_a && in_b    ? batch
                         : in_a            ? rows
                                           : columns};
    for (const tensor t : {a, b, d}) {
      if (made.is_of(t) && !(t == d && free_)) made.strides[t] = to.stride(given_[t], mode);
    }
    dimensions_.push_back(std::move(made));
  });
  fuse();
}

bool pair_planner::fusible(const dimension& outer, const dimension& inner) const noexcept {
  if (outer.in != inner.in) return false;
  for (const tensor t : {a, b, d}) {
    if (outer.is_of(t) && !(t == d && free_) &&
        outer.strides[t] != inner.strides[t] * inner.extent) {
      return false;
    }
  }
  return true;
}

void pair_planner::fuse() {
  for (std::size_t i = 0; i < dimensions_.size();) {
    const auto inner = std::ranges::find_if(dimensions_, [&](const dimension& one) {
      return &one != &dimensions_[i] && fusible(dimensions_[i], one);
    });
    if (inner == dimensions_.end()) {
      ++i;
      continue;
    }
    dimensions_[i].modes += inner->modes;
    dimensions_[i].extent *= inner->extent;
    dimensions_[i].strides = inner->strides;
    dimensions_.erase(inner);
    i = 0;
  }
}

pair_planner::list pair_planner::sorted(group g, tensor by, std::uint32_t moved) const {
  list made;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    const bool counts = (moved >> i & 1) != 0 || dimensions_[i].in == batch;
    if (g == batch ? counts : !counts && dimensions_[i].in == g) made.push_back(&dimensions_[i]);
  }
  std::ranges::sort(made, [&](const dimension* x, const dimension* y) {
    return std::pair(-x->strides[by], x) < std::pair(-y->strides[by], y);
  });
  return made;
}

bool pair_planner::must_copy(tensor t) const noexcept {
  if (t == d && free_) return false;
  const dtype type = to_.type(given_[t]);
  return to_.between(type) != type;
}

bool pair_planner::fits(const list& first, const list& second, tensor t) const noexcept {
  if (t == d && free_) return true;
  const auto at_one_stride = [&](const list& l) {
    for (std::size_t i = 0; i + 1 < l.size(); ++i) {
      if (l[i]->strides[t] != l[i + 1]->strides[t] * l[i + 1]->extent) return false;
    }
    return l.empty() || l.back()->strides[t] > 0;
  };
  if (!at_one_stride(first) || !at_one_stride(second)) return false;
  if (first.empty() || second.empty()) return true;
  const std::int64_t row = first.back()->strides[t];
  const std::int64_t column = second.back()->strides[t];
  return (row == 1 && column >= count_of(first)) || (column == 1 && row >= count_of(second));
}

pair_planner::way pair_planner::evaluated(std::uint32_t moved, std::uint32_t other_order) const {
  const auto other = [&](int bit) { return (other_order >> bit & 1) != 0; };
  way w{.batch = sorted(batch, free_ ? a : d, moved),
        .rows = sorted(rows, other(0) && !free_ ? d : a, moved),
        .columns = sorted(columns, other(1) && !free_ ? d : b, moved),
        .sums = sorted(sums, other(2) ? b : a, moved)};
  w.copied = {must_copy(a) || !fits(w.rows, w.sums, a), must_copy(b) || !fits(w.sums, w.columns, b),
              must_copy(d) || !fits(w.rows, w.columns, d)};
  w.cost = cost_of(w);
  return w;
}

pair_planner::list pair_planner::packed_order(const way& w, tensor t) const {
  list made;
  for (const dimension* one : w.batch) {
    if (one->is_of(t)) made.push_back(one);
  }
  const list* outer = t == b ? &w.sums : &w.rows;
  const list* inner = t == a ? &w.sums : &w.columns;
  // The modes with the smallest strides stay so.
  const auto least = [&](const list& l) {
    std::int64_t stride = max_elements;
    for (const dimension* one : l)
      stride = std::min(stride, one->strides[t]);
    return stride;
  };
  if (!(t == d && free_) && least(*outer) < least(*inner)) std::swap(outer, inner);
  made.insert(made.end(), outer->begin(), outer->end());
  made.insert(made.end(), inner->begin(), inner->end());
  return made;
}

std::vector<step::loop> pair_planner::loops(
    const list& counted, const std::array<std::vector<std::int64_t>, tensors>& strides) const {
  std::vector<step::loop> made;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    const step::loop one{counted[i]->extent, strides[a][i], strides[b][i], strides[d][i]};
    if (!made.empty()) {
      step::loop& outer = made.back();
      if (outer.a == one.a * one.count && outer.b == one.b * one.count &&
          outer.d == one.d * one.count) {
        outer = {outer.count * one.count, one.a, one.b, one.d};
        continue;
      }
    }
    made.push_back(one);
  }
  // The longest is the last: the one that a single call does.
  if (!made.empty()) {
    const auto longest = std::ranges::max_element(made, {}, &step::loop::count);
    std::rotate(longest, longest + 1, made.end());
  }
  return made;
}

bool pair_planner::is_dot() const noexcept {
  if (dimensions_.size() != 1 || dimensions_[0].in != sums) return false;
  const list all = {&dimensions_[0]};
  return !must_copy(a) && !must_copy(b) && !must_copy(d) && fits({}, all, a) && fits(all, {}, b);
}

double pair_planner::cost_of(const way& w) const {
  const machine& m = to_.machine_;
  double bytes = 0;
  double cost = 0;
  std::array<std::vector<std::int64_t>, tensors> strides;
  for (const tensor t : {a, b, d}) {
    double elements = 1;
    for (const dimension& one : dimensions_) {
      if (one.is_of(t)) elements *= static_cast<double>(one.extent);
    }
    const double size = elements * static_cast<double>(size_of(between_));
    bytes += size;
    if (w.copied[t]) cost += 2 * size / m.bytes_per_ns + m.call_ns;
    const bool is_packed = w.copied[t] || (t == d && free_);
    const list order = is_packed ? packed_order(w, t) : list{};
    for (const dimension* one : w.batch) {
      std::int64_t stride = one->is_of(t) ? one->strides[t] : 0;
      if (is_packed && one->is_of(t)) {
        stride = 1;
        for (auto inner = order.rbegin(); *inner != one; ++inner)
          stride *= (*inner)->extent;
      }
      strides[t].push_back(stride);
    }
  }
  const auto m_count = static_cast<double>(count_of(w.rows));
  const auto n_count = static_cast<double>(count_of(w.columns));
  const double products = m_count * n_count * static_cast<double>(count_of(w.sums)) *
                          static_cast<double>(count_of(w.batch));
  const auto tile = static_cast<double>(m.tile);
  const double used = std::min(1.0, m_count / tile) * std::min(1.0, n_count / tile);
  const bool half = between_ == dtype::f16 || between_ == dtype::bf16;
  const double rate = (half ? m.half_flops_per_ns : m.flops_per_ns) * used;
  cost += std::max(2 * products / rate, bytes / m.bytes_per_ns);
  double calls = 1;
  const auto all = loops(w.batch, strides);
  for (std::size_t i = 0; i + 1 < all.size(); ++i)
    calls *= static_cast<double>(all[i].count);
  return cost + calls * m.call_ns;
}

pair_planner::way pair_planner::cheapest() const {
  way best = evaluated(0, 0);
  const auto is_good = [](const way& w) {
    return std::ranges::none_of(w.copied, std::identity()) && w.batch.size() <= 1;
  };
  if (is_good(best)) return best;
  std::vector<std::size_t> movable;
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    if ((dimensions_[i].in == rows || dimensions_[i].in == columns) &&
        movable.size() < most_free_dimensions) {
      movable.push_back(i);
    }
  }
  // One mode has one order.
  std::uint32_t orders = 0;
  for (const group g : {rows, columns, sums}) {
    if (std::ranges::count(dimensions_, g, &dimension::in) > 1) orders |= 1U << (g - rows);
  }
  for (std::uint32_t chosen = 0; chosen < 1U << movable.size(); ++chosen) {
    std::uint32_t moved = 0;
    for (std::size_t i = 0; i < movable.size(); ++i) {
      if ((chosen >> i & 1) != 0) moved |= 1U << movable[i];
    }
    for (std::uint32_t order = 0; order <= orders; ++order) {
      if ((order & ~orders) != 0) continue;
      way one = evaluated(moved, order);
      if (one.cost < best.cost) best = std::move(one);
    }
  }
  return best;
}

named_place pair_planner::copied(const way& w, tensor t) {
  named_place made = to_.temporary(between_, modes_of(packed_order(w, t)));
  if (t != d) {
    to_.move(given_[t], {.d = made});
    to_.release(given_[t]);
  }
  return made;
}

void pair_planner::multiply(const way& w, const std::array<named_place, tensors>& of,
                            const scalar& alpha, const scalar& beta) {
  const auto stride = [&](tensor t, const list& l) -> std::int64_t {
    return l.empty() ? 1 : to_.stride(of[t], l.back()->modes.back());
  };
  std::array<std::vector<std::int64_t>, tensors> strides;
  for (const tensor t : {a, b, d}) {
    for (const dimension* one : w.batch)
      strides[t].push_back(one->is_of(t) ? stride(t, {one}) : 0);
  }
  step made{
      .what = step::kind::product, .loops = loops(w.batch, strides), .alpha = alpha, .beta = beta};
  step::loop counted{1, 0, 0, 0};
  if (!made.loops.empty()) {
    counted = made.loops.back();
    made.loops.pop_back();
  }
  const auto matrices = [&](tensor t, const list& first, const list& second, std::int64_t step) {
    const std::array extents{counted.count, count_of(first), count_of(second)};
    const std::array steps{step, stride(t, first), stride(t, second)};
    return to_.add(of[t], extents, steps);
  };
  made.inputs = {matrices(a, w.rows, w.sums, counted.a), matrices(b, w.sums, w.columns, counted.b)};
  made.output = matrices(d, w.rows, w.columns, counted.d);
  to_.program_.steps.push_back(std::move(made));
}

bool pair_planner::by_library(const way& w) const {
  const library_use use = to_.machine_.library;
  if (use == library_use::never) return false;
  for (const tensor t : {a, b, d}) {
    if (!(t == d && free_) && !to_.has_own_elements(given_[t])) return false;
  }
  return use == library_use::always || copies_little(w) || keeps_innermost(w);
}

bool pair_planner::copies_little(const way& w) const {
  std::int64_t bytes = 0;
  for (const tensor t : {a, b, d}) {
    std::int64_t elements = 1;
    for (const dimension& one : dimensions_)
      elements *= one.is_of(t) ? one.extent : 1;
    if (w.copied[t]) bytes += std::min(elements, most_little_bytes) * size_of(between_);
  }
  return bytes > 0 && bytes <= most_little_bytes;
}

bool pair_planner::keeps_innermost(const way& w) const {
  if (w.batch.empty() || w.rows.empty() == w.columns.empty()) return false;
  const tensor matrix = w.columns.empty() ? a : b;
  const auto step = [&](const dimension& one) {
    return one.is_of(matrix) ? one.strides[matrix] : max_elements;
  };
  return std::ranges::min_element(dimensions_, {}, step)->in != sums;
}

void pair_planner::write(const target& to) {
  const way w = cheapest();
  std::array<named_place, tensors> of = given_;
  if (by_library(w)) {
    if (to.c && !to.in_place) to_.move(*to.c, {.d = to.d});
    to_.sum(std::span(of).first<2>(), to.d, to.alpha, to.c ? to.beta : scalar(0));
    to_.release(of[a]);
    to_.release(of[b]);
    return;
  }
  for (const tensor t : {a, b, d}) {
    if (w.copied[t]) of[t] = copied(w, t);
  }
  if (w.copied[d]) {
    multiply(w, of, to.alpha, 0);
    to_.move(of[d], {.d = to.d, .c = to.c, .in_place = to.in_place, .alpha = 1, .beta = to.beta});
  } else {
    if (to.c && !to.in_place) to_.move(*to.c, {.d = to.d});
    multiply(w, of, to.alpha, to.c ? to.beta : scalar(0));
  }
  for (const tensor t : {a, b})
    to_.release(of[t]);
  if (w.copied[d]) to_.release(of[d]);
}

named_place pair_planner::write() {
  const way w = cheapest();
  const bool named = by_library(w);
  std::array<named_place, tensors> of = given_;
  for (const tensor t : {a, b}) {
    if (!named && w.copied[t]) of[t] = copied(w, t);
  }
  of[d] = to_.temporary(between_, modes_of(packed_order(w, d)));
  if (named) {
    to_.sum(std::span(of).first<2>(), of[d], 1, 0);
  } else {
    multiply(w, of, 1, 0);
  }
  to_.release(of[a]);
  to_.release(of[b]);
  return of[d];
}

}  // namespace troupe::tensors
