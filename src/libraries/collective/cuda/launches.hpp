#pragma once

#include "backend/cuda/context/executor.hpp"
#include "base/try.hpp"
#include "libraries/collective/cuda/kernels.hpp"
#include "libraries/collective/shared/nccl/calls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace troupe::cuda {

/// The common context of the launches of one part.
struct part_lane {
  lane& where;
  late_failure failure;
  std::uint64_t trusted = 0;  ///< see `part_launch`

  [[nodiscard]] part_launch launch_of(const world_part& part) const noexcept {
    return {part, where, trusted};
  }
  [[nodiscard]] cudaStream_t stream() const noexcept { return where.stream(); }
};

/// Adds an executor of parts. If the request has a connection, NCCL's work is enqueued first, and
/// the part then makes its steps as `protocol::verified`.
template <class R, result<void> (*Run)(const R&, const part_lane&)>
void add_part(operation_table& table) {
  add<R>(
      table, +[](const R& r, lane& where, late_failure failure) -> result<void> {
        part_lane on{where, failure};
        if constexpr (requires { r.x; }) {
          if (r.part.connection != 0 && collective::nccl::enqueue(r, where.stream())) {
            on.trusted = static_cast<std::uint64_t>(r.part.connection);
          }
        }
        return Run(r, on);
      });
}

/// Calls `visit(first, last)` for groups of items, each small enough for a launch. Every rank makes
/// the same groups: at least one, because a part without a step would not keep step.
template <class Visit>
[[nodiscard]] result<void> for_each_launch(std::size_t items, int ranks, Visit&& visit) {
  const auto most = static_cast<std::size_t>(most_tensors / ranks);
  std::size_t first = 0;
  do {
    const std::size_t last = std::min(items, first + most);
    TRY(visit(first, last));
    first = last;
  } while (first < items);
  return {};
}

}  // namespace troupe::cuda
