#pragma once

#include "libraries/collective/cpu/shared_words.hpp"
#include "libraries/collective/shared/nccl/calls.hpp"
#include "libraries/collective/shared/words.hpp"

#include <troupe/plugin/executor.hpp>

#include <cstdint>
#include <utility>

namespace troupe::cpu {

[[nodiscard]] inline error part_dropped() {
  return {.code = errc::aborted, .message = "the part of another rank failed"};
}

/// Runs a part whose steps `run(protocol, words)` makes; it returns false if the operation was
/// dropped.
template <class Run>
[[nodiscard]] result<void> run_part(const world_part& part, const lane_context& lane, Run&& run) {
  shared_words words(part);
  collective::protocol steps(words);
  steps.begin(lane.sequence());
  if (!std::forward<Run>(run)(steps, words)) return part_dropped();
  steps.end(lane.sequence());
  return {};
}

/// Runs a part that is one step without staging: `pull` reads inputs of all ranks and writes this
/// rank's output. If the request has a connection, NCCL makes the output first.
template <class R, class Pull>
[[nodiscard]] result<void> run_direct(const R& r, const lane_context& lane, Pull&& pull) {
  return run_part(r.part, lane, [&](auto& steps, const shared_words& words) {
    const std::uint64_t step = collective::step_of(lane.sequence(), 0);
    if constexpr (requires { r.x; }) {
      if (r.part.connection != 0) {
        const bool is_made = collective::nccl::enqueue(r, nullptr);
        const auto number = static_cast<std::uint64_t>(r.part.connection);
        return steps.verified(step, [&] { return is_made && !words.is_broken(number); }, pull);
      }
    }
    return steps.direct(step, pull);
  });
}

}  // namespace troupe::cpu
