#include "core/actor/actor_cell.hpp"
#include "core/system_core.hpp"

#include <utility>

// The unfinished work of an actor, for a shutdown that waits for it and for reports.
namespace troupe::detail {
namespace {

struct settle_message final : message {
  explicit settle_message(std::shared_ptr<const settling> a) noexcept
      : message(type_of), all(std::move(a)) {}

  static std::unique_ptr<error> deliver(message& self, actor&, actor_cell& cell) {
    auto& me = static_cast<settle_message&>(self);
    cell.begin_settling(std::move(me.all));
    drop_pooled(&me);
    return nullptr;
  }
  static void refuse(message& self, const error&) noexcept {
    drop_pooled(&static_cast<settle_message&>(self));
  }
  static constexpr message_type type_of{"settle", &deliver, &refuse};

  std::shared_ptr<const settling> all;
};

}  // namespace

settling::~settling() { core_->settled(); }

// Behind the current messages.
void actor_cell::settle(const std::shared_ptr<const settling>& all) {
  if (dead()) return;
  mailbox_.push(*make_pooled<settle_message>(all));
  wake(false);
}

void actor_cell::begin_settling(std::shared_ptr<const settling> all) {
  for (const any_actor_ref& one : children())
    one.cell().settle(all);
  settling_ = std::move(all);
  settles_.store(true, std::memory_order_seq_cst);
  if (unfinished_[0].load(std::memory_order_seq_cst) == 0) settling_.reset();
}

bool actor_cell::begin_unfinished() noexcept {
  const bool late = settles_.load(std::memory_order_relaxed);
  unfinished_[late ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
  return late;
}

void actor_cell::end_unfinished(bool late) noexcept {
  const bool last = unfinished_[late ? 1 : 0].fetch_sub(1, std::memory_order_seq_cst) == 1;
  if (!last || late || !settles_.load(std::memory_order_seq_cst)) return;
  // No message begins any more that counts as before the shutdown.
  post_call([](actor_cell& c) { c.settling_.reset(); });
}

std::int64_t actor_cell::unfinished_messages() const noexcept {
  return unfinished_[0].load(std::memory_order_relaxed) +
         unfinished_[1].load(std::memory_order_relaxed);
}

std::int64_t actor_cell::load() const noexcept {
  // In the order in which a message moves, each with acquire: one that moves meanwhile may be
  // counted twice, but never not at all, so that a busy actor is not taken for an idle one.
  const std::int64_t waiting = mailbox_.size();
  const bool in_a_turn = (state_.load(std::memory_order_acquire) & activity_mask) == running;
  return waiting + (in_a_turn ? 1 : 0) + unfinished_messages();
}

std::vector<any_actor_ref> actor_cell::children() {
  std::vector<any_actor_ref> all;
  const std::lock_guard lock(tree_mutex_);
  all.reserve(children_.size());
  for (const child& one : children_)
    all.push_back(one.ref);
  return all;
}

std::optional<actor_status> actor_cell::status() {
  const auto as_state = [this]() -> std::optional<actor_state> {
    switch (phase_.load()) {
      case phase::starting:
        return actor_state::starting;
      case phase::active:
        return actor_state::active;
      case phase::failed:
        return actor_state::failed;
      case phase::restarting:
      case phase::between:
        return actor_state::restarting;
      case phase::stopping:
        return actor_state::stopping;
      case phase::stopped:
        return std::nullopt;
    }
    return std::nullopt;
  };
  const auto state = as_state();
  if (!state || parent_ == nullptr) return std::nullopt;
  return actor_status{.actor = any_actor_ref(*this),
                      .path = path(),
                      .state = *state,
                      .mailbox = mailbox_.size(),
                      .unfinished = unfinished_messages(),
                      .restarts = restarts_.load(std::memory_order_relaxed)};
}

}  // namespace troupe::detail

namespace troupe {

std::string_view to_string(actor_state state) noexcept {
  switch (state) {
    case actor_state::starting:
      return "starting";
    case actor_state::active:
      return "active";
    case actor_state::failed:
      return "failed";
    case actor_state::restarting:
      return "restarting";
    case actor_state::stopping:
      return "stopping";
  }
  return "unknown";
}

}  // namespace troupe
