#include "libraries/dnn/cuda/attention/checked_contents.hpp"

#include <algorithm>

namespace troupe::cuda {
namespace {

using number = attention_case::operand_number;

constexpr std::size_t offsets_at[] = {number::offsets_q_at, number::offsets_o_at,
                                      number::offsets_k_at, number::offsets_v_at};
constexpr std::size_t tables_at[] = {number::table_k_at, number::table_v_at};

/// The tensors whose sequences begin at these offsets.
std::array<std::size_t, 2> found_by(std::size_t offsets) noexcept {
  switch (offsets) {
    case number::offsets_q_at:
      return {number::q_at, number::d_q_at};
    case number::offsets_o_at:
      return {number::o_at, number::d_o_at};
    case number::offsets_k_at:
      return {number::k_at, number::d_k_at};
    default:
      return {number::v_at, number::d_v_at};
  }
}

std::int64_t bytes_of_lengths(const attention_case& what) noexcept {
  return (what.sizes().batch * size_of(dtype::i32) + 15) / 16 * 16;
}
std::int64_t bytes_of_offsets(const attention_case& what) noexcept {
  return ((what.sizes().batch + 1) * size_of(dtype::i64) + 15) / 16 * 16;
}
std::int64_t bytes_of_table(const attention_case& what, std::size_t at) noexcept {
  const any_tensor& t = what.operand(at);
  return t.null() ? 0 : (t.count() * size_of(dtype::i32) + 15) / 16 * 16;
}

}  // namespace

checked_contents::checked_contents(call_frame& c, const attention_case& what)
    : step(c), what_(what) {
  if (!what.checks_contents()) {
    for (const std::size_t at :
         {number::lengths_q_at, number::lengths_kv_at, number::offsets_q_at, number::offsets_o_at,
          number::offsets_k_at, number::offsets_v_at, number::table_k_at, number::table_v_at})
      addresses_[at] = what.operand(at).address();
    all_.of_q.checked = reinterpret_cast<std::int32_t*>(addresses_[number::lengths_q_at]);
    all_.of_kv.checked = reinterpret_cast<std::int32_t*>(addresses_[number::lengths_kv_at]);
    return;
  }
  memory_ =
      c.bytes(5 * bytes_of_lengths(what) + 4 * bytes_of_offsets(what) +
              bytes_of_table(what, number::table_k_at) + bytes_of_table(what, number::table_v_at));
}

result<void> checked_contents::before(lane& where) {
  if (!what_.checks_contents()) return {};
  std::byte* free = memory_;
  const auto take = [&](std::int64_t bytes) {
    std::byte* const taken = free;
    free += bytes;
    return taken;
  };
  all_.batch = what_.sizes().batch;
  all_.wrong = reinterpret_cast<std::int32_t*>(take(bytes_of_lengths(what_)));
  const auto add_lengths = [&](std::size_t at, std::int64_t most,
                               contents::sequence_lengths& lengths) {
    const any_tensor& t = what_.operand(at);
    lengths.most = most;
    if (!t.null()) {
      lengths.given = t.data<std::int32_t>();
      lengths.step = t.stride(0);
    }
    addresses_[at] = take(bytes_of_lengths(what_));
    lengths.checked = reinterpret_cast<std::int32_t*>(addresses_[at]);
    if (!what_.fills_lengths(at)) return;
    addresses_[at] = take(bytes_of_lengths(what_));
    lengths.filled = reinterpret_cast<std::int32_t*>(addresses_[at]);
  };
  add_lengths(number::lengths_q_at, what_.sizes().s_q, all_.of_q);
  add_lengths(number::lengths_kv_at, what_.sizes().s_kv, all_.of_kv);
  for (std::size_t i = 0; i < std::size(offsets_at); ++i) {
    const std::size_t at = offsets_at[i];
    const any_tensor& t = what_.operand(at);
    if (t.null() && !what_.makes_offsets(at)) continue;
    contents::sequence_offsets& offsets = all_.offsets[i];
    const auto [tensor, twin] = found_by(at);
    if (t.null()) {
      offsets.row_step = what_.sequence_stride(tensor);
    } else {
      offsets.given = t.data<std::int64_t>();
      offsets.step = t.stride(0);
      offsets.tokens = what_.operand(tensor).extent(0);
      offsets.row_step = what_.operand(tensor).stride(0);
      if (const any_tensor& other = what_.operand(twin); !other.null())
        offsets.row_step = std::min(offsets.row_step, other.stride(0));
    }
    offsets.of_keys = at == number::offsets_k_at || at == number::offsets_v_at;
    addresses_[at] = take(bytes_of_offsets(what_));
    offsets.checked = reinterpret_cast<std::int64_t*>(addresses_[at]);
  }
  for (std::size_t i = 0; i < std::size(tables_at); ++i) {
    const any_tensor& t = what_.operand(tables_at[i]);
    if (t.null()) continue;
    const any_tensor& rows = what_.operand(i == 0 ? number::k_at : number::v_at);
    addresses_[tables_at[i]] = take(bytes_of_table(what_, tables_at[i]));
    all_.tables[i] = {.given = t.data<std::int32_t>(),
                      .steps = {t.stride(0), t.stride(1)},
                      .pages = rows.extent(0),
                      .page_size = rows.extent(2),
                      .per_sequence = t.extent(1),
                      .checked = reinterpret_cast<std::int32_t*>(addresses_[tables_at[i]])};
  }
  return all_.batch == 0 ? result<void>() : contents::enqueue_check(all_, where.stream());
}

}  // namespace troupe::cuda
