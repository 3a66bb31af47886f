#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"

// Which operands cuDNN takes as they lie, and what is made for it of the others.
namespace troupe::cuda {
namespace {

constexpr std::int64_t row_unit = 8;  // elements that cuDNN wants rows to be multiples of

std::int64_t rounded_up(std::int64_t extent) noexcept {
  return (extent + row_unit - 1) / row_unit * row_unit;
}

bool is_aligned(const any_tensor& t) noexcept {
  if (alignment_of(t) != well_aligned || t.stride(t.rank() - 1) != 1) return false;
  for (int d = 0; d + 1 < t.rank(); ++d) {
    if (t.extent(d) > 1 && t.stride(d) * size_of(t.type()) % well_aligned != 0) return false;
  }
  return true;
}

std::size_t twin_of(std::size_t number) noexcept {
  using enum attention_case::operand_number;
  switch (number) {
    case q_at:
      return d_q_at;
    case k_at:
      return d_k_at;
    case v_at:
      return d_v_at;
    case o_at:
      return d_o_at;
    case d_q_at:
      return q_at;
    case d_k_at:
      return k_at;
    case d_v_at:
      return v_at;
    default:
      return o_at;
  }
}

}  // namespace

std::size_t attention_case::offsets_of(std::size_t number) noexcept {
  switch (number) {
    case q_at:
    case d_q_at:
      return offsets_q_at;
    case k_at:
    case d_k_at:
      return offsets_k_at;
    case v_at:
    case d_v_at:
      return offsets_v_at;
    default:
      return offsets_o_at;
  }
}

// Sequences with lengths are told to cuDNN as packed ones, whether they are or not: with 9.14 what
// lies beyond the lengths of others came into results. Pages are not affected.
bool attention_case::makes_offsets(std::size_t number) const noexcept {
  const bool packed_q = !operands_[offsets_q_at].null();
  const bool packed_k = !operands_[offsets_k_at].null();
  const bool paged = !operands_[table_k_at].null();
  if (by_tiles_ || !has_lengths() || (paged && !packed_q)) return false;
  if (number == offsets_q_at || number == offsets_o_at) return !packed_q;
  if (number == offsets_k_at || number == offsets_v_at) return !packed_k && !paged;
  return false;
}

// Of a token that a sequence does not have all but the gradient of bias is stored again afterwards.
bool attention_case::fills_lengths(std::size_t number) const noexcept {
  if (!operands_[d_bias_at].null()) return false;
  return (number == lengths_q_at && makes_offsets(offsets_q_at)) ||
         (number == lengths_kv_at && makes_offsets(offsets_k_at));
}

bool attention_case::checks_contents() const noexcept {
  if (!has_lengths()) return false;
  if (!all_attend_) return true;
  for (std::size_t at = lengths_q_at; at <= table_v_at; ++at) {
    const any_tensor& t = operands_[at];
    if ((!t.null() && !t.packed()) || makes_offsets(at) || fills_lengths(at)) return true;
  }
  return !by_tiles_ && (operands_[lengths_q_at].null() || operands_[lengths_kv_at].null());
}

// Offsets of packed sequences count elements of rows as they lie, so these cannot be staged.
bool attention_case::packed_lies_well() const noexcept {
  for (std::size_t at = q_at; at <= d_v_at; ++at) {
    if (has_rows(at) && !operands_[at].null() && !operands_[offsets_of(at)].null() && is_staged(at))
      return false;
  }
  return true;
}

// A query that attends to nothing has the statistic −∞, which the difference to a masked score
// would make a NaN of. A bias of −∞ masks, too.
bool attention_case::patches_statistics() const noexcept {
  return backward_ && (has_lengths() || left_ >= 0 || right_ >= 0 || !operands_[bias_at].null());
}

// True where cuDNN can take it as it is.
bool attention_case::lies_well(std::size_t number) const noexcept {
  const any_tensor& t = operands_[number];
  if (t.null() || number == amax_s_at || number == amax_o_at) return true;
  // Of packed queries cuDNN wrote them as if their batches had no gaps.
  if (number == statistics_at) return t.packed() && !patches_statistics();
  if (number == bias_at || number == d_bias_at) {
    // Of one score for each head cuDNN read as if heads had no gaps.
    if (t.extent(2) == 1 && t.extent(3) == 1) return t.packed();
    // Rows of a multiple of eight are read eight elements at a time, wherever they begin: rows that
    // were 22 elements apart were a misaligned address with cuDNN 9.14 on an H100.
    if (t.extent(3) % row_unit == 0) return is_aligned(t);
    return t.stride(3) == 1 || t.extent(3) == 1;
  }
  if (!has_rows(number)) return true;
  return t.extent(t.rank() - 1) % row_unit == 0 && is_aligned(t);
}

bool attention_case::is_staged(std::size_t number) const noexcept {
  if (!lies_well(number)) return true;
  if (!backward_ || !has_rows(number) || !makes_offsets(offsets_of(number))) return false;
  // An operand and its gradient are found by the same offsets.
  const std::size_t other = twin_of(number);
  return !lies_well(other) || operands_[number].stride(0) != operands_[other].stride(0);
}

shape attention_case::staged_extents(std::size_t number) const {
  const any_tensor& t = operands_[number];
  std::vector<std::int64_t> extents(t.extents().begin(), t.extents().end());
  if (has_rows(number)) extents.back() = rounded_up(extents.back());
  return shape(extents);
}

std::int64_t attention_case::sequence_stride(std::size_t number) const {
  return is_staged(number) ? packed_strides(staged_extents(number).extents())[0]
                           : operands_[number].stride(0);
}

std::int64_t attention_case::alignment_told(std::size_t number) const noexcept {
  return is_staged(number) ? well_aligned : alignment_of(operands_[number]);
}

}  // namespace troupe::cuda
