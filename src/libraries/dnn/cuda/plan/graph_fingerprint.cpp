#include "libraries/dnn/cuda/plan/graph_fingerprint.hpp"

#include <bit>
#include <concepts>
#include <type_traits>

namespace troupe::cuda::graphs {
namespace {

class words_mixed {
 public:
  template <class... T>
  void add(const T&... words) noexcept {
    (one(words), ...);
  }
  [[nodiscard]] std::uint64_t mixed() const noexcept { return mixed_; }

 private:
  template <class T>
    requires std::integral<T> || std::is_enum_v<T>
  void one(T word) noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // the golden ratio spreads low bits
    mixed_ = std::rotl(mixed_ ^ static_cast<std::uint64_t>(word), 29) * odd;
  }
  void one(float word) noexcept { one(std::bit_cast<std::uint32_t>(word)); }
  void one(const std::optional<float>& word) noexcept { add(word.has_value(), word.value_or(0)); }
  void one(const std::vector<std::int64_t>& words) noexcept {
    one(words.size());
    for (const std::int64_t word : words)
      one(word);
  }

  std::uint64_t mixed_ = 1;
};

// A structured binding names all fields, so a new field does not compile until it is added here.
struct each_field {
  words_mixed& to;

  void operator()(const tensor& t) const noexcept {
    const auto& [operand, type, extents, strides, alignment, by_value, ragged_offset] = t;
    to.add(operand, type, extents, strides, alignment, by_value, ragged_offset);
  }
  void operator()(const convolution& c) const noexcept {
    const auto& [what, first, second, result, before, after, stride, dilation] = c;
    to.add(what, first, second, result, before, after, stride, dilation);
  }
  void operator()(const matmul& m) const noexcept {
    const auto& [first, second, result] = m;
    to.add(first, second, result);
  }
  void operator()(const pointwise& p) const noexcept {
    const auto& [what, first, second, result, upper, slope, elu_alpha] = p;
    to.add(what, first, second, result, upper, slope, elu_alpha);
  }
  void operator()(const attention& a) const noexcept {
    const auto& [backward, fp8, q, k, v, o, stats, d_o, dq, dk, dv, dbias, bias, q_lengths,
                 kv_lengths, k_pages, v_pages, seed, offset, descale_q, descale_k, descale_v,
                 descale_s, scale_s, scale_o, amax_s, amax_o, scale, dropout, alibi, bottom_right,
                 left, right, most_kv, most_q_rows, most_kv_rows] = a;
    to.add(backward, fp8, q, k, v, o, stats, d_o, dq, dk, dv, dbias, bias, q_lengths, kv_lengths,
           k_pages, v_pages, seed, offset, descale_q, descale_k, descale_v, descale_s, scale_s,
           scale_o, amax_s, amax_o, scale, dropout, alibi, bottom_right, left, right, most_kv,
           most_q_rows, most_kv_rows);
  }
};

}  // namespace

std::uint64_t fingerprint(const description& graph) noexcept {
  const auto& [tensors, nodes, intermediate, compute, deterministic, full_precision,
               without_heuristics, barred_engines, timed] = graph;
  words_mixed all;
  const each_field add{all};
  all.add(tensors.size(), nodes.size(), intermediate, compute, deterministic, full_precision,
          without_heuristics, barred_engines, timed);
  for (const tensor& t : tensors)
    add(t);
  for (const node& n : nodes) {
    all.add(n.index());
    std::visit(add, n);
  }
  return all.mixed();
}

}  // namespace troupe::cuda::graphs
