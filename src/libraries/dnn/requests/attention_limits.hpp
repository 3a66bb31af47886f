#pragma once

#include "libraries/dnn/requests/attention_sizes.hpp"

#include <troupe/base/result.hpp>

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// The limits of cuDNN's attention, which docs/libraries/dnn.md lists. Beyond them the CUDA backend
/// refuses e4m3, and computes all else by kernels of its own. Source: the rules of
/// cudnn-frontend 1.18 for cuDNN 9.14 and later.
namespace troupe::dnn {

/// The inputs of these rules.
struct attention_facts {
  attention_sizes sizes{};
  dtype type{};         ///< the type of q
  dtype result_type{};  ///< the type of o
  dnn::diagonal diagonal{};
  std::int64_t left = -1;
  std::int64_t right = -1;
  bool lengths = false;
  bool packed = false;
  bool paged = false;
  bool bias = false;
  bool alibi = false;
  bool dropout = false;
  bool soft_cap = false;
  bool sinks = false;
  bool allowed = false;  ///< a boolean mask
  bool backward = false;
  int compute_capability = 90;  ///< 10 · major + minor

  [[nodiscard]] bool bottom_right() const noexcept {
    return right >= 0 && diagonal == dnn::diagonal::bottom_right;
  }
  [[nodiscard]] bool fp8() const noexcept { return type == dtype::e4m3; }
};

template <attention_request R>
[[nodiscard]] attention_facts facts_of(const R& r) noexcept {
  return {.sizes = sizes_of(r),
          .type = r.q.type(),
          .result_type = r.o.type(),
          .diagonal = r.mask.diagonal,
          .left = r.mask.left,
          .right = r.mask.right,
          .lengths = !r.mask.lengths_q.null() || !r.mask.lengths_kv.null(),
          .packed = !r.packed.offsets_q.null() || !r.packed.offsets_k.null(),
          .paged = has_pages(r),
          .bias = !r.bias.null(),
          .alibi = r.alibi,
          .dropout = r.dropout.probability > 0,
          .soft_cap = r.soft_cap > 0,
          .sinks = !r.sinks.null(),
          .allowed = !r.mask.allowed.null(),
          .backward = std::same_as<R, attention_backward>};
}

struct attention_limit {
  std::string_view rule;
  bool (*broken)(const attention_facts& f) noexcept;
  std::string (*values)(const attention_facts& f);
};

namespace detail {

inline std::string head_sizes(const attention_facts& f) {
  return fmt::format("d is {}, d_v is {}", f.sizes.d, f.sizes.d_v);
}
inline std::string lengths(const attention_facts& f) {
  return fmt::format("s_q is {}, s_kv is {}", f.sizes.s_q, f.sizes.s_kv);
}
inline std::string added(const attention_facts& f) {
  return fmt::format("{} is given", f.bias ? "bias" : f.alibi ? "alibi" : "dropout");
}
inline bool beyond(const attention_facts& f, std::int64_t most) noexcept {
  return f.sizes.d > most || f.sizes.d_v > most;
}

}  // namespace detail

inline constexpr std::array attention_limits = {
    attention_limit{
        "cuDNN has attention in f16, bf16 and e4m3: not in f64, and in f32 it gave faults and "
        "wrong results",
        [](const attention_facts& f) noexcept {
          return f.type == dtype::f64 || f.type == dtype::f32;
        },
        [](const attention_facts& f) { return fmt::format("q is {}", to_string(f.type)); }},
    attention_limit{
        "cuDNN is not given a soft cap, sinks or boolean masks",
        [](const attention_facts& f) noexcept { return f.soft_cap || f.sinks || f.allowed; },
        [](const attention_facts& f) {
          return fmt::format("{} is given", f.soft_cap ? "soft_cap"
                                            : f.sinks  ? "sinks"
                                                       : "mask.allowed");
        }},
    attention_limit{
        "alibi needs mask.right = 0",
        [](const attention_facts& f) noexcept { return f.alibi && f.right != 0; },
        [](const attention_facts& f) { return fmt::format("mask.right is {}", f.right); }},
    attention_limit{"a right bound from diagonal bottom_right goes without bias, alibi and dropout",
                    [](const attention_facts& f) noexcept {
                      return f.bottom_right() && (f.bias || f.alibi || f.dropout);
                    },
                    [](const attention_facts& f) {
                      return fmt::format("right is {} and {}", f.right, detail::added(f));
                    }},
    attention_limit{"a right bound from diagonal bottom_right needs s_q ≤ s_kv, or lengths",
                    [](const attention_facts& f) noexcept {
                      return f.bottom_right() && !f.lengths && f.sizes.s_q > f.sizes.s_kv;
                    },
                    detail::lengths},
    attention_limit{"a left bound needs s_q ≤ s_kv, or lengths",
                    [](const attention_facts& f) noexcept {
                      return f.left >= 0 && !f.lengths && f.sizes.s_q > f.sizes.s_kv;
                    },
                    detail::lengths},
    attention_limit{"attention of e4m3 needs d and d_v to be multiples of 16, at most 256",
                    [](const attention_facts& f) noexcept {
                      return f.fp8() && (detail::beyond(f, 256) || f.sizes.d % 16 != 0 ||
                                         f.sizes.d_v % 16 != 0);
                    },
                    detail::head_sizes},
    attention_limit{
        "attention of e4m3 has a right bound from diagonal bottom_right, and o of f16 or bf16, "
        "from compute capability 10.0 on",
        [](const attention_facts& f) noexcept {
          return f.fp8() && f.compute_capability < 100 &&
                 (f.bottom_right() || f.result_type != dtype::e4m3);
        },
        [](const attention_facts& f) {
          return fmt::format("o is {}, the compute capability {}.{}", to_string(f.result_type),
                             f.compute_capability / 10, f.compute_capability % 10);
        }},
    attention_limit{"attention of e4m3 has no bias, alibi or dropout",
                    [](const attention_facts& f) noexcept {
                      return f.fp8() && (f.bias || f.alibi || f.dropout);
                    },
                    detail::added},
    attention_limit{
        "attention of e4m3 has lengths with pages alone",
        [](const attention_facts& f) noexcept { return f.fp8() && f.lengths && !f.paged; },
        detail::lengths},
    attention_limit{"attention of e4m3 has no packed sequences: with some, cuDNN faults",
                    [](const attention_facts& f) noexcept { return f.fp8() && f.packed; },
                    detail::lengths},
    attention_limit{
        "gradients of attention need d and d_v of at most 256",
        [](const attention_facts& f) noexcept { return f.backward && detail::beyond(f, 256); },
        detail::head_sizes},
    attention_limit{"gradients of attention with bias need s_kv to be a multiple of 8",
                    [](const attention_facts& f) noexcept {
                      return f.backward && f.bias && f.sizes.s_kv % 8 != 0;
                    },
                    detail::lengths},
    attention_limit{"gradients of attention need more than one query or key",
                    [](const attention_facts& f) noexcept {
                      return f.backward && f.sizes.s_q == 1 && f.sizes.s_kv == 1;
                    },
                    detail::lengths},
};

/// \errors `unsupported`, in a line that begins with "not offered:", with the first rule that is
/// broken and the values that break it
[[nodiscard]] inline result<void> within_limits(const attention_facts& f) {
  for (const attention_limit& limit : attention_limits) {
    if (!limit.broken(f)) continue;
    return error{.code = errc::unsupported,
                 .message = fmt::format("not offered: {}; {}", limit.rule, limit.values(f))};
  }
  return {};
}

}  // namespace troupe::dnn
