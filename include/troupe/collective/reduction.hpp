#pragma once

#include <troupe/request/request.hpp>
#include <troupe/request/world_part.hpp>

#include <cstdint>
#include <vector>

/// Operations of all devices of a `world`. Each list of tensors holds one tensor per rank, in rank
/// order; several items follow each other and are done together.
namespace troupe::collective {

/// How elements of all ranks become one. They are combined in rank order, so the result has the
/// same bits on every rank and in every run. f16, bf16 and 8-bit floats are combined in f32 and
/// rounded once. Integers wrap; avg of integers is the truncated quotient of the wrapped sum. A NaN
/// wins min and max. Complex numbers have sum and avg, bool has min (and) and max (or), and 8-bit
/// floats have no prod.
enum class reduction : std::uint8_t { sum, prod, min, max, avg };

/// y[r] = factor · x[0] ∘ … ∘ factor · x[n − 1] on every rank r.
///
/// Reads x, writes y. All tensors of an item have the same type, extents and strides, without gaps;
/// on any rank, y may be the same view as x. `factor` is 1 unless the type is floating or complex
/// and the operation sum or avg. Then, instead of it, `factors` may hold a tensor of one element
/// per rank, which is the factor of all its inputs: f64 for f64 and c128, f32 for all other types.
struct TROUPE_EXPORT all_reduce {
  static constexpr std::string_view name = "collective.all_reduce";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  reduction op = reduction::sum;
  double factor = 1.0;
  world_part part{};
  std::vector<any_tensor> factors{};

  static void describe(description<all_reduce>& d);
};

/// The same result on rank `root` only: the other ranks give no y.
struct TROUPE_EXPORT reduce {
  static constexpr std::string_view name = "collective.reduce";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  reduction op = reduction::sum;
  double factor = 1.0;
  std::int64_t root = 0;
  world_part part{};
  std::vector<any_tensor> factors{};

  static void describe(description<reduce>& d);
};

/// Each rank r gets the r-th of n equal parts of the result: y[r] = factor · x[0]_r ∘ … .
///
/// Reads x, writes y. Packed, of one type; x has n times as many elements as y.
struct TROUPE_EXPORT reduce_scatter {
  static constexpr std::string_view name = "collective.reduce_scatter";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  reduction op = reduction::sum;
  double factor = 1.0;
  world_part part{};
  std::vector<any_tensor> factors{};

  static void describe(description<reduce_scatter>& d);
};

}  // namespace troupe::collective
