#pragma once

#include <troupe/dnn/attention.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace troupe::dnn {

/// The sizes of both requests, for any layout of their operands.
struct attention_sizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t key_heads = 0;
  std::int64_t value_heads = 0;
  std::int64_t s_q = 0;   ///< for packed sequences, the bound of their lengths
  std::int64_t s_kv = 0;  ///< the same; for pages, the capacity of a table
  std::int64_t d = 0;
  std::int64_t d_v = 0;

  [[nodiscard]] std::int64_t scores() const noexcept;
};

/// Extents fit in memory, but products of those of different tensors need not.
[[nodiscard]] inline std::int64_t saturated_product(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  const bool overflows = __builtin_mul_overflow(a, b, &product);
  return overflows ? std::numeric_limits<std::int64_t>::max() : product;
}
inline std::int64_t attention_sizes::scores() const noexcept {
  return saturated_product(saturated_product(batch, heads), saturated_product(s_q, s_kv));
}

template <class R>
concept attention_request =
    std::same_as<R, attention_forward> || std::same_as<R, attention_backward>;

template <attention_request R>
[[nodiscard]] bool packs_queries(const R& r) noexcept {
  return !r.packed.offsets_q.null();
}
template <attention_request R>
[[nodiscard]] bool packs_keys(const R& r) noexcept {
  return !r.packed.offsets_k.null();
}
template <attention_request R>
[[nodiscard]] bool has_pages(const R& r) noexcept {
  if constexpr (std::same_as<R, attention_forward>) return !r.pages.k.null();
  return false;
}

/// Precondition: shapes are as described.
template <attention_request R>
[[nodiscard]] attention_sizes sizes_of(const R& r) noexcept {
  attention_sizes s;
  const bool packed_q = packs_queries(r);
  const bool packed_k = packs_keys(r);
  s.batch = packed_q ? r.packed.offsets_q.extent(0) - 1 : r.q.extent(0);
  s.heads = r.q.extent(1);
  s.d = r.q.extent(packed_q ? 2 : 3);
  s.s_q = r.q.extent(packed_q ? 0 : 2);
  if (packed_q && r.packed.longest_q > 0) s.s_q = r.packed.longest_q;
  s.key_heads = r.k.extent(1);
  s.value_heads = r.v.extent(1);
  s.d_v = r.v.extent(packed_k ? 2 : 3);
  s.s_kv = r.k.extent(packed_k ? 0 : 2);
  if (packed_k && r.packed.longest_kv > 0) s.s_kv = r.packed.longest_kv;
  if constexpr (std::same_as<R, attention_forward>) {
    if (has_pages(r)) s.s_kv = saturated_product(r.pages.k.extent(1), r.k.extent(2));
  }
  return s;
}

/// The factor of the scores.
template <attention_request R>
[[nodiscard]] double scale_of(const R& r) noexcept {
  if (r.scale != 0) return r.scale;
  const std::int64_t d = sizes_of(r).d;
  return d == 0 ? 1.0 : 1.0 / std::sqrt(static_cast<double>(d));
}

}  // namespace troupe::dnn
