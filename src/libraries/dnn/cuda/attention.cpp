#include "backend/cuda/context/failure.hpp"
#include "backend/cuda/context/pieces.hpp"
#include "libraries/dnn/cuda/attention/attention_case.hpp"
#include "libraries/dnn/cuda/attention/unattended.hpp"
#include "libraries/dnn/cuda/plan/layout.hpp"
#include "libraries/dnn/cuda/plan/staging.hpp"
#include "libraries/dnn/cuda/plan/words.hpp"
#include "libraries/dnn/cuda/planned.hpp"

#include <fmt/format.h>

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

/// One request on its lane.
class attention_run {
 public:
  attention_run(const attention_case& what, lane& where, compiled_plan& plan) noexcept
      : what_(what), where_(where), plan_(plan) {}

  [[nodiscard]] result<void> operator()() {
    pieces all;
    const std::size_t plan_at = all.add(static_cast<std::int64_t>(plan_.workspace_bytes()));
    for (std::size_t i = 0; i < number::operand_count; ++i) {
      if (what_.is_staged(i)) {
        offsets_[i] = all.add(bytes_of(what_.staged_extents(i), what_.operand(i).type()));
      } else if (const std::int64_t bytes = bytes_made(i); bytes > 0) {
        offsets_[i] = all.add(bytes);
      }
    }
    auto memory = where_.workspace(std::max<std::size_t>(all.bytes(), 1));
    if (!memory) return std::move(memory).error();
    base_ = memory->data();
    std::array<std::byte*, number::operand_count> addresses{};
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const any_tensor& t = what_.operand(i);
      const bool in_workspace = what_.is_staged(i) || bytes_made(i) > 0;
      addresses[i] = in_workspace ? base_ + offsets_[i] : t.address();
      if (what_.is_staged(i) && !is_result(i, what_.backward())) {
        if (auto put = stage(i); !put) return put;
      } else if (bytes_made(i) > 0) {
        if (auto put = make(i); !put) return put;
      }
    }
    auto library = cudnn_of(where_);
    if (!library) return std::move(library).error();
    if (auto done = plan_.run(*library, addresses, base_ + plan_at, where_.stream()); !done) {
      return done;
    }
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (!what_.is_staged(i) || !is_result(i, what_.backward())) continue;
      auto part = staged(i);
      if (!part) return std::move(part).error();
      if (auto copied = enqueue_copied(*part, what_.operand(i), where_); !copied) return copied;
    }
    return what_.may_be_unattended() ? store_unattended(addresses) : result<void>();
  }

 private:
  // Of what the request leaves out and cuDNN wants.
  [[nodiscard]] std::int64_t bytes_made(std::size_t operand) const noexcept {
    if (!what_.operand(operand).null()) return 0;
    switch (operand) {
      case number::lengths_q_at:
      case number::lengths_kv_at:
        return what_.has_lengths() ? what_.sizes().batch * size_of(dtype::i32) : 0;
      case number::offsets_q_at:
      case number::offsets_k_at:
      case number::offsets_v_at:
      case number::offsets_o_at:
        return what_.makes_offsets(operand) ? (what_.sizes().batch + 1) * size_of(dtype::i64) : 0;
      case number::seed_at:
      case number::offset_at:
        return what_.drops() ? size_of(dtype::i64) : 0;
      default:
        return what_.fp8() && operand >= number::descale_q_at ? size_of(dtype::f32) : 0;
    }
  }

  [[nodiscard]] result<void> make(std::size_t operand) {
    std::byte* const to = base_ + offsets_[operand];
    const auto two_words = [&](std::uint64_t value) {
      const std::array words{static_cast<std::uint32_t>(value),
                             static_cast<std::uint32_t>(value >> 32)};
      return check(enqueue_words(words, to, where_.stream()), "store_words");
    };
    const auto repeat = [&](std::uint32_t word, std::int64_t count) {
      return check(enqueue_word(word, count, to, where_.stream()), "store_word");
    };
    const auto multiples = [&](std::size_t rows) {
      return check(enqueue_multiples(what_.sequence_stride(rows), what_.sizes().batch + 1, to,
                                     where_.stream()),
                   "store_multiples");
    };
    switch (operand) {
      case number::lengths_q_at:
        return repeat(static_cast<std::uint32_t>(what_.sizes().s_q), what_.sizes().batch);
      case number::lengths_kv_at:
        return repeat(static_cast<std::uint32_t>(what_.sizes().s_kv), what_.sizes().batch);
      case number::offsets_q_at:
        return multiples(number::q_at);
      case number::offsets_k_at:
        return multiples(number::k_at);
      case number::offsets_v_at:
        return multiples(number::v_at);
      case number::offsets_o_at:
        return multiples(number::o_at);
      case number::seed_at:
        return two_words(what_.seed());
      case number::offset_at:
        return two_words(static_cast<std::uint64_t>(what_.offset()));
      default:
        return repeat(std::bit_cast<std::uint32_t>(1.0F), 1);
    }
  }

  // The elements of a staged operand that are no padding.
  [[nodiscard]] result<any_tensor> staged(std::size_t operand) const {
    const any_tensor& t = what_.operand(operand);
    const any_tensor whole =
        any_tensor::unowned(base_ + offsets_[operand], t.type(), what_.staged_extents(operand));
    return whole.slice(t.rank() - 1, 0, t.extent(t.rank() - 1));
  }

  [[nodiscard]] result<void> stage(std::size_t operand) {
    const any_tensor& t = what_.operand(operand);
    if (what_.fills_lengths(operand)) {
      return check(
          enqueue_at_least_one(reinterpret_cast<const std::int32_t*>(t.address()), t.stride(0),
                               t.extent(0), base_ + offsets_[operand], where_.stream()),
          "store_at_least_one");
    }
    const shape extents = what_.staged_extents(operand);
    if (extents[t.rank() - 1] != t.extent(t.rank() - 1)) {
      const auto bytes = static_cast<std::size_t>(bytes_of(extents, t.type()));
      if (auto done = check(cudaMemsetAsync(base_ + offsets_[operand], 0, bytes, where_.stream()),
                            "cudaMemsetAsync");
          !done) {
        return done;
      }
    }
    auto part = staged(operand);
    if (!part) return std::move(part).error();
    if (operand == number::statistics_at && what_.patches_statistics()) {
      return enqueue_finite(t, *part, where_);
    }
    return enqueue_copied(t, *part, where_);
  }

  // What is beyond a sequence's length, attends to nothing, or is attended by nothing: cuDNN leaves
  // there whatever its arithmetic gives.
  [[nodiscard]] result<void> store_unattended(std::span<std::byte* const> addresses) {
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
    return check(enqueue_store_unattended(all, where_.stream()), "store_unattended");
  }
  [[nodiscard]] masked_rows masked(std::size_t operand, std::uint32_t word,
                                   std::span<std::byte* const> addresses) const {
    const any_tensor& t = what_.operand(operand);
    // As the request gives them, where it does.
    const auto lengths = [&](std::size_t at) -> sequence_lengths {
      const any_tensor& given = what_.operand(at);
      if (given.null()) return {.at = reinterpret_cast<const std::int32_t*>(addresses[at])};
      return {.at = reinterpret_cast<const std::int32_t*>(given.address()),
              .step = given.stride(0)};
    };
    const bool of_keys = operand == number::d_k_at || operand == number::d_v_at;
    masked_rows rows{.at = t.address(),
                     .element_bytes = static_cast<int>(size_of(t.type())),
                     .lengths = lengths(of_keys ? number::lengths_kv_at : number::lengths_q_at),
                     .others = lengths(of_keys ? number::lengths_q_at : number::lengths_kv_at),
                     .left = of_keys ? what_.right() : what_.left(),
                     .right = of_keys ? what_.left() : what_.right(),
                     .ends_meet = what_.ends_meet(),
                     .word = word};
    const bool packed = t.rank() == 3;  // [t, h, d]
    const std::size_t first_dimension = packed ? 1 : 0;
    for (std::size_t d = first_dimension; d < 4; ++d) {
      // Of packed rows: heads, tokens, elements.
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
  const attention_case& what_;
  lane& where_;
  compiled_plan& plan_;
  std::byte* base_ = nullptr;
  std::array<std::size_t, number::operand_count> offsets_{};
};

// Offsets of packed sequences count elements of rows as they lie.
result<void> check_packed(const attention_case& what) {
  for (const auto& [rows, offsets] : {std::pair(number::q_at, number::offsets_q_at),
                                      std::pair(number::k_at, number::offsets_k_at),
                                      std::pair(number::v_at, number::offsets_v_at),
                                      std::pair(number::o_at, number::offsets_o_at),
                                      std::pair(number::d_q_at, number::offsets_q_at),
                                      std::pair(number::d_o_at, number::offsets_o_at),
                                      std::pair(number::d_k_at, number::offsets_k_at),
                                      std::pair(number::d_v_at, number::offsets_v_at)}) {
    if (what.operand(offsets).null() || what.operand(rows).null() || !what.is_staged(rows))
      continue;
    return error{.code = errc::unsupported,
                 .message = fmt::format(
                     "not offered: packed sequences need head sizes that are multiples of 8, rows "
                     "without gaps and addresses at multiples of 16 bytes; a tensor is {}",
                     what.operand(rows).to_string())};
  }
  return {};
}

result<void> fill_with(const any_tensor& t, std::uint32_t word, lane& where) {
  if (t.null() || t.empty()) return {};
  // Results may have any strides; one element has few.
  std::byte element[8]{};
  std::memcpy(element, &word, sizeof(word));
  auto room = where.workspace(sizeof(element));
  if (!room) return std::move(room).error();
  const std::array words{word, std::uint32_t{0}};
  if (auto put = check(enqueue_words(words, room->data(), where.stream()), "store_words"); !put) {
    return put;
  }
  const any_tensor one = any_tensor::unowned(room->data(), t.type(), shape({1}));
  return enqueue_copied(one, t, where);
}

// No query, no key, or rows of nothing.
result<void> run_empty(const attention_case& what, lane& where) {
  if (what.sizes().d == 0 && what.sizes().scores() != 0 && what.sizes().d_v != 0) {
    return error{.code = errc::unsupported, .message = "not offered: d of 0"};
  }
  if (what.backward()) {
    for (const std::size_t at :
         {number::d_q_at, number::d_k_at, number::d_v_at, number::d_bias_at}) {
      if (auto done = fill_with(what.operand(at), 0, where); !done) return done;
    }
    return {};
  }
  if (auto done = fill_with(what.operand(number::o_at), 0, where); !done) return done;
  for (const std::size_t at : {number::amax_s_at, number::amax_o_at}) {
    if (auto done = fill_with(what.operand(at), 0, where); !done) return done;
  }
  if (what.sizes().scores() != 0 && !what.operand(number::statistics_at).null()) {
    return error{.code = errc::unsupported, .message = "not offered: statistics with d_v of 0"};
  }
  return fill_with(what.operand(number::statistics_at),
                   std::bit_cast<std::uint32_t>(-std::numeric_limits<float>::infinity()), where);
}

template <class R>
result<void> run(const R& r, lane& where) {
  const attention_case what(r);
  if (auto within = what.within_limits(); !within) return within;
  if (what.empty()) return run_empty(what, where);
  if (auto taken = check_packed(what); !taken) return taken;
  auto plan = plan_of(what, where);
  if (!plan) return std::move(plan).error();
  return attention_run(what, where, **plan)();
}

const plugin_operations operations([](operation_table& table) {
  add_planned<attention_case, dnn::attention_forward>(table, run);
  add_planned<attention_case, dnn::attention_backward>(table, run);
});

}  // namespace
}  // namespace troupe::cuda
