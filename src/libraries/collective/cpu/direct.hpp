#pragma once

#include "libraries/collective/cpu/shared_words.hpp"
#include "libraries/collective/shared/words.hpp"

#include <troupe/plugin/executor.hpp>

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
/// rank's output.
template <class Pull>
[[nodiscard]] result<void> run_direct(const world_part& part, const lane_context& lane,
                                      Pull&& pull) {
  return run_part(part, lane, [&](auto& steps, const shared_words&) {
    return steps.direct(collective::step_of(lane.sequence(), 0), pull);
  });
}

}  // namespace troupe::cpu
