#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/limits.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"

// Decides which operands cuDNN accepts as they are, and how the others are staged.
namespace troupe::cuda {
namespace {

using limits::cudnn::attention_row_unit;

std::int64_t rounded_up(std::int64_t extent) noexcept {
  return (extent + attention_row_unit - 1) / attention_row_unit * attention_row_unit;
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

bool attention_case::makes_offsets(std::size_t number) const noexcept {
  const bool packed_q = !operands_[offsets_q_at].null();
  const bool packed_k = !operands_[offsets_k_at].null();
  const bool paged = !operands_[table_k_at].null();
  if (by_tiles_ || !has_lengths() || (paged && !packed_q)) return false;
  const bool of_q = number == offsets_q_at || number == offsets_o_at;
  const bool of_k = number == offsets_k_at || number == offsets_v_at;
  return ((of_q && !packed_q) || (of_k && !packed_k && !paged)) &&
         !limits::cudnn::accepts_lengths_without_offsets();
}

// For a token beyond its sequence, every result except the gradient of bias is stored again
// afterwards.
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

// Offsets of packed sequences count elements in the request's own layout, so these cannot be
// staged.
bool attention_case::accepts_packed() const noexcept {
  for (std::size_t at = q_at; at <= d_v_at; ++at) {
    if (has_rows(at) && !operands_[at].null() && !operands_[offsets_of(at)].null() && is_staged(at))
      return false;
  }
  return true;
}

// A query that attends to nothing has the statistic −∞. Subtracting it from a masked score gives
// NaN. A bias of −∞ masks, too.
bool attention_case::patches_statistics() const noexcept {
  return backward_ && (has_lengths() || left_ >= 0 || right_ >= 0 || !operands_[bias_at].null());
}

bool attention_case::accepts(std::size_t number) const noexcept {
  const any_tensor& t = operands_[number];
  if (t.null() || number == amax_s_at || number == amax_o_at) return true;
  if (number == statistics_at) return !patches_statistics() && limits::cudnn::accepts_statistics(t);
  if (number == bias_at || number == d_bias_at) return limits::cudnn::accepts_bias(t);
  return !has_rows(number) || limits::cudnn::accepts_rows(t);
}

bool attention_case::is_staged(std::size_t number) const noexcept {
  if (!accepts(number)) return true;
  if (!backward_ || !has_rows(number) || !makes_offsets(offsets_of(number))) return false;
  // An operand and its gradient share one array of offsets.
  const std::size_t other = twin_of(number);
  return !accepts(other) || operands_[number].stride(0) != operands_[other].stride(0);
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
