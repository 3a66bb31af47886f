#pragma once

#include "attention_reference.hpp"

#include <optional>
#include <string>

namespace troupe::conformance {

/// In what order the dimensions of q, k, v and o lie in memory.
enum class head_layout : std::uint8_t {
  heads_first,   ///< [b, h, s, d]
  tokens_first,  ///< [b, s, h, d]
  gaps,          ///< [b, h, s, d] with room behind each row, head and sequence
  columns,       ///< [b, h, d, s]
};
inline constexpr head_layout head_layouts[] = {head_layout::heads_first, head_layout::tokens_first,
                                               head_layout::gaps, head_layout::columns};

enum class storage : std::uint8_t { plain, packed, paged };

struct attention_case {
  dtype type = dtype::f32;
  std::int64_t b = 2, h = 2, h_k = 2, h_v = 2, s_q = 5, s_kv = 7, d = 8, d_v = 8;
  head_layout layout = head_layout::heads_first;
  storage keys = storage::plain;     ///< for k and v
  storage queries = storage::plain;  ///< for q and o; never paged
  std::int64_t page_size = 4;
  bool lengths = false;  ///< random ones, with 0 and the longest among them
  dnn::diagonal diagonal = dnn::diagonal::top_left;
  std::int64_t left = -1, right = -1;
  std::optional<std::array<bool, 2>> bias{};  ///< whether it has b and h
  bool f32_bias = false;
  bool alibi = false;
  double dropout = 0;
  double scale = 0;
  bool promises = false;  ///< `all_attend`, where that is so
  double soft_cap = 0;
  bool sinks = false;
  std::optional<std::array<bool, 3>> allowed{};  ///< whether it has b, h and s_q

  [[nodiscard]] std::string text() const;
  /// Any case, of small sizes.
  [[nodiscard]] static attention_case random(dtype type, std::mt19937_64& from);
  /// Some for `mask_by_bias`.
  [[nodiscard]] static std::vector<attention_case> with_masking_bias(dtype type);
};

/// The operands of a case in a scene, and the same as a problem of the reference.
class attention_stage {
 public:
  /// `result` is the type of o; that of q where it is not given.
  attention_stage(scene& s, const attention_case& c, std::optional<dtype> result = {});

  [[nodiscard]] dnn::attention_forward forward() const;
  /// Replaces what lengths, offsets or tables hold.
  void fill_content(const any_tensor& view, const std::vector<number>& values);
  [[nodiscard]] dnn::attention_backward backward() const;
  [[nodiscard]] attention_reference::problem& problem() { return problem_; }
  /// Whether cuDNN may compute it: on a GPU, types of 16 bits and fewer.
  [[nodiscard]] bool by_cudnn() const;
  /// Puts −∞ into the bias: for all keys of some queries, and for some keys of others.
  void mask_by_bias();
  /// There dropout has a mask of cuDNN's: looks what it keeps, by values that are 1 for one key
  /// each and 0 for all others. From then on the problem has that mask.
  void look_at_dropout();
  /// The present content, as whole sequences; rows that belong to none are 0.
  [[nodiscard]] attention_reference::block now(const test_tensor& t, bool of_keys);
  [[nodiscard]] attention_reference::block plain_now(const test_tensor& t);

  test_tensor *q{}, *k{}, *v{}, *o{}, *statistics{}, *bias{}, *sinks{}, *allowed{};
  // For backward only.
  test_tensor *o_in{}, *d_o{}, *statistics_in{}, *d_q{}, *d_k{}, *d_v{}, *d_bias{}, *d_sinks{};
  /// Makes the operands of backward: `o_in` and `statistics_in` are what the reference says.
  void add_gradients(const attention_reference::answer& of_forward);
  /// As they are stored: the gradient of o, o and the statistics.
  [[nodiscard]] const attention_reference::block& given_d_o() const { return d_o_; }
  [[nodiscard]] const attention_reference::block& given_o() const { return o_; }
  [[nodiscard]] const attention_reference::block& given_statistics() const { return statistics_; }

 private:
  test_tensor& rows_of(dtype type, std::int64_t heads, std::int64_t width, bool of_keys);
  test_tensor* offsets_of(const test_tensor& t, bool of_keys);
  /// Stores whole sequences; NaN goes where none is.
  void store(test_tensor& t, const attention_reference::block& all, bool of_keys);
  [[nodiscard]] bool all_attend() const;
  void add_sinks_and_mask();
  [[nodiscard]] attention_reference::block random_block(std::array<std::int64_t, 4> size,
                                                        dtype type);
  template <class Use>
  void each_element(const test_tensor& t, const std::array<std::int64_t, 4>& size, bool of_keys,
                    Use use) const;

  scene& s_;
  attention_case c_;
  attention_reference::problem problem_;
  attention_reference::block d_o_, o_, statistics_;
  std::vector<std::int64_t> first_q_, first_kv_;  ///< tokens of packed sequences
  std::int64_t tokens_q_ = 0, tokens_kv_ = 0, pages_ = 0, per_sequence_ = 0;
  std::vector<std::int32_t> pages_of_;
  test_tensor *lengths_q_{}, *lengths_kv_{}, *offsets_q_{}, *offsets_k_{}, *offsets_v_{},
      *offsets_o_{}, *table_{};
};

/// Expects |now − expected| to be what so many terms of `size` may be off.
void expect_block(scene& s, const test_tensor& t, const attention_reference::block& now,
                  const attention_reference::block& expected,
                  const attention_reference::block& size, std::int64_t terms, dtype compute);

}  // namespace troupe::conformance
