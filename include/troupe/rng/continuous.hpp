#pragma once

#include <troupe/request/request.hpp>
#include <troupe/rng/generator.hpp>

/// Real numbers from continuous distributions. Each request writes `to`, of any rank and strides,
/// in row-major order. Types: f32, f64. Values are computed in f64, by inverting the distribution
/// function unless another method is stated, and rounded to the type at the end. With philox every
/// backend gives the same bits. `consumes()` is one word for each f32 and two for each f64, unless
/// another number is stated; for a quasirandom generator it counts points.
///
/// Errors besides those of every request of this library (docs/libraries/rng.md):
/// `invalid_argument` for a parameter that is not finite or is outside the stated range.
namespace troupe::rng {

/// Which bound of the interval can be drawn.
enum class bounds : std::uint8_t {
  closed_open,  ///< low can, high cannot
  open_closed,  ///< high can, low cannot
};

/// Uniform between low and high: low + (high − low)·k/2^m, m = 24 for f32 and 53 for f64, with k =
/// 0 … 2^m − 1 for closed_open and 1 … 2^m for open_closed. A value that rounding would put on the
/// excluded bound becomes the number next to it.
///
/// low < high; both and their difference are finite and in the type's range.
struct TROUPE_EXPORT uniform {
  static constexpr std::string_view name = "rng.uniform";
  using reply = void;

  any_tensor to{};
  position from{};
  double low = 0;
  double high = 1;
  bounds interval = bounds::closed_open;

  static void describe(description<uniform>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Normal with a mean and a standard deviation of at least 0. Source of the inverse: M. J. Wichura,
/// "Algorithm AS 241: The Percentage Points of the Normal Distribution", 1988. In f32 the inverse
/// is interpolated, within two units in the last place, and scaled in f32.
struct TROUPE_EXPORT normal {
  static constexpr std::string_view name = "rng.normal";
  using reply = void;

  any_tensor to{};
  position from{};
  double mean = 0;
  double deviation = 1;

  static void describe(description<normal>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// e^x for a normal x with that mean and standard deviation, which is at least 0.
struct TROUPE_EXPORT log_normal {
  static constexpr std::string_view name = "rng.log_normal";
  using reply = void;

  any_tensor to{};
  position from{};
  double mean = 0;
  double deviation = 1;

  static void describe(description<log_normal>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Exponential: density rate · e^(−rate·x). rate > 0.
struct TROUPE_EXPORT exponential {
  static constexpr std::string_view name = "rng.exponential";
  using reply = void;

  any_tensor to{};
  position from{};
  double rate = 1;

  static void describe(description<exponential>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Cauchy: location + scale · tan(π(u − 1/2)). scale > 0.
struct TROUPE_EXPORT cauchy {
  static constexpr std::string_view name = "rng.cauchy";
  using reply = void;

  any_tensor to{};
  position from{};
  double location = 0;
  double scale = 1;

  static void describe(description<cauchy>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Gamma: density proportional to x^(shape−1) · e^(−x/scale). shape ≥ 1e-300, scale > 0.
///
/// Consumes four words for each element, as the seed of its rejection sampling. Does not support
/// quasirandom generators. Source: G. Marsaglia, W. W. Tsang, "A Simple Method for Generating Gamma
/// Variables", 2000.
struct TROUPE_EXPORT gamma {
  static constexpr std::string_view name = "rng.gamma";
  using reply = void;

  any_tensor to{};
  position from{};
  double shape = 1;
  double scale = 1;

  static void describe(description<gamma>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

/// Beta: density proportional to x^(a−1) · (1−x)^(b−1). Both ≥ 1e-300.
///
/// Consumes four words for each element, as the seed of two gamma variables x and y; the result is
/// x / (x + y). Does not support quasirandom generators.
struct TROUPE_EXPORT beta {
  static constexpr std::string_view name = "rng.beta";
  using reply = void;

  any_tensor to{};
  position from{};
  double a = 1;
  double b = 1;

  static void describe(description<beta>& d);
  [[nodiscard]] std::int64_t consumes() const noexcept;
};

}  // namespace troupe::rng
