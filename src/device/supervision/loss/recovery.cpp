#include "device/supervision/loss/recovery.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool has_run(const request_at_loss& r) noexcept { return r.started || r.called; }

// Whether it was running in too many workers that were killed from outside, this one included.
bool too_often_killed(const request_at_loss& r) noexcept {
  const int kills = r.outside_kills + 1;
  return kills >= outside_kills || (kills >= few_outside_kills && r.killed_for >= repeat_limit);
}

// Whether each request may be to blame.
std::vector<bool> suspects(std::span<const request_at_loss> requests) {
  const bool others = std::ranges::any_of(
      requests, [](const request_at_loss& r) { return has_run(r) && !r.waits_for_peers; });
  std::vector<bool> found;
  for (const request_at_loss& r : requests)
    found.push_back(has_run(r) && !(others && r.waits_for_peers));
  return found;
}

}  // namespace

bool is_permanent(errc code) noexcept {
  return code == errc::worker_not_found || code == errc::version_mismatch ||
         code == errc::library_missing || code == errc::invalid_argument;
}

std::vector<verdict> judge(const loss& what, std::span<const request_at_loss> requests) {
  const auto named = std::ranges::find_if(
      requests, [&](const request_at_loss& r) { return r.ticket == what.culprit_ticket; });
  const std::vector<bool> suspected = suspects(requests);
  std::optional<std::uint64_t> culprit;
  if (named != requests.end()) {
    culprit = named->ticket;
  } else if (!what.from_outside && !what.doubtful && !what.culprit_known &&
             std::ranges::count(suspected, true) == 1) {
    // The worker ended by itself, and only one request can have caused that.
    const auto place = std::ranges::find(suspected, true) - suspected.begin();
    culprit = requests[static_cast<std::size_t>(place)].ticket;
  }

  std::vector<verdict> verdicts;
  verdicts.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const request_at_loss& r = requests[i];
    if (r.ticket == culprit) {
      verdicts.push_back(verdict::culprit);
    } else if (!r.started && r.answered) {
      verdicts.push_back(verdict::forget);
    } else if (suspected[i] && !culprit && !what.culprit_known && !what.from_outside &&
               r.kills + 1 >= poisonous_kills) {
      verdicts.push_back(verdict::poisonous);
    } else if (r.started && what.from_outside && !r.answered && too_often_killed(r)) {
      verdicts.push_back(verdict::too_often);
    } else if (!r.started) {
      verdicts.push_back(verdict::replay);
    } else {
      verdicts.push_back(r.retry_safe && !r.answered ? verdict::replay : verdict::abort);
    }
  }
  return verdicts;
}

bool is_explained(const loss& what, std::span<const verdict> verdicts) noexcept {
  return what.from_outside || what.by_run_limit || what.culprit_known ||
         std::ranges::find(verdicts, verdict::culprit) != verdicts.end();
}

std::optional<std::vector<std::uint64_t>> suspects_of(const loss& what,
                                                      std::span<const request_at_loss> requests,
                                                      std::span<const verdict> verdicts) {
  if (what.culprit_known) return std::nullopt;
  const std::vector<bool> suspected = suspects(requests);
  std::vector<std::uint64_t> tickets;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests[i].started || !suspected[i]) continue;
    if (verdicts[i] != verdict::replay) return std::nullopt;
    tickets.push_back(requests[i].ticket);
  }
  return tickets;
}

}  // namespace troupe
