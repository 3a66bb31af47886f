#include "core/actor_cell.hpp"

#include <algorithm>
#include <utility>

// Restarting children together, as Erlang's supervisors do: see `sibling_restart`.
namespace troupe::detail {

// The child's part. ---------------------------------------------------------------------------

void actor_cell::end_with_siblings(const error& reason, std::uint64_t step) {
  // One that stops says so by `child_stopped`.
  if (phase_ == phase::stopping || phase_ == phase::stopped) return;
  asked_to_end_ = step;
  if (phase_ == phase::restarting) return;  // an earlier restart has its children stop already
  if (phase_ == phase::active || phase_ == phase::failed) return end_incarnation(reason);
  finish_end();  // there is no incarnation
}

void actor_cell::begin_with_siblings(std::uint64_t step) {
  if (phase_ != phase::between) return;  // it stops
  begin_anew();
  // One that failed to start has said so, and the supervisor decides anew.
  if (phase_ == phase::failed) return;
  parent_->post_call([step](actor_cell& parent) { parent.sibling_step_done(step); });
}

// The supervisor's part. ----------------------------------------------------------------------

void actor_cell::restart_siblings(std::vector<any_actor_ref> members, error reason,
                                  std::size_t nth) {
  if (siblings_ != nullptr) {
    // Another failure overtakes a restart: whom that has not begun again begins with these. They
    // were spawned before the members that they are not among, which are the last of our children.
    const sibling_restart& s = *siblings_;
    const auto first = s.now == sibling_restart::stage::beginning ? s.up : 0;
    std::vector<any_actor_ref> earlier;
    for (std::size_t i = first; i < s.members.size(); ++i) {
      if (std::find(members.begin(), members.end(), s.members[i]) == members.end()) {
        earlier.push_back(s.members[i]);
      }
    }
    members.insert(members.begin(), earlier.begin(), earlier.end());
  }
  const std::size_t all = members.size();
  siblings_ = std::make_unique<sibling_restart>(
      sibling_restart{std::move(reason), nth, std::move(members), all});
  next_sibling();
}

bool actor_cell::ends_anyway(const actor_cell& member) const noexcept {
  return siblings_ != nullptr && siblings_->now == sibling_restart::stage::ending &&
         std::any_of(siblings_->members.begin(), siblings_->members.end(),
                     [&](const any_actor_ref& m) { return &m.cell() == &member; });
}

void actor_cell::next_sibling() {
  using enum sibling_restart::stage;
  sibling_restart& s = *siblings_;
  const std::uint64_t step = ++sibling_step_;
  if (s.members.empty()) return siblings_.reset();
  if (s.now == ending && s.up > 0) {
    s.members[s.up - 1].cell().post_call(
        [reason = s.reason, step](actor_cell& c) { c.end_with_siblings(reason, step); });
    return;
  }
  if (s.now == ending) {
    s.now = waiting;
    post_after_backoff(any_actor_ref(*this), s.nth,
                       [step](actor_cell& me) { me.sibling_step_done(step); });
    return;
  }
  if (s.up < s.members.size()) {
    s.members[s.up].cell().post_call([step](actor_cell& c) { c.begin_with_siblings(step); });
    return;
  }
  siblings_.reset();
}

void actor_cell::sibling_step_done(std::uint64_t step) {
  using enum sibling_restart::stage;
  if (siblings_ == nullptr || step != sibling_step_) return;
  if (siblings_->now == ending) --siblings_->up;
  if (siblings_->now == beginning) ++siblings_->up;
  if (siblings_->now == waiting) siblings_->now = beginning;
  next_sibling();
}

void actor_cell::sibling_gone(const actor_cell& gone) {
  using enum sibling_restart::stage;
  if (siblings_ == nullptr) return;
  sibling_restart& s = *siblings_;
  const auto at = std::find_if(s.members.begin(), s.members.end(),
                               [&](const any_actor_ref& m) { return &m.cell() == &gone; });
  if (at == s.members.end()) return;
  const auto index = static_cast<std::size_t>(at - s.members.begin());
  const bool awaited =
      (s.now == ending && index + 1 == s.up) || (s.now == beginning && index == s.up);
  s.members.erase(at);
  if (index < s.up) --s.up;
  if (awaited) next_sibling();
}

}  // namespace troupe::detail
