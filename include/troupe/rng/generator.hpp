#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/description.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <string_view>

/// Random numbers. Every request names the place in a stream that it starts from, so it gives the
/// same numbers whenever and wherever it runs: a stream outlives the worker that made its
/// beginning.
namespace troupe::rng {

/// What makes the stream. The first five are pseudorandom, the rest quasirandom.
enum class generator_type : std::uint8_t {
  philox4x32_10,  ///< counter-based: any place costs the same; the same bits on every backend
  xorwow,
  mrg32k3a,
  mtgp32,
  mt19937,
  sobol32,
  scrambled_sobol32,
  sobol64,
  scrambled_sobol64,
};

/// The type's name, such as "mt19937".
[[nodiscard]] TROUPE_EXPORT std::string_view to_string(generator_type type) noexcept;

[[nodiscard]] constexpr bool is_quasi(generator_type type) noexcept {
  return type >= generator_type::sobol32;
}

/// Dimensions that a quasirandom point may have.
inline constexpr std::int64_t most_dimensions = 3667;

/// A place in a stream.
struct TROUPE_EXPORT position {
  generator_type type = generator_type::philox4x32_10;
  /// Which stream. `sobol32` and `sobol64` have one only, and ignore it.
  std::uint64_t seed = 0;
  /// Which part of a philox stream, each of 2^63 words; 0 for other generators.
  std::uint64_t subsequence = 0;
  /// Where in it: in words of 32 bits, or for a quasirandom generator in points.
  std::int64_t offset = 0;

  static void describe(description<position>& d);
};

/// A stream that a program draws from, request by request. It holds the place of the next one only,
/// so copies go on independently from the same place.
class generator {
 public:
  generator() = default;
  explicit generator(const position& start) noexcept : next_(start) {}

  /// The request, to start from here; the generator moves on by what it consumes.
  template <class R>
  [[nodiscard]] R draw(R request) noexcept {
    request.from = next_;
    next_.offset += request.consumes();
    return request;
  }
  /// Where the next request starts.
  [[nodiscard]] const position& at() const noexcept { return next_; }

 private:
  position next_;
};

}  // namespace troupe::rng
