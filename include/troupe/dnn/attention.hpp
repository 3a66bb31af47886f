#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Scaled dot-product attention: o = softmax(scale · q · kᵀ + masks) · v, forward and backward.
///
/// q is [b, h, s_q, d], k is [b, h_k, s_kv, d], v is [b, h_v, s_kv, d_v], o is [b, h, s_q, d_v],
/// all with any strides: a tensor [b, s, h, d] is permuted, not copied. h is a multiple of h_k and
/// of h_v: query head i uses key head i / (h / h_k) and value head i / (h / h_v), so h_k = 1 is
/// multi-query and h_k = h multi-head attention.
///
/// **Masks** (`mask`). Query i of a sequence attends to key j where all of these hold:
/// - i < lengths_q and j < lengths_kv of its batch entry, where these are given (i32 [b]; without
///   them every sequence has s_q queries and s_kv keys);
/// - c − left ≤ j ≤ c + right, where c is i, or for `diagonal::bottom_right` i + lengths_kv −
///   lengths_q. A bound of −1 is none. So right = 0 is causal, and right = 0 with left = w a
///   sliding window of w + 1 keys;
/// - `mask.allowed` (boolean [1 or b, 1 or h, 1 or s_q, s_kv]) is true, where it is given.
///
/// **Soft cap.** With `soft_cap` = c above 0, the scaled score s becomes c · tanh(s / c), before
/// anything is added. To it are added `bias` [1 or b, 1 or h, s_q, s_kv], and with `alibi` slope ·
/// (j − c), whose slopes are those of Press et al., "Train Short, Test Long", 2022: for h a power
/// of two 2^(−8 (i + 1) / h); else those of the next lower power p, followed by every other one
/// of 2 p. A query that attends to nothing, also one beyond lengths_q, has o = 0 and the statistic
/// −∞; elements of bias beyond the masks are not read.
///
/// **Sinks** [h] are a logit for each query head that takes part in the softmax like the score of
/// one more key, whose value is 0: the denominator is Σ exp(score) + exp(sink), and the statistic
/// its logarithm, also of a query that attends to nothing within its sequence.
///
/// **Dropout** (`dropout`). A probability of the softmax becomes 0 with the probability
/// `dropout.probability` = p, else it is divided by 1 − p; the statistics do not change. It is kept
/// where word offset + n of the philox stream of `seed` (`rng::position`), n being its place in
/// [b, h, s_q, s_kv] in row-major order, is at least p · 2^32: backward needs the same seed and
/// offset. If cuDNN computes f16 and bf16 on CUDA, the mask is its own function of seed and offset.
///
/// **Statistics** [b, h, s_q, 1] are the logarithms of the softmaxes' denominators, log Σ exp, of
/// the scores with soft cap, bias and ALiBi, and of the sink: f32, for f64 f64.
/// `attention_backward` needs them.
///
/// **Packed sequences** (`packed`). With `offsets_q` and `offsets_o` (i64 [b + 1]), q is
/// [t_q, h, d] and o [t_q, h, d_v]: the tokens of all sequences. Sequence n has lengths_q[n] tokens
/// and begins offsets_q[n] elements after q's first one, offsets_o[n] after o's. Its last entry is
/// not used here; cuDNN reads it. `longest_q` is an upper bound of lengths_q and takes the place of
/// s_q; 0 stands for t_q. `offsets_k`, `offsets_v` and `longest_kv` are the same for k
/// [t_kv, h_k, d] and v [t_kv, h_v, d_v]. Lengths must be given. Elements of o that belong to no
/// sequence are unspecified.
///
/// **Pages** (`pages`). With `pages.k` and `pages.v` (i32 [b, n]), k is [pages, h_k,
/// page_size, d] and v [pages, h_v, page_size, d_v]: key j of a sequence is row j mod page_size of
/// page pages.k[b, j / page_size]. s_kv is n · page_size. Lengths must be given; entries of pages
/// beyond a length are not used.
///
/// Lengths, offsets and tables are in memory, so they are checked when the request runs: on the CPU
/// one that leads outside its tensor is `invalid_argument`, and nothing has been written. On CUDA
/// nothing outside the tensors is read or written then, and o, statistics and the gradients of q, k
/// and v of such a sequence are NaN; if sequences are packed, it may overwrite tokens of others.
/// With `all_attend` they are not checked.
///
/// Types: q, k, v and o have one of f64, f32, f16 and bf16; bias and sinks have q's type, or f32
/// beside f16 and bf16. All but f64 is computed in f32. For e4m3 see `attention_forward`.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for operands that do
/// not go together; `size_overflow` for an offset beyond the stream; `unsupported` on CUDA for
/// e4m3 that cuDNN does not have: docs/libraries/dnn.md lists it
namespace troupe::dnn {

/// The end of the diagonal from which `left` and `right` are counted.
enum class diagonal : std::uint8_t {
  top_left,      ///< begins at the first query and the first key
  bottom_right,  ///< ends at the last query and the last key
};

/// Which keys each query attends to.
struct attention_mask {
  dnn::diagonal diagonal = dnn::diagonal::top_left;
  std::int64_t left = -1;
  std::int64_t right = -1;
  any_tensor lengths_q{};
  any_tensor lengths_kv{};
  any_tensor allowed{};
};

/// The probabilities that are dropped.
struct attention_dropout {
  double probability = 0;
  std::uint64_t seed = 0;
  std::int64_t offset = 0;  ///< in words of 32 bits
};

/// Sequences that are packed one behind the other: their first elements and largest lengths.
struct packed_sequences {
  any_tensor offsets_q{};
  any_tensor offsets_k{};
  any_tensor offsets_v{};
  any_tensor offsets_o{};
  std::int64_t longest_q = 0;
  std::int64_t longest_kv = 0;
};

/// The pages of each sequence, in k and in v.
struct attention_pages {
  any_tensor k{};
  any_tensor v{};
};

/// Factors and largest magnitudes of products in e4m3.
struct attention_fp8 {
  any_tensor descale_q{};
  any_tensor descale_k{};
  any_tensor descale_v{};
  any_tensor descale_s{};
  any_tensor scale_s{};
  any_tensor scale_o{};
  any_tensor amax_s{};
  any_tensor amax_o{};
};

/// o = softmax(scale · q · kᵀ + masks) · v. A `scale` of 0 stands for 1/√d.
///
/// With q, k and v of e4m3, o is e4m3, f16 or bf16, bias and sinks are f32, and every product has
/// factors
/// (`fp8`), f32 of one element, 1 where not given: scores are descale_q · descale_k · q · kᵀ;
/// probabilities p are rounded to e4m3(scale_s · p); o is descale_s · descale_v · p · v, stored
/// where it is e4m3 as e4m3(scale_o · o). `amax_s` and `amax_o` receive the largest p (after
/// dropout) and the largest magnitude of o, before their scales; 0 where there is none.
///
/// `all_attend` promises that every query, up to s_q, attends to a key, whatever the lengths are,
/// and that these, offsets and tables lead nowhere outside. On CUDA that saves the launches that
/// check them and store what the definition says of other queries; where the promise is broken,
/// results are unspecified, or the worker faults.
struct TROUPE_EXPORT attention_forward {
  static constexpr std::string_view name = "dnn.attention_forward";
  using reply = void;

  any_tensor q{};
  any_tensor k{};
  any_tensor v{};
  any_tensor o{};
  any_tensor statistics{};  ///< optional
  double scale = 0;
  attention_mask mask{};
  bool all_attend = false;
  any_tensor bias{};
  bool alibi = false;
  attention_dropout dropout{};
  packed_sequences packed{};
  attention_pages pages{};
  attention_fp8 fp8{};
  double soft_cap = 0;
  any_tensor sinks{};

  static void describe(description<attention_forward>& d);
};

/// The gradients of `attention_forward` by q, k, v and, where `dbias` and `dsinks` are given, by
/// bias and sinks.
///
/// Reads the operands of forward, its o and statistics, and dout, the gradient of o. Writes dq, dk,
/// dv, dbias and dsinks in the shapes, types and packed layouts of q, k, v, bias and sinks; dout
/// lies as o does, so with `packed.offsets_o`. All masks and options are those of forward.
/// Gradients of queries and keys beyond the lengths are 0; where sequences are packed, elements
/// that belong to none are unspecified. There are no pages and no e4m3.
///
/// `deterministic`: the same bits on every run. The CPU always computes so.
struct TROUPE_EXPORT attention_backward {
  static constexpr std::string_view name = "dnn.attention_backward";
  using reply = void;

  any_tensor q{};
  any_tensor k{};
  any_tensor v{};
  any_tensor o{};
  any_tensor dout{};
  any_tensor statistics{};
  any_tensor dq{};
  any_tensor dk{};
  any_tensor dv{};
  double scale = 0;
  attention_mask mask{};
  any_tensor bias{};
  any_tensor dbias{};
  bool alibi = false;
  attention_dropout dropout{};
  packed_sequences packed{};
  bool deterministic = false;
  double soft_cap = 0;
  any_tensor sinks{};
  any_tensor dsinks{};

  static void describe(description<attention_backward>& d);
};

}  // namespace troupe::dnn
