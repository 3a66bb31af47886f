#include "core/actor/actor_cell.hpp"
#include "core/ambient.hpp"
#include "core/system_core.hpp"

#include <troupe/core/actor.hpp>
#include <troupe/core/system.hpp>

namespace troupe {

any_actor_ref::any_actor_ref(detail::actor_cell& cell) noexcept : cell_(&cell) {
  cell.retain_cell();
}
any_actor_ref::any_actor_ref(const any_actor_ref& other) noexcept : cell_(other.cell_) {
  if (cell_ != nullptr) cell_->retain_cell();
}
void any_actor_ref::release() noexcept { cell_->release_cell(); }
actor_id any_actor_ref::id() const noexcept { return cell_->id(); }
std::string any_actor_ref::path() const { return cell_->path(); }
bool any_actor_ref::stopped() const noexcept { return cell_->dead(); }
std::int64_t any_actor_ref::load() const noexcept { return cell_->load(); }
void any_actor_ref::stop() const noexcept { cell_->stop_now(); }
void any_actor_ref::stop_after_mailbox() const noexcept { cell_->stop_after_mailbox(); }

future<terminated> any_actor_ref::when_terminated() const {
  promise<terminated> source(cell_);
  future<terminated> end = source.get_future();
  cell_->when_stopped(std::move(source));
  return end;
}

// Constructed only in a turn: the runtime calls the factory.
actor::actor() : cell_(detail::ambient.cell) {}
actor::~actor() = default;
void actor::pre_restart(const error&) noexcept { post_stop(); }
void actor::post_restart(const error&) { pre_start(); }
actor_id actor::id() const noexcept { return cell_->id(); }
system& actor::system() const noexcept { return *cell_->core().owner(); }
void actor::stop() noexcept { cell_->stop_now(); }
std::chrono::steady_clock::time_point actor::current_deadline() const noexcept {
  const detail::message_context* of = cell_->context();
  return of == nullptr ? std::chrono::steady_clock::time_point::max() : of->deadline;
}
any_actor_ref actor::current_sender() const noexcept {
  const detail::message_context* of = cell_->context();
  return of == nullptr || of->sender == nullptr ? any_actor_ref() : any_actor_ref(*of->sender);
}
void actor::unwatch(const any_actor_ref& other) noexcept { cell_->unwatch(other.cell()); }
void actor::unstash_all() noexcept { cell_->unstash_all(); }

namespace detail {

void adopt(actor_cell& cell, turn_task& begun) noexcept { cell.adopt(begun); }
void finish(actor_cell& cell, turn_task& ended, std::unique_ptr<error> failed) noexcept {
  cell.finish(ended, std::move(failed));
}
resume_target& resume_target_of(actor_cell& cell) noexcept { return cell; }
completion_driver* driver_of(actor_cell& cell) noexcept { return &cell; }
bool post(actor_cell& cell, message& m) noexcept { return cell.post_message(m); }
void post_when_possible(actor_cell& cell, message& m, promise<void> placed) {
  cell.post_when_possible(m, std::move(placed));
}
bool is_of_type(const actor_cell& cell, const std::type_info& type) noexcept {
  return cell.is_of(type);
}
std::unique_ptr<message_context> take_context(actor_cell& cell) noexcept {
  return cell.take_context();
}
bool put_aside(actor_cell& cell, message& m) noexcept { return cell.put_aside(m); }
std::shared_ptr<timer_service> timers_of(actor_cell& cell) { return cell.core().timers(); }
std::shared_ptr<timer_state> new_timer(actor_cell& cell) { return cell.new_timer(); }

message_context::~message_context() {
  if (sender != nullptr) sender->release_cell();
}

void note_sender(message& m) {
  if (ambient.cell == nullptr) return;
  m.context = std::make_unique<message_context>();
  ambient.cell->retain_cell();
  m.context->sender = ambient.cell;
}

void note_deadline_of(message& m, std::chrono::steady_clock::time_point deadline) {
  if (m.context == nullptr) m.context = std::make_unique<message_context>();
  m.context->deadline = deadline;
}

unfinished::unfinished(actor_cell& cell) noexcept : cell_(&cell), late_(cell.begin_unfinished()) {
  cell.retain_cell();
}
void unfinished::finish() noexcept {
  cell_->end_unfinished(late_);
  cell_->release_cell();
}

ask_limit limit_of(const ask_options& options, actor_cell& cell) {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  const bool timed = options.timeout > std::chrono::nanoseconds::zero();
  if (!timed && options.deadline == never) return {std::chrono::nanoseconds::max(), never};
  const auto now = cell.core().timers()->now();
  const auto from_timeout = timed ? deadline_after(now, options.timeout) : never;
  if (from_timeout <= options.deadline) return {options.timeout, from_timeout};
  return {options.deadline - now, options.deadline};
}

error cancelled_error() {
  return error{.code = errc::cancelled, .message = "the caller asked to stop"};
}

any_actor_ref spawn_child(actor_cell& parent, actor_factory make, spawn_options options,
                          actor_traits traits) {
  return parent.add_child(std::move(make), std::move(options), traits);
}

namespace {

// Delivered only if the watch still exists when its turn comes.
struct watch_notice final : message {
  watch_notice(message& n, actor_id w) noexcept : message(type_of), notice(&n), watched(w) {}

  static std::unique_ptr<error> deliver(message& self, actor& receiver, actor_cell& cell) {
    auto& me = static_cast<watch_notice&>(self);
    message& inner = *me.notice;
    const bool wanted = cell.ends_watch(me.watched);
    drop_pooled(&me);
    if (wanted) return inner.type->deliver(inner, receiver, cell);
    inner.type->refuse(inner, error{});
    return nullptr;
  }
  static void refuse(message& self, const error& reason) noexcept {
    auto& me = static_cast<watch_notice&>(self);
    me.notice->type->refuse(*me.notice, reason);
    drop_pooled(&me);
  }
  static constexpr message_type type_of{"terminated", &deliver, &refuse};

  message* notice;
  actor_id watched;
};

struct alarm {
  std::shared_ptr<timer_state> state;
  any_actor_ref target;
  std::chrono::nanoseconds period;
  unique_function<message*()> make;

  void ring() {
    if (state->cancelled) return;
    if (!state->in_mailbox.exchange(true)) post(target.cell(), *make());
    if (period > std::chrono::nanoseconds::zero() && !target.stopped()) {
      set(std::make_unique<alarm>(std::move(*this)), period);
    }
  }

  static void set(std::unique_ptr<alarm> next, std::chrono::nanoseconds delay) {
    const std::shared_ptr<timer_state> state = next->state;
    timer_service& service = *state->service;
    state->alarm = service.add(detail::deadline_after(service.now(), delay),
                               [next = std::move(next)] { next->ring(); });
    if (state->cancelled) service.cancel(state->alarm);
  }
};

}  // namespace

void watch_with(actor_cell& watcher, actor_cell& watched,
                unique_function<message*(const terminated&)> make) {
  watcher.watch(watched, [watcher = any_actor_ref(watcher),
                          make = std::move(make)](const terminated& t) mutable {
    post(watcher.cell(), *make_pooled<watch_notice>(*make(t), t.id));
  });
}

void timer_state::cancel() noexcept {
  cancelled = true;
  service->cancel(alarm);
}

void arm(actor_cell& cell, std::shared_ptr<timer_state> state, std::chrono::nanoseconds delay,
         std::chrono::nanoseconds period, unique_function<message*()> make) {
  alarm::set(std::make_unique<alarm>(
                 alarm{std::move(state), any_actor_ref(cell), period, std::move(make)}),
             delay);
}

}  // namespace detail
}  // namespace troupe
