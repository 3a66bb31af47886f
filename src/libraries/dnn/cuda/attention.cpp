#include "backend/cuda/context/call_frame.hpp"
#include "backend/cuda/context/failure.hpp"
#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/attention/checked_contents.hpp"
#include "libraries/dnn/cuda/attention/masked_out.hpp"
#include "libraries/dnn/cuda/attention/tiles/run.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"
#include "libraries/dnn/cuda/plan/staging.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"
#include "libraries/dnn/cuda/planned.hpp"

#include <array>
#include <bit>
#include <limits>
#include <utility>

namespace troupe::cuda {
namespace {

using number = attention_case::operand_number;

bool is_result(std::size_t operand, bool backward) noexcept {
  if (!backward) return operand == number::o_at || operand == number::statistics_at;
  return (operand >= number::d_q_at && operand <= number::d_v_at) || operand == number::d_bias_at;
}

/// Runs one request on its lane, by a plan.
class attention_run {
 public:
  attention_run(const attention_case& what, lane& where, compiled_plan& plan) noexcept
      : what_(what), where_(where), plan_(plan), frame_(where), contents_(frame_, what) {}

  [[nodiscard]] result<void> operator()() {
    for (std::size_t i = 0; i < number::operand_count; ++i) {
      if (what_.is_staged(i)) {
        made_[i] = frame_.bytes(bytes_of(what_.staged_extents(i), what_.operand(i).type()));
      } else if (const std::int64_t bytes = bytes_made(i); bytes > 0) {
        made_[i] = frame_.bytes(bytes);
      }
    }
    frame_.share(std::max<std::size_t>(plan_.workspace_bytes(), 1));
    TRY(frame_.begin());
    std::array<std::byte*, number::operand_count> addresses{};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const any_tensor& t = what_.operand(i);
      if (i >= number::lengths_q_at && i <= number::table_v_at) {
        addresses[i] = contents_.address(i);
        continue;
      }
      const bool in_workspace = what_.is_staged(i) || bytes_made(i) > 0;
      addresses[i] = in_workspace ? made_[i].get() : t.address();
      if (what_.is_staged(i) && !is_result(i, what_.backward())) {
        TRY(stage(i));
      } else if (bytes_made(i) > 0) {
        TRY(make(i));
      }
    }
    const auto library = TRY(cudnn_of(where_));
    TRY(plan_.run(library, addresses, frame_.shared(), where_.stream()));
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!what_.is_staged(i) || !is_result(i, what_.backward())) continue;
      const auto part = TRY(staged(i));
      TRY(enqueue_copied(part, what_.operand(i), where_));
    }
    return what_.may_be_masked_out() ? store_masked_out(addresses) : result<void>();
  }

 private:
  // The bytes of an operand that cuDNN needs and the request leaves out.
  [[nodiscard]] std::int64_t bytes_made(std::size_t operand) const noexcept {
    if (!what_.operand(operand).null()) return 0;
    if (operand == number::seed_at || operand == number::offset_at)
      return what_.drops() ? size_of(dtype::i64) : 0;
    return what_.fp8() && operand >= number::descale_q_at ? size_of(dtype::f32) : 0;
  }

  [[nodiscard]] result<void> make(std::size_t operand) {
    std::array<std::uint32_t, 2> words{std::bit_cast<std::uint32_t>(1.0F), 0};
    const bool factor = operand >= number::descale_q_at;
    if (!factor) {
      const std::uint64_t value =
          operand == number::seed_at ? what_.seed() : static_cast<std::uint64_t>(what_.offset());
      words = {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
    }
    return check(
        enqueue_words(std::span(words).first(factor ? 1 : 2), made_[operand], where_.stream()),
        "store_words");
  }

  // The part of a staged operand that is not padding.
  [[nodiscard]] result<any_tensor> staged(std::size_t operand) const {
    const any_tensor& t = what_.operand(operand);
    const any_tensor whole =
        any_tensor::unowned(made_[operand], t.type(), what_.staged_extents(operand));
    return whole.slice(t.rank() - 1, 0, t.extent(t.rank() - 1));
  }

  [[nodiscard]] result<void> stage(std::size_t operand) {
    const any_tensor& t = what_.operand(operand);
    const shape extents = what_.staged_extents(operand);
    if (extents[t.rank() - 1] != t.extent(t.rank() - 1)) {
      const auto bytes = static_cast<std::size_t>(bytes_of(extents, t.type()));
      TRY(check(cudaMemsetAsync(made_[operand], 0, bytes, where_.stream()), "cudaMemsetAsync"));
    }
    const auto part = TRY(staged(operand));
    if (operand == number::statistics_at && what_.patches_statistics()) {
      return enqueue_finite(t, part, where_);
    }
    return enqueue_copied(t, part, where_);
  }

  // Overwrites rows beyond a sequence's length and rows that attend to nothing or are attended to
  // by nothing. cuDNN leaves arbitrary values there.
  [[nodiscard]] result<void> store_masked_out(std::span<std::byte* const> addresses) {
    masked_results all;
    const auto add = [&](std::size_t operand, std::uint32_t word) {
      if (!what_.operand(operand).null()) all.of[all.count++] = masked(operand, word, addresses);
    };
    if (what_.backward()) {
      for (const std::size_t rows : {number::d_q_at, number::d_k_at, number::d_v_at})
        add(rows, 0);
    } else {
      add(number::o_at, 0);
      add(number::statistics_at,
          std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity()));
    }
    return check(enqueue_store_masked_out(all, where_.stream()), "store_masked_out");
  }
  [[nodiscard]] masked_rows masked(std::size_t operand, std::uint32_t word,
                                   std::span<std::byte* const> addresses) const {
    const any_tensor& t = what_.operand(operand);
    const bool of_keys = operand == number::d_k_at || operand == number::d_v_at;
    const sequence_counts queries{.of = contents_.lengths_q(), .all = what_.sizes().s_q};
    const sequence_counts keys{.of = contents_.lengths_kv(), .all = what_.sizes().s_kv};
    masked_rows rows{.at = t.address(),
                     .element_bytes = static_cast<int>(size_of(t.type())),
                     .lengths = of_keys ? keys : queries,
                     .others = of_keys ? queries : keys,
                     .left = of_keys ? what_.right() : what_.left(),
                     .right = of_keys ? what_.left() : what_.right(),
                     .ends_meet = what_.ends_meet(),
                     .word = word,
                     .wrong = contents_.wrong(),
                     .nan = 0x7fffffffU >> (t.type() == dtype::f32    ? 0
                                            : t.type() == dtype::e4m3 ? 24
                                                                      : 16)};
    if (!what_.backward()) rows.bias = masking();
    const bool packed = t.rank() == 3;  // [t, h, d]
    const std::size_t first_dimension = packed ? 1 : 0;
    for (std::size_t d = first_dimension; d < 4; ++d) {
      // Packed rows: heads, tokens, elements.
      const int from = !packed ? static_cast<int>(d) : d == 1 ? 1 : d == 2 ? 0 : 2;
      rows.extents[d] = t.extent(from);
      rows.strides[d] = t.stride(from);
    }
    if (packed) {
      rows.extents[0] = what_.sizes().batch;
      rows.extents[2] = of_keys ? what_.sizes().s_kv : what_.sizes().s_q;
      rows.offsets =
          reinterpret_cast<const std::int64_t*>(addresses[attention_case::offsets_of(operand)]);
    }
    return rows;
  }
  [[nodiscard]] masking_bias masking() const {
    const any_tensor& t = what_.operand(number::bias_at);
    masking_bias bias{.at = t.address()};
    if (t.null()) return bias;
    bias.element_bytes = static_cast<int>(size_of(t.type()));
    bias.infinite = t.type() == dtype::f32 ? 0xff800000 : t.type() == dtype::f16 ? 0xfc00 : 0xff80;
    for (int d = 0; d < 4; ++d)
      bias.steps[d] = t.extent(d) == 1 ? 0 : t.stride(d);
    return bias;
  }

  const attention_case& what_;
  lane& where_;
  compiled_plan& plan_;
  call_frame frame_;
  checked_contents contents_;
  std::array<frame_array<std::byte>, number::operand_count> made_{};  ///< operands in workspace
};

result<void> fill_with(const any_tensor& t, std::uint32_t word, lane& where) {
  if (t.null() || t.empty()) return {};
  // Results may have any strides; one element has few.
  call_frame c(where);
  const auto room = c.bytes(sizeof(word));
  TRY(c.begin());
  TRY(check(enqueue_words({&word, 1}, room, where.stream()), "store_words"));
  const any_tensor one = any_tensor::unowned(room, t.type(), shape({1}));
  return enqueue_copied(one, t, where);
}

// Runs e4m3 requests that have no query, no key, or rows without elements.
result<void> run_empty(const attention_case& what, lane& where) {
  if (what.sizes().scores() != 0) {
    return error{.code = errc::unsupported,
                 .message = "not offered: attention of e4m3 has no d or d_v of 0"};
  }
  for (const std::size_t at : {number::o_at, number::amax_s_at, number::amax_o_at}) {
    TRY(fill_with(what.operand(at), 0, where));
  }
  return fill_with(what.operand(number::statistics_at), 0xff800000, where);
}

template <class R>
result<void> run_attention(const R& r, lane& where) {
  const attention_case what(r);
  if (auto within = what.within_limits(); !within) return within;
  if (what.by_tiles()) return tiles::run(what, where);
  if (what.empty()) return run_empty(what, where);
  const auto plan = TRY(plan_of(what, where));
  return attention_run(what, where, *plan)();
}

const plugin_operations attention_operations([](operation_table& table) {
  add_planned<attention_case, dnn::attention_forward>(table, run_attention);
  add_planned<attention_case, dnn::attention_backward>(table, run_attention);
});

}  // namespace
}  // namespace troupe::cuda
