#include "device/supervision/loss/fault_attribution.hpp"

#include "device/completion/reactor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

void fault_attribution::note_loss(const role& held, const loss& what, const error& why,
                                  const std::string& ended_before,
                                  std::span<const request_at_loss> requests,
                                  std::span<const verdict> verdicts) {
  auto suspects = suspects_of(what, requests, verdicts);
  if (!suspects) {
    unattributed_.reset();
  } else if (what.of_device) {
    unattributed_ = {.why = why,
                     .ended_before = ended_before,
                     .suspects = *std::move(suspects),
                     .skipped_reruns = completions_.skipped_reruns(held)};
  }
}

std::optional<error> fault_attribution::look(const role& held) {
  if (!unattributed_) return std::nullopt;
  if (completions_.skipped_reruns(held) != unattributed_->skipped_reruns) {
    unattributed_.reset();
    return std::nullopt;
  }
  const bool still_sought =
      std::ranges::any_of(completions_.in_flight(held), [&](std::uint16_t slot) {
        const std::uint64_t ticket = completions_.at(slot).ticket;
        return std::ranges::find(unattributed_->suspects, ticket) != unattributed_->suspects.end();
      });
  if (still_sought) return std::nullopt;
  error why = std::move(unattributed_->why);
  why.message += fmt::format(
      "; no request in flight caused it. A request that the device had reported as done may have, "
      "and its results may be wrong. Requests that ended last: {}",
      unattributed_->ended_before.empty() ? "none" : unattributed_->ended_before);
  unattributed_.reset();
  return why;
}

}  // namespace troupe
