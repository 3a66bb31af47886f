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

/// A request of attention as plans see it. The request outlives it.
class attention_case {
 public:
  /// Numbers of operands in every graph, less one.
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

  /// There is no plan: nothing to do, or what cuDNN does not do.
  [[nodiscard]] bool empty() const noexcept { return empty_; }
  /// True where kernels of our own compute it.
  [[nodiscard]] bool by_tiles() const noexcept { return by_tiles_; }
  /// \errors `unsupported` with the rule of cuDNN that is broken, where nothing else computes it
  [[nodiscard]] const result<void>& within_limits() const noexcept { return within_limits_; }
  /// Everything that decides which plan it needs.
  void write(plan_words& key) const;
  [[nodiscard]] std::vector<graphs::description> graphs() const;

  [[nodiscard]] const dnn::attention_sizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] bool backward() const noexcept { return backward_; }
  [[nodiscard]] bool fp8() const noexcept { return operands_[q_at].type() == dtype::e4m3; }
  [[nodiscard]] bool has_lengths() const noexcept {
    return !operands_[lengths_q_at].null() || !operands_[lengths_kv_at].null();
  }
  /// True where a query or a key may have nothing to attend to, or to be attended by. A bias of −∞
  /// masks, too: in backward its probabilities are 0 without more.
  [[nodiscard]] bool may_be_masked_out() const noexcept {
    return !all_attend_ && (has_lengths() || (!backward_ && !operands_[bias_at].null()));
  }
  /// True where lengths, offsets and tables go through a kernel that checks them: not where the
  /// request promises what they are and cuDNN can take them as they lie.
  [[nodiscard]] bool checks_contents() const noexcept;
  /// The bounds of the keys that a query attends to; −1 for none.
  [[nodiscard]] std::int64_t left() const noexcept { return left_; }
  [[nodiscard]] std::int64_t right() const noexcept { return right_; }
  /// True where these are counted from a diagonal that ends with the last query and key.
  [[nodiscard]] bool ends_meet() const noexcept { return diagonal_ == dnn::diagonal::bottom_right; }
  [[nodiscard]] bool drops() const noexcept { return dropout_ > 0; }
  [[nodiscard]] double dropout() const noexcept { return dropout_; }
  [[nodiscard]] double scale() const noexcept { return scale_; }
  [[nodiscard]] bool alibi() const noexcept { return alibi_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
  /// As the request gives it; null where it does not.
  [[nodiscard]] const any_tensor& operand(std::size_t number) const noexcept {
    return operands_[number];
  }
  /// True for an operand whose rows are of heads, so that cuDNN has wishes about them.
  [[nodiscard]] static bool has_rows(std::size_t number) noexcept {
    return number <= o_at || (number >= d_o_at && number <= d_v_at);
  }
  /// True where cuDNN cannot take it as it lies: it is copied to workspace, with rows of
  /// a multiple of 8 elements.
  [[nodiscard]] bool is_staged(std::size_t number) const noexcept;
  /// Of the offsets by which the sequences of an operand with rows are found.
  [[nodiscard]] static std::size_t offsets_of(std::size_t number) noexcept;
  /// True for offsets that the request does not give, but cuDNN is: the definition says why.
  [[nodiscard]] bool makes_offsets(std::size_t number) const noexcept;
  /// True for lengths of which cuDNN is told no 0, which it does not know of packed sequences.
  [[nodiscard]] bool fills_lengths(std::size_t number) const noexcept;
  /// From a sequence of an operand with rows to the next one, in elements, as a plan has it.
  [[nodiscard]] std::int64_t sequence_stride(std::size_t number) const;
  /// True where the statistics that backward reads are staged with 0 in the place of −∞.
  [[nodiscard]] bool patches_statistics() const noexcept;
  /// The extents of a staged operand.
  [[nodiscard]] shape staged_extents(std::size_t number) const;

 private:
  template <class R>
  void take(const R& r);
  /// Decides who computes it, once all operands are there.
  void choose(dnn::attention_facts facts);

  /// True for what lies in rows of scores or statistics, which may begin anywhere.
  [[nodiscard]] static bool is_of_scores(std::size_t number) noexcept {
    return number == statistics_at || number == bias_at || number == d_bias_at;
  }
  /// That of an operand of scores, in bytes.
  [[nodiscard]] std::int64_t alignment_told(std::size_t number) const noexcept;
  /// True where cuDNN can take the operand as it lies.
  [[nodiscard]] bool accepts(std::size_t number) const noexcept;
  [[nodiscard]] bool accepts_packed() const noexcept;
  [[nodiscard]] graphs::tensor tensor_of(std::size_t number) const;

  std::array<any_tensor, operand_count> operands_{};
  dnn::attention_sizes sizes_;
  double scale_ = 1;
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
