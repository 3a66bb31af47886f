#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>

#include <cstdint>
#include <string_view>

/// Softmax along one axis. All tensors of a request have one shape, of rank 1 or more, one type
/// (f64, f32, f16, bf16) and any strides. f16 and bf16 compute in f32. The output may be the same
/// view as an input.
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`; `invalid_argument` for an axis that does
/// not exist
namespace troupe::elementwise {

/// y = exp(x − max x) / Σ exp(x − max x), with maximum and sum along the axis.
struct softmax {
  static constexpr std::string_view name = "elementwise.softmax";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t axis = -1;  ///< a negative one counts from the last

  TROUPE_EXPORT static void describe(description<softmax>& d);
};

/// The gradient of `softmax`: dx = y · (dy − Σ y · dy).
struct softmax_backward {
  static constexpr std::string_view name = "elementwise.softmax_backward";
  using reply = void;

  any_tensor y{};
  any_tensor dy{};
  any_tensor dx{};
  std::int64_t axis = -1;

  TROUPE_EXPORT static void describe(description<softmax_backward>& d);
};

/// y = x − max x − log Σ exp(x − max x).
struct log_softmax {
  static constexpr std::string_view name = "elementwise.log_softmax";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  std::int64_t axis = -1;

  TROUPE_EXPORT static void describe(description<log_softmax>& d);
};

/// The gradient of `log_softmax`: dx = dy − exp(y) · Σ dy.
struct log_softmax_backward {
  static constexpr std::string_view name = "elementwise.log_softmax_backward";
  using reply = void;

  any_tensor y{};
  any_tensor dy{};
  any_tensor dx{};
  std::int64_t axis = -1;

  TROUPE_EXPORT static void describe(description<log_softmax_backward>& d);
};

}  // namespace troupe::elementwise
