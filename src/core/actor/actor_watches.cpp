#include "core/actor/actor_cell.hpp"

#include <utility>

// Watches of an actor's end. Either side drops a watch at its own end, so long-lived actors keep
// nothing of short-lived ones.
namespace troupe::detail {

// The watcher's part. -------------------------------------------------------------------------

void actor_cell::watch(actor_cell& other, unique_function<void(const terminated&)> call) {
  const auto [at, is_new] = watching_.try_emplace(other.id());
  // An incarnation that watches again, as when it starts, is also notified once.
  if (is_new) at->second = {any_actor_ref(other), other.add_watcher(std::move(call))};
}

void actor_cell::unwatch(const actor_cell& other) noexcept {
  auto ended = watching_.extract(other.id());
  if (ended) ended.mapped().other.cell().forget_watcher(ended.mapped().number);
}

bool actor_cell::ends_watch(actor_id watched) noexcept { return watching_.erase(watched) != 0; }

void actor_cell::end_watches() noexcept {
  for (const auto& [id, watch] : std::exchange(watching_, {}))
    watch.other.cell().forget_watcher(watch.number);
}

// The part of the watched actor. -----------------------------------------------------

std::uint64_t actor_cell::add_watcher(unique_function<void(const terminated&)> call) {
  {
    const std::lock_guard lock(tree_mutex_);
    if (!ended_) {
      if (audience_ == nullptr) audience_ = std::make_unique<audience>();
      const std::uint64_t number = ++audience_->last_number;
      audience_->watchers.emplace(number, std::move(call));
      return number;
    }
  }
  call(end());
  return 0;
}

void actor_cell::forget_watcher(std::uint64_t number) noexcept {
  decltype(audience::watchers)::node_type forgotten;  // destroyed without the lock
  const std::lock_guard lock(tree_mutex_);
  if (audience_ != nullptr) forgotten = audience_->watchers.extract(number);
}

void actor_cell::when_stopped(promise<terminated> source) {
  {
    const std::lock_guard lock(tree_mutex_);
    if (!ended_) {
      if (audience_ == nullptr) audience_ = std::make_unique<audience>();
      auto& futures = audience_->futures;
      // An abandoned future does not unregister itself: look for those before the vector grows,
      // which is rare enough to cost nothing.
      if (futures.size() == futures.capacity()) {
        std::erase_if(futures, [](const promise<terminated>& p) { return p.let_go(); });
        futures.reserve(2 * futures.size() + 1);
      }
      futures.push_back(std::move(source));
      return;
    }
  }
  source.set_value(end());
}

bool actor_cell::give_up_own_end(const future_state_base& awaited, const error& why) noexcept {
  const std::lock_guard lock(tree_mutex_);
  if (audience_ == nullptr) return false;
  for (promise<terminated>& source : audience_->futures) {
    if (!source.answers(awaited)) continue;
    source.set_error(why);
    return true;
  }
  return false;
}

// Constant once it has stopped.
terminated actor_cell::end() const {
  return {.id = id_, .reason = reason_ ? std::optional(*reason_) : std::nullopt};
}

void actor_cell::tell_audience() noexcept {
  std::unique_ptr<audience> all;
  {
    const std::lock_guard lock(tree_mutex_);
    ended_ = true;
    all = std::move(audience_);
  }
  if (all == nullptr) return;
  const terminated notice = end();
  for (auto& [number, call] : all->watchers)
    call(notice);
  for (promise<terminated>& source : all->futures)
    source.set_value(notice);
}

}  // namespace troupe::detail
