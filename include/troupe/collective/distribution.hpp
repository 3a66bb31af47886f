#pragma once

#include <troupe/request/request.hpp>
#include <troupe/request/world_part.hpp>

#include <cstdint>
#include <vector>

namespace troupe::collective {

/// y[r] = x[root] on every rank r: only the root gives x.
///
/// Reads x, writes y, of the same type and extents and any strides. The root's y may be its x.
struct TROUPE_EXPORT broadcast {
  static constexpr std::string_view name = "collective.broadcast";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  std::int64_t root = 0;
  world_part part{};

  static void describe(description<broadcast>& d);
};

/// y[r] = x[0], x[1], … one after the other, on every rank r.
///
/// Reads x, writes y. Packed, of one type; y has n times as many elements as x.
struct TROUPE_EXPORT all_gather {
  static constexpr std::string_view name = "collective.all_gather";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  world_part part{};

  static void describe(description<all_gather>& d);
};

/// The same on rank `root` only: the other ranks give no y.
struct TROUPE_EXPORT gather {
  static constexpr std::string_view name = "collective.gather";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  std::int64_t root = 0;
  world_part part{};

  static void describe(description<gather>& d);
};

/// y[r] = the r-th of n equal parts of x[root]: only the root gives x.
///
/// Reads x, writes y. Packed, of one type; x has n times as many elements as y.
struct TROUPE_EXPORT scatter {
  static constexpr std::string_view name = "collective.scatter";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  std::int64_t root = 0;
  world_part part{};

  static void describe(description<scatter>& d);
};

}  // namespace troupe::collective
