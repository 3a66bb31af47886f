#pragma once

#include <troupe/request/description.hpp>
#include <troupe/tensor/tensor.hpp>

#include <cstdint>
#include <vector>

namespace troupe {

/// The fields by which the parts of a request for several devices know each other. Such a request
/// has this group under the name `part`; it is sent to a `world`, which fills the group in, and
/// gives each device its own part. All other lists of tensors of the request hold one tensor per
/// rank: for each of its items, one of each device, in rank order.
struct TROUPE_EXPORT world_part {
  std::int64_t rank = 0;
  /// By rank: the words of the protocol, and staged input.
  std::vector<any_tensor> words{};
  /// How far the program has given operations up; and the bells of sleeping ranks.
  any_tensor page{};
  /// The connection of NCCL that it goes by, see `collective::connect`; 0: kernels of Troupe's own.
  std::int64_t connection = 0;
  /// Ranks cannot read each other's memory: all data go through the staging memory, which is the
  /// host's.
  bool through_host = false;

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(words.size()); }

  static void describe(description<world_part>& d);
};

}  // namespace troupe
