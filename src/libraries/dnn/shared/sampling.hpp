#pragma once

#include "libraries/rng/shared/philox.hpp"

#include <troupe/dnn/sampling.hpp>

#include <bit>
#include <cmath>
#include <cstdint>

/// The parts of `sample_rows` that both backends compute alike.
namespace troupe::dnn::sampling {

/// A number for each row: an address or null, and the elements between two rows.
template <class T>
struct row_numbers {
  T* at = nullptr;
  std::int64_t step = 0;

  row_numbers() = default;
  explicit row_numbers(const any_tensor& t)
      : at(t.null() ? nullptr : reinterpret_cast<T*>(t.address())),
        step(t.null() ? 0 : t.stride(0)) {}

  [[nodiscard]] constexpr T of(std::int64_t row, T otherwise) const noexcept {
    return at == nullptr ? otherwise : at[row * step];
  }
  constexpr void set(std::int64_t row, T value) const noexcept {
    if (at != nullptr) at[row * step] = value;
  }
};

/// All of a request but the type of x.
struct operands {
  const std::byte* x = nullptr;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t row_step = 0;
  std::int64_t step = 0;
  row_numbers<std::int32_t> tokens{};
  row_numbers<float> logprobs{};
  row_numbers<float> temperature{};
  row_numbers<std::int32_t> top_k{};
  row_numbers<float> top_p{};
  row_numbers<float> min_p{};
  row_numbers<std::uint64_t> seeds{};
  row_numbers<std::int64_t> positions{};

  operands() = default;
  explicit operands(const sample_rows& r)
      : x(r.x.address()),
        rows(r.x.extent(0)),
        n(r.x.extent(1)),
        row_step(r.x.stride(0)),
        step(r.x.stride(1)),
        tokens(r.tokens),
        logprobs(r.logprobs),
        temperature(r.temperature),
        top_k(r.top_k),
        top_p(r.top_p),
        min_p(r.min_p),
        seeds(r.seeds),
        positions(r.positions) {}
};

/// The parameters of one row.
struct parameters {
  float temperature;
  float top_p;
  float min_p;
  std::int32_t top_k;
  std::uint64_t seed;
  std::uint64_t position;

  constexpr parameters(const operands& p, std::int64_t row)
      : temperature(p.temperature.of(row, 1)),
        top_p(p.top_p.of(row, 1)),
        min_p(p.min_p.of(row, 0)),
        top_k(p.top_k.of(row, 0)),
        seed(p.seeds.of(row, 0)),
        position(static_cast<std::uint64_t>(p.positions.of(row, 0))) {}

  /// False for numbers that are out of range, also NaN.
  [[nodiscard]] constexpr bool valid() const noexcept {
    return temperature >= 0 && temperature <= 3e38F && top_p > 0 && top_p <= 1 && min_p >= 0 &&
           min_p <= 1 && top_k >= 0;
  }
};

/// Numbers without sign in the order of the floats that they are made of.
[[nodiscard]] constexpr std::uint32_t key_of(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x + 0.0F);  // −0 is 0
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/// A weight from 0 to 1 in units of 2⁻⁴⁰: sums of them are exact.
[[nodiscard]] constexpr std::uint64_t exact(float weight) noexcept {
  return static_cast<std::uint64_t>(weight * 1099511627776.0F);
}
inline constexpr double exact_one = 1099511627776.0;

/// The bins of one of four passes over the keys, from the highest byte on.
inline constexpr int bins = 256;
inline constexpr int passes = 4;
[[nodiscard]] constexpr int shift_of(int pass) noexcept { return 24 - 8 * pass; }
/// Whether a key begins with the bytes that the passes before have found.
[[nodiscard]] constexpr bool begins(std::uint32_t key, std::uint32_t found, int pass) noexcept {
  return pass == 0 || (key ^ found) >> (shift_of(pass) + 8) == 0;
}

/// The bin, from the highest on, at which a running sum reaches `wanted`, which loses what lies
/// above it.
[[nodiscard]] constexpr int reaching(const std::uint64_t* sums, std::uint64_t& wanted) noexcept {
  int bin = bins - 1;
  while (bin > 0 && sums[bin] < wanted)
    wanted -= sums[bin--];
  return bin;
}

/// The share of a sum, rounded up, and at least 1.
[[nodiscard]] constexpr std::uint64_t share_of(std::uint64_t sum, float share) noexcept {
  const double wanted = static_cast<double>(sum) * static_cast<double>(share);
  auto whole = static_cast<std::uint64_t>(wanted);
  if (static_cast<double>(whole) < wanted) ++whole;
  return whole < 1 ? 1 : whole > sum ? sum : whole;
}

/// The noise that is made of a word.
[[nodiscard]] inline
#ifdef __CUDACC__
    __host__ __device__
#endif
    float
    gumbel(std::uint32_t word) noexcept {
  // With more bits f32 would round it up to 1.
  const float u = (static_cast<float>(word >> 9) + 0.5F) * (1.0F / 8388608.0F);
  return -std::log(-std::log(u));
}

}  // namespace troupe::dnn::sampling
