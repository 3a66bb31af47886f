#pragma once

#include <troupe/base/export.hpp>
#include <troupe/request/request.hpp>
#include <troupe/tensor/scalar.hpp>

#include <cstdint>
#include <string_view>

/// Choice between elements, and tensors made of numbers. Any strides. (Conversion of types is
/// `memory.convert`.)
///
/// \errors `shape_mismatch`, `type_mismatch`, `aliasing`
namespace troupe::elementwise {

/// y = min(max(x, low), high). NaN stays NaN. Any shape; x and y have one real type except u64 and
/// boolean. y may be the same view as x. Integer types take low and high as integers: a real number
/// is truncated, and one out of range is the nearest bound.
struct clamp {
  static constexpr std::string_view name = "elementwise.clamp";
  using reply = void;

  any_tensor x{};
  any_tensor y{};
  scalar low = 0.0;
  scalar high = 1.0;

  TROUPE_EXPORT static void describe(description<clamp>& d);
};

/// y = a where condition is true, else b.
///
/// Reads condition (boolean), a and b, which are broadcast to y's shape; a, b and y have one real
/// type. y may be the same view as a or b.
struct where {
  static constexpr std::string_view name = "elementwise.where";
  using reply = void;

  any_tensor condition{};
  any_tensor a{};
  any_tensor b{};
  any_tensor y{};

  TROUPE_EXPORT static void describe(description<where>& d);
};

enum class comparison : std::uint8_t {
  equal,
  not_equal,  ///< true for NaN
  less,
  less_equal,
  greater,
  greater_equal,
};

/// y = a (how) b, as a boolean.
///
/// Reads a and b, which are broadcast to y's shape and have one real type; writes y (boolean).
struct compare {
  static constexpr std::string_view name = "elementwise.compare";
  using reply = void;

  any_tensor a{};
  any_tensor b{};
  any_tensor y{};
  comparison how = comparison::equal;

  TROUPE_EXPORT static void describe(description<compare>& d);
};

/// y[…, k] = on where k = indices[…], else off. An index outside [0, classes) gives off alone.
///
/// Reads indices [shape…] (i32, i64), of rank 0 to 7; writes y [shape…, classes], of any real type.
/// Integer and boolean types take on and off as integers.
struct one_hot {
  static constexpr std::string_view name = "elementwise.one_hot";
  using reply = void;

  any_tensor indices{};
  any_tensor y{};
  scalar on = 1.0;
  scalar off = 0.0;

  TROUPE_EXPORT static void describe(description<one_hot>& d);
};

/// y[i] = start + i · step. Writes y [n], of any real type except boolean. Floats compute in f64
/// and are rounded once; integers wrap, and take start and step as integers.
struct arange {
  static constexpr std::string_view name = "elementwise.arange";
  using reply = void;

  any_tensor y{};
  scalar start = 0;
  scalar step = 1;

  TROUPE_EXPORT static void describe(description<arange>& d);
};

}  // namespace troupe::elementwise
