#pragma once

// Not to be included by files that are compiled for more than all processors have: their copy of
// these functions may be the one that is linked.

#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace troupe::detail {

/// Kinds of processors that loops are compiled for. Each has the instructions of the kinds before.
enum class processor_level : std::uint8_t {
  plain,   ///< all processors of the architecture
  avx2,    ///< with AVX2 and FMA
  avx512,  ///< with AVX-512 F, BW, DQ and VL
};

[[nodiscard]] inline processor_level level_of_this_machine() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0)
    return processor_level::plain;
  const bool wide =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return wide ? processor_level::avx512 : processor_level::avx2;
#else
  return processor_level::plain;
#endif
}

/// The level whose loops are to run. The environment variable `TROUPE_PROCESSOR`, `plain` or
/// `avx2`, names one below that of the machine: tests run the loops of other machines so.
[[nodiscard]] inline processor_level processor() noexcept {
  static const processor_level chosen = [] {
    const processor_level here = level_of_this_machine();
    const char* text = std::getenv("TROUPE_PROCESSOR");  // NOLINT(concurrency-mt-unsafe): only read
    const std::string_view named = text != nullptr ? text : "";
    if (named == "plain") return processor_level::plain;
    if (named == "avx2" && here == processor_level::avx512) return processor_level::avx2;
    return here;
  }();
  return chosen;
}

}  // namespace troupe::detail
