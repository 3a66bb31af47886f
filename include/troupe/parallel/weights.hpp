#pragma once

#include <troupe/device/device.hpp>
#include <troupe/device/world.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::parallel {

/// Tensors on all devices of a world.
struct replicated {
  /// `on[r][i]` is tensor i on rank r; on the root it is the given one.
  std::vector<std::vector<any_tensor>> on;
  /// Ready when all have their content. Requests that read them are ordered behind it anyway.
  future<void> done;
};

/// Copies tensors of the root to all other devices of a world, by one `collective.broadcast`: the
/// weights of a model, for example. Returns before the copies are there. `placement::own` for
/// copies that will be frozen (`device::freeze`).
/// \errors `invalid_argument` for a root that is no rank; `out_of_memory`. In the future: those of
/// `collective.broadcast`
[[nodiscard]] TROUPE_EXPORT result<replicated> replicate(const world& all,
                                                         std::span<const any_tensor> tensors,
                                                         std::size_t root = 0,
                                                         placement where = placement::shared);

}  // namespace troupe::parallel
