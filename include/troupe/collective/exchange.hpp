#pragma once

#include <troupe/request/request.hpp>
#include <troupe/request/world_part.hpp>

#include <cstdint>
#include <vector>

namespace troupe::collective {

/// The p-th of n equal parts of y[r] = the r-th of n equal parts of x[p].
///
/// Reads x, writes y. Packed, of one type and equally many elements, a multiple of n.
struct TROUPE_EXPORT all_to_all {
  static constexpr std::string_view name = "collective.all_to_all";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  world_part part{};

  static void describe(description<all_to_all>& d);
};

/// The same with parts of any length: rank p sends `counts[p · n + r]` elements to rank r. In x[p]
/// the parts lie one after the other in the order of their receivers, in y[r] in that of their
/// senders. One item.
///
/// Reads x, writes y. Packed, of one type; x and y may have more elements than are sent: those
/// behind the last part are not used.
struct TROUPE_EXPORT all_to_allv {
  static constexpr std::string_view name = "collective.all_to_allv";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  std::vector<std::int64_t> counts{};
  world_part part{};

  static void describe(description<all_to_allv>& d);
};

/// Any set of copies between ranks, each an item: the tensor x of one rank to the tensor y of one,
/// perhaps the same. The other ranks give none. `world::by_rank` makes such lists.
///
/// Reads x, writes y, of the same type and extents and any strides. No y shares an element with
/// another tensor of the request.
struct TROUPE_EXPORT exchange {
  static constexpr std::string_view name = "collective.exchange";
  using reply = void;

  std::vector<any_tensor> x{};
  std::vector<any_tensor> y{};
  world_part part{};

  static void describe(description<exchange>& d);
};

/// Ends when all ranks have begun it: every earlier request of each device that uses the same
/// tensors as a collective request before it has ended.
struct TROUPE_EXPORT barrier {
  static constexpr std::string_view name = "collective.barrier";
  using reply = void;

  world_part part{};

  static void describe(description<barrier>& d);
};

}  // namespace troupe::collective
