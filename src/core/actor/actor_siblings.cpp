#include "core/actor/actor_cell.hpp"

#include <utility>

// Restarting children together, as Erlang's supervisors do: see `sibling_restart`.
namespace troupe::detail {

// The child's part. ---------------------------------------------------------------------------

void actor_cell::end_with_siblings(failure_reason reason, std::uint64_t step) {
  // A stopping child answers by `child_stopped`.
  if (phase_ == phase::stopping || phase_ == phase::stopped) return;
  asked_to_end_ = step;
  if (phase_ == phase::restarting) return;  // an earlier restart already stops its children
  if (phase_ == phase::active || phase_ == phase::failed) {
    return end_incarnation(std::move(reason));
  }
  finish_end();  // there is no incarnation
}

void actor_cell::begin_with_siblings(std::uint64_t step) {
  if (phase_ != phase::between) return;  // it stops
  begin_anew();
  // A child that failed to start has reported that, and the supervisor decides again.
  if (phase_ == phase::failed) return;
  parent_->post_call([step](actor_cell& parent) { parent.sibling_step_done(step); });
}

// The supervisor's part. ----------------------------------------------------------------------

void actor_cell::restart_siblings(std::vector<any_actor_ref> members, failure_reason reason,
                                  std::size_t nth) {
  const std::unique_ptr<sibling_restart> overtaken =
      std::exchange(siblings_, std::make_unique<sibling_restart>(sibling_restart{
                                   std::move(reason), nth, std::move(members), 0, 0}));
  sibling_restart& s = *siblings_;
  const auto number = [&s] {
    for (std::size_t i = 0; i < s.members.size(); ++i)
      s.members[i].cell().place_->member = i;
  };
  number();
  if (overtaken != nullptr) {
    // Members that an earlier restart has not begun again are added to these. They were spawned
    // before the other members, which are the last of our children.
    const auto first = overtaken->now == sibling_restart::stage::beginning ? overtaken->up : 0;
    std::vector<any_actor_ref> earlier;
    for (std::size_t i = first; i < overtaken->members.size(); ++i) {
      const any_actor_ref& member = overtaken->members[i];
      if (member.valid() && !is_member(*member.cell().place_)) earlier.push_back(member);
    }
    s.members.insert(s.members.begin(), earlier.begin(), earlier.end());
    number();
  }
  s.left = s.up = s.members.size();
  next_sibling();
}

// The place may belong to a finished restart, and then be another child's now, or none.
bool actor_cell::is_member(const child& one) const noexcept {
  return siblings_ != nullptr && one.member < siblings_->members.size() &&
         siblings_->members[one.member] == one.ref;
}

bool actor_cell::ends_anyway(const child& one) const noexcept {
  return is_member(one) && siblings_->now == sibling_restart::stage::ending;
}

void actor_cell::next_sibling() {
  using enum sibling_restart::stage;
  sibling_restart& s = *siblings_;
  const std::uint64_t step = ++sibling_step_;
  if (s.left == 0) return siblings_.reset();
  const auto stopped = [&s](std::size_t i) { return !s.members[i].valid(); };
  while (s.now == ending && s.up > 0 && stopped(s.up - 1))
    --s.up;
  while (s.now == beginning && s.up < s.members.size() && stopped(s.up))
    ++s.up;
  if (s.now == ending && s.up > 0) {
    s.members[s.up - 1].cell().post_call(
        [reason = s.reason, step](actor_cell& c) { c.end_with_siblings(reason, step); });
    return;
  }
  if (s.now == ending) {
    s.now = waiting;
    post_after_backoff(backoff_, any_actor_ref(*this), s.nth,
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

void actor_cell::sibling_gone(const child& gone) {
  using enum sibling_restart::stage;
  if (!is_member(gone)) return;
  sibling_restart& s = *siblings_;
  s.members[gone.member] = {};
  --s.left;
  const bool awaited =
      (s.now == ending && gone.member + 1 == s.up) || (s.now == beginning && gone.member == s.up);
  if (awaited) next_sibling();
}

}  // namespace troupe::detail
