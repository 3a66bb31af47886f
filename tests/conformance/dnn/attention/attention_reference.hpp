#pragma once

#include "conformance/scene.hpp"

#include <troupe/dnn/attention.hpp>

#include <array>
#include <cstdint>
#include <vector>

/// Attention as it is defined, query by query, in f64.
namespace troupe::conformance::attention_reference {

using reals = std::vector<double>;

/// Four extents and the numbers, row-major.
struct block {
  std::array<std::int64_t, 4> size{};
  reals values{};

  block() = default;
  explicit block(std::array<std::int64_t, 4> extents, double value = 0)
      : size(extents),
        values(static_cast<std::size_t>(extents[0] * extents[1] * extents[2] * extents[3]), value) {
  }
  [[nodiscard]] std::size_t place(std::int64_t a, std::int64_t b, std::int64_t c,
                                  std::int64_t d) const {
    return static_cast<std::size_t>(((a * size[1] + b) * size[2] + c) * size[3] + d);
  }
  double& operator()(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return values[place(a, b, c, d)];
  }
  double operator()(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return values[place(a, b, c, d)];
  }
};

/// The operands of attention: whole sequences, in any memory.
struct problem {
  block q, k, v;
  block bias;     ///< empty for none
  block allowed;  ///< 0 for keys that a query may not attend to; empty for none
  block sinks;    ///< [h, 1, 1, 1]; empty for none
  double soft_cap = 0;
  std::vector<std::int64_t> lengths_q, lengths_kv;
  double scale = 0;
  dnn::diagonal diagonal = dnn::diagonal::top_left;
  std::int64_t left = -1;
  std::int64_t right = -1;
  bool alibi = false;
  double dropout = 0;
  std::uint64_t seed = 0;
  std::int64_t offset = 0;
  block seen_kept;  ///< the result of `kept`, if it was observed instead; else empty
  // Of e4m3.
  bool fp8 = false;
  double descale_scores = 1, scale_s = 1, descale_values = 1;

  [[nodiscard]] std::int64_t batch() const { return q.size[0]; }
  [[nodiscard]] std::int64_t heads() const { return q.size[1]; }
  [[nodiscard]] bool attends(std::int64_t b, std::int64_t head, std::int64_t i,
                             std::int64_t j) const;
  /// The factor of one score; 0 if it is dropped.
  [[nodiscard]] double kept(std::int64_t b, std::int64_t head, std::int64_t i,
                            std::int64_t j) const;
  /// The factor of each product of a query and a key.
  [[nodiscard]] double factor() const;
  /// `slope` becomes its derivative by the scaled product of the query and the key.
  [[nodiscard]] double score(std::int64_t b, std::int64_t head, std::int64_t i, std::int64_t j,
                             double* slope = nullptr) const;
};

struct answer {
  block o, statistics;
  block size_of_o;  ///< Σ p |v|, for bounds
  double amax_s = 0, amax_o = 0;
};
[[nodiscard]] answer attend(const problem& p);

struct gradients {
  block d_q, d_k, d_v, d_bias, d_sinks;
  block size_q, size_k, size_v, size_bias, size_sinks;  ///< sums of magnitudes, for bounds
};
[[nodiscard]] gradients differentiate(const problem& p, const block& o, const block& d_o,
                                      const block& statistics);

/// A word of a stream by Philox4x32-10, written again from the paper: a bug of the library's must
/// not hide here.
[[nodiscard]] std::uint32_t philox_word(std::uint64_t seed, std::uint64_t number,
                                        std::uint64_t subsequence = 0);

}  // namespace troupe::conformance::attention_reference
