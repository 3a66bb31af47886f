#pragma once

#include <troupe/request/request.hpp>

#include <cstdint>

/// The operations of the tests' plugin.
namespace trial {

/// y[i] = a x[i] + b, once the program has set `until`, or after three seconds.
struct affine {
  static constexpr std::string_view name = "trial.affine";
  using reply = void;

  troupe::any_tensor x{};      ///< f32[n], any stride; read
  troupe::any_tensor y{};      ///< f32[n], any stride; written
  troupe::any_tensor until{};  ///< u32[1] in host memory; may be null
  double a = 1;
  double b = 0;

  static void describe(troupe::description<affine>& d);
};

/// Answers the sum of x.
struct total {
  static constexpr std::string_view name = "trial.total";
  using reply = double;

  troupe::any_tensor x{};  ///< f32[n], any stride; read

  static void describe(troupe::description<total>& d);
};

enum class deed : std::uint8_t {
  crash,            ///< writes where nothing is: the CPU, or a kernel
  throw_exception,  ///< the executor throws
  be_refused,       ///< answers an error; on CUDA that of a launch
};

/// Errors that no executor should make.
struct misdeed {
  static constexpr std::string_view name = "trial.misdeed";
  using reply = void;

  deed what = deed::crash;
  troupe::any_tensor y{};  ///< said to be written; may be null

  static void describe(troupe::description<misdeed>& d);
};

/// Answers how often the worker has warmed the plugin up.
struct times_warm {
  static constexpr std::string_view name = "trial.times_warm";
  using reply = std::int64_t;

  static void describe(troupe::description<times_warm>& d) {
    d.about("Answers how often the worker has warmed the plugin up.");
  }
};

/// No longer than this is waited for a flag, so that a broken test fails instead of hanging.
inline constexpr std::int64_t longest_wait_ns = 3'000'000'000;

}  // namespace trial
