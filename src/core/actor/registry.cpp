#include "core/actor/registry.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe::detail {

result<void> registry::add(std::string name, const any_actor_ref& actor) {
  if (name.empty()) {
    return error{.code = errc::invalid_argument, .message = "register_as: the name is empty"};
  }
  if (!actor.valid()) {
    return error{.code = errc::invalid_argument,
                 .message = fmt::format("register_as: the reference for {} is empty", name)};
  }
  if (actor.stopped()) {
    return error{.code = errc::actor_stopped,
                 .message = fmt::format("register_as: the actor {} has stopped", actor.path())};
  }
  {
    const std::lock_guard lock(mutex_);
    any_actor_ref& known = actors_[name];
    if (known == actor) return {};
    if (known.valid() && !known.stopped()) {
      return error{
          .code = errc::invalid_argument,
          .message = fmt::format("register_as: {} is already the name of {}", name, known.path())};
    }
    known = actor;
  }
  // Without the lock: the actor may have stopped by now, and then this runs at once.
  (void)actor.when_terminated().then(
      [names = weak_from_this(), name = std::move(name)](const result<terminated>& end) {
        if (const auto still_there = names.lock(); still_there && end) {
          still_there->forget_stopped(name, end->id);
        }
      });
  return {};
}

result<any_actor_ref> registry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto at = actors_.find(name);
  if (at != actors_.end() && !at->second.stopped()) return at->second;
  return error{.code = errc::invalid_argument,
               .message = fmt::format("find: no actor is registered as {}", name)};
}

bool registry::forget(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const auto at = actors_.find(name);
  if (at == actors_.end()) return false;
  const bool live = !at->second.stopped();
  actors_.erase(at);
  return live;
}

// Another actor may have the name by now.
void registry::forget_stopped(const std::string& name, actor_id who) {
  const std::lock_guard lock(mutex_);
  const auto at = actors_.find(name);
  if (at != actors_.end() && at->second.id() == who) actors_.erase(at);
}

}  // namespace troupe::detail
