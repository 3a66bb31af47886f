#pragma once

#include "libraries/dnn/cuda/plan/graph_description.hpp"
#include "libraries/dnn/cuda/plan/plan_service.hpp"
#include "libraries/dnn/requests/attention_limits.hpp"

#include <troupe/dnn/attention.hpp>

#include <array>
#include <cstdint>
#include <variant>
#include <vector>

namespace troupe::cuda {

/// An attention request as plans see it. The request outlives it.
class attention_case {
 public:
  /// The index of each operand. Graphs number operands from 1: index + 1.
  enum operand_number : std::size_t {
    q_at,
    k_at,
    v_at,
    o_at,
    statistics_at,
    d_o_at,
    d_q_at,
    d_k_at,
    d_v_at,
    bias_at,
    d_bias_at,
    lengths_q_at,
    lengths_kv_at,
    offsets_q_at,
    offsets_k_at,
    offsets_v_at,
    offsets_o_at,
    table_k_at,
    table_v_at,
    seed_at,
    offset_at,
    descale_q_at,
    descale_k_at,
    descale_v_at,
    descale_s_at,
    scale_s_at,
    scale_o_at,
    amax_s_at,
    amax_o_at,
    operand_count
  };

  explicit attention_case(const dnn::attention_forward& r);
  explicit attention_case(const dnn::attention_backward& r);

  /// True if no plan is needed: there is nothing to do, or cuDNN does not support the request.
  [[nodiscard]] bool empty() const noexcept { return empty_; }
  /// True if Troupe's own kernels compute it.
  [[nodiscard]] bool by_tiles() const noexcept { return by_tiles_; }
  /// \errors `unsupported` with the cuDNN limit that is exceeded, if nothing else computes it
  [[nodiscard]] const result<void>& within_limits() const noexcept { return within_limits_; }
  /// Appends everything that selects the plan.
  void write(plan_words& key) const;
  [[nodiscard]] std::vector<graphs::description> graphs() const;

  [[nodiscard]] const dnn::attention_sizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] bool backward() const noexcept { return backward_; }
  [[nodiscard]] bool fp8() const noexcept { return operands_[q_at].type() == dtype::e4m3; }
  [[nodiscard]] bool has_lengths() const noexcept {
    return !operands_[lengths_q_at].null() || !operands_[lengths_kv_at].null();
  }
  /// True if a query may have no key to attend to, or a key no query. A bias of −∞ masks, too, but
  /// in backward its probabilities are 0 already.
  [[nodiscard]] bool may_be_masked_out() const noexcept {
    return !all_attend_ && (has_lengths() || (!backward_ && !operands_[bias_at].null()));
  }
  /// True if a kernel checks lengths, offsets and page tables. It is skipped if the request
  /// promises that they are valid and cuDNN accepts their layout.
  [[nodiscard]] bool checks_contents() const noexcept;
  /// How many keys before and behind the diagonal a query attends to; −1: no bound.
  [[nodiscard]] std::int64_t left() const noexcept { return left_; }
  [[nodiscard]] std::int64_t right() const noexcept { return right_; }
  /// True if the diagonal ends at the last query and key.
  [[nodiscard]] bool ends_meet() const noexcept { return diagonal_ == dnn::diagonal::bottom_right; }
  [[nodiscard]] bool drops() const noexcept { return dropout_ > 0; }
  [[nodiscard]] double dropout() const noexcept { return dropout_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] bool alibi() const noexcept { return alibi_; }
  /// The options that cuDNN is not given; 0 and null tensors for none.
  [[nodiscard]] double soft_cap() const noexcept { return soft_cap_; }
  [[nodiscard]] const any_tensor& allowed() const noexcept { return allowed_; }
  [[nodiscard]] const any_tensor& sinks() const noexcept { return sinks_; }
  [[nodiscard]] const any_tensor& d_sinks() const noexcept { return d_sinks_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  /// The operand as the request gives it, or null.
  [[nodiscard]] const any_tensor& operand(std::size_t number) const noexcept {
    return operands_[number];
  }
  /// True for operands with rows of heads: cuDNN restricts their layout.
  [[nodiscard]] static bool has_rows(std::size_t number) noexcept {
    return number <= o_at || (number >= d_o_at && number <= d_v_at);
  }
  /// True if cuDNN does not accept the operand's layout. It is copied to workspace, with rows of a
  /// multiple of 8 elements.
  [[nodiscard]] bool is_staged(std::size_t number) const noexcept;
  /// The index of the sequence offsets that belong to an operand with rows.
  [[nodiscard]] static std::size_t offsets_of(std::size_t number) noexcept;
  /// True for offsets that the request omits and cuDNN needs.
  [[nodiscard]] bool makes_offsets(std::size_t number) const noexcept;
  /// True for lengths in which 0 is replaced: cuDNN does not accept 0 for packed sequences.
  [[nodiscard]] bool fills_lengths(std::size_t number) const noexcept;
  /// The stride between the sequences of an operand with rows in the plan, in elements.
  [[nodiscard]] std::int64_t sequence_stride(std::size_t number) const;
  /// True if the statistics that backward reads are staged with 0 instead of −∞.
  [[nodiscard]] bool patches_statistics() const noexcept;
  /// The extents of a staged operand.
  [[nodiscard]] shape staged_extents(std::size_t number) const;

 private:
  template <class R>
  void take(const R& r);
  /// Chooses the implementation, once all operands are known.
  void choose(dnn::attention_facts facts);

  /// True for operands with rows of scores or statistics, which may begin at any address.
  [[nodiscard]] static bool is_of_scores(std::size_t number) noexcept {
    return number == statistics_at || number == bias_at || number == d_bias_at;
  }
  /// The alignment that the plan is told for an operand of scores, in bytes.
  [[nodiscard]] std::int64_t alignment_told(std::size_t number) const noexcept;
  /// True if cuDNN accepts the operand's layout.
  [[nodiscard]] bool accepts(std::size_t number) const noexcept;
  [[nodiscard]] bool accepts_packed() const noexcept;
  [[nodiscard]] graphs::tensor tensor_of(std::size_t number) const;

  std::array<any_tensor, operand_count> operands_{};
  any_tensor allowed_{};
  any_tensor sinks_{};
  any_tensor d_sinks_{};
  dnn::attention_sizes sizes_;
  double scale_ = 1;
  double soft_cap_ = 0;
  double dropout_ = 0;
  std::uint64_t seed_ = 0;
  std::int64_t offset_ = 0;
  dnn::diagonal diagonal_{};
  std::int64_t left_ = -1;
  std::int64_t right_ = -1;
  bool alibi_ = false;
  bool all_attend_ = false;
  bool backward_ = false;
  bool deterministic_ = false;
  bool empty_ = false;
  bool by_tiles_ = false;
  result<void> within_limits_;
};

}  // namespace troupe::cuda
