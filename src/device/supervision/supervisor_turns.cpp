// The turns of the device thread, and its sleep.
#include "base/short_of_memory.hpp"
#include "base/spin_wait.hpp"
#include "core/dispatch/deferred_continuations.hpp"
#include "device/supervision/fork_requests.hpp"
#include "device/supervision/loss/exit_cause.hpp"
#include "device/supervision/supervisor.hpp"
#include "os/event.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr auto driver_spins = 50us;
// The time between two looks at conditions without an event.
constexpr auto shortest_look = 20us;
constexpr auto longest_look = 1ms;
// However many completions come, the thread does its other duties this often.
constexpr auto longest_drive = 1ms;

}  // namespace

void supervisor::run() {
  ::prctl(PR_SET_NAME, "troupe-device");
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  duties.hold();
  start_next();
  while (!ending_) {
    outlast([this] { drive(); });
    outlast([this] { note_busy_lanes(); });
    outlast([this] { sleep(); });
    run_commands();
    outlast([this] { tick(); });
    last_turn_.store(clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  }
  end_all();
  hand_over_continuations();
  duties.release();
}

// The supervisor's state may be half written when the program's memory is exhausted: then the
// device stops, and the program continues.
template <class Step>
void supervisor::outlast(Step&& step) {
  try {
    step();
  } catch (const std::bad_alloc&) {
    give_up(no_host_memory());
  }
}

void supervisor::take_turn() {
  if (ending_) return;
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  duties.hold();
  drive();
  const auto ask = [this](const incarnation* worker) {
    return worker != nullptr ? parts_.environment->events_of(*worker) : worker_events{};
  };
  const worker_pair now = workers();
  handle(ask(now.active), ask(now.next), ask(settlement_.worker()).ended);
  run_commands();
  tick();
  duties.release();
}

void supervisor::run_commands() {
  std::vector<unique_function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& command : commands)
    outlast([&] { command(); });
}

void supervisor::drive() {
  reactor& completions = parts_.completions;
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  const clock::time_point until = current_time() + longest_drive;
  for (bool again = true; again;) {
    if (auto held = role::try_take(completions)) {
      detail::spin_wait spin(driver_spins);
      for (;;) {
        if (completions.poll(*held)) spin = detail::spin_wait(driver_spins);
        if (duties.has_put_off() || completions.in_flight_count(*held) == 0 ||
            !completions.wanted_promptly() || !spin.step() || current_time() >= until) {
          break;
        }
      }
      auto violation = violation_sign(*held);
      held.reset();
      if (violation) lose_active(*std::move(violation));
    }
    again = duties.has_put_off();
    hand_over_continuations();
    again = again && current_time() < until;
  }
}

void supervisor::note_busy_lanes() {
  if (!lanes_wanted_.load(std::memory_order_relaxed)) return;
  lanes_wanted_.store(false, std::memory_order_relaxed);
  auto now = parts_.completions.busy_lanes(role(parts_.completions));
  const std::lock_guard lock(mutex_);
  busy_lanes_ = std::move(now);
  busy_lanes_at_ = clock::now();
}

std::vector<lane_telemetry> supervisor::busy_lanes() const {
  const std::lock_guard lock(mutex_);
  if (clock::now() - busy_lanes_at_ > 2s) return {};
  return busy_lanes_;
}

void supervisor::run_soon(detail::continuation_queue continuations) {
  if (program_) {
    program_->run_soon(std::move(continuations));
  } else {
    detail::deferred_continuations::mine().run(std::move(continuations));
  }
}

// If a test calls the turns here, it runs the continuations too: nothing is half done.
void supervisor::hand_over_continuations() {
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  if (program_) return program_->run_soon(duties.take_put_off());
  duties.release();
  duties.hold();
}

supervisor::clock::time_point supervisor::next_turn() const {
  if (gone()) return clock::time_point::max();  // commands wake the thread themselves
  const clock::time_point now = current_time();
  const worker_pair all = workers();
  clock::time_point until =
      std::min({watch_.next_look(now), succession_.next_turn(all.active != nullptr),
                renewal_.next_look(), report_.is_due()});
  if (!looks_.empty()) {
    // The longer it has taken, the less a little more matters.
    until = std::min(until, now + std::clamp<clock::duration>((now - looking_since_) / 8,
                                                              shortest_look, longest_look));
  }
  if (const auto due = worker_memory::standby_is_left_out(all); due > now) {
    until = std::min(until, due);
  }
  for (const incarnation* worker : {all.active, all.next}) {
    if (worker == nullptr) continue;
    until = std::min(until, watch_.answer_is_due(*worker, all.active == nullptr));
  }
  return until;
}

void supervisor::sleep() {
  clock::time_point until = next_turn();
  pollfd entries[9] = {{.fd = parts_.wakes, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0}};
  const auto add = [&](std::size_t at, const incarnation* worker) {
    if (worker == nullptr || !worker->is_process()) return;
    entries[at].fd = worker->ending();
    entries[at + 1].fd = worker->control();
    if (worker->has_unsent()) entries[at + 1].events |= POLLOUT;
    entries[at + 2].fd = worker->wakes().get();
  };
  const worker_pair all = workers();
  add(1, all.active);
  add(4, all.next);
  if (const incarnation* lost = settlement_.worker()) entries[7].fd = lost->ending();
  if (all.next != nullptr) entries[8].fd = all.next->news();

  // The last look before sleeping; later events ring the eventfd.
  if (const auto held = role::try_take(parts_.completions)) {
    if (!parts_.completions.announce_sleep(*held)) until = current_time();
  }
  timespec timeout{};
  timespec* limit = nullptr;
  if (until != clock::time_point::max()) {
    const clock::time_point now = current_time();
    const auto left = until > now ? until - now : clock::duration::zero();
    timeout.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    timeout.tv_nsec = (left % 1s).count();
    limit = &timeout;
  }
  if (::ppoll(entries, std::size(entries), limit, nullptr) <= 0) return;
  if (entries[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(parts_.wakes, &count, sizeof(count));
  }
  if (entries[3].revents != 0) os::take_event(all.active->wakes());
  if (entries[6].revents != 0) os::take_event(all.next->wakes());
  handle({.ended = entries[1].revents != 0, .has_spoken = entries[2].revents != 0},
         {.ended = entries[4].revents != 0,
          .has_spoken = entries[5].revents != 0 || entries[8].revents != 0},
         entries[7].revents != 0);
}

void supervisor::handle(worker_events of_active, worker_events of_next, bool lost_has_ended) {
  if (lost_has_ended) reap_lost();
  if (active_) active_->hear_threads();
  if (succession_.next() != nullptr) hear_next(of_next);
  if (active_) hear_active(of_active);
}

void supervisor::hear_next(worker_events what) {
  incarnation& worker = *succession_.next();
  // Also if its process has ended: its last message says why.
  if ((what.has_spoken || what.ended) && worker.control() >= 0) worker.on_control();
  const bool ending = worker.is_process() && worker.control() < 0;
  if (what.ended || ending) {
    const os::exit_report report = worker.end();
    // Unless it has reported why it fails before it exited.
    worker.fail({.code = errc::device_unavailable,
                 .message = fmt::format("{} ended {} {} before it was needed{}", worker.called(),
                                        report.signalled ? "by signal" : "with status", report.code,
                                        worker.doubts())});
  }
  if (worker.where() == incarnation::stage::failed) next_failed(worker.failure());
}

void supervisor::hear_active(worker_events what) {
  incarnation& worker = *active_;
  if ((what.has_spoken || what.ended) && worker.control() >= 0) worker.on_control();
  const bool has_failed = worker.where() == incarnation::stage::failed;
  const bool ending = worker.is_process() && worker.control() < 0;
  if (what.ended || ending) {
    const os::exit_report report = what.ended ? worker.end() : os::exit_report{};
    // A worker that reported why it fails, and then exited, needs no other explanation.
    const bool crashed = report.signalled || report.unknown;
    if (!has_failed || crashed) {
      sign_of_loss sign{
          .why = {.code = errc::device_fault, .message = "the worker process is ending"},
          .ended = what.ended,
          .ask_its_end = !what.ended,
          .at = current_time()};
      if (what.ended) explain_end(worker, report, sign);
      return lose_active(std::move(sign));
    }
  }
  if (!has_failed) return;
  error why = worker.failure();
  why.message += worker.last_words();
  if (!worker.queues_failed()) {
    // No request is to blame, for example if the process could not map memory. An impossible
    // message is different: a request may have overwritten the worker's memory.
    const bool lied = why.code == errc::protocol_violation;
    return lose_active({.what = {.doubtful = !lied},
                        .why = std::move(why),
                        .ended = what.ended,
                        .at = current_time()});
  }
  // The process has lost its context. Requests behind a fault in its queue never run, because a
  // queue is in order; the marks show the progress of other queues once the process has been
  // reaped.
  const auto culprit = [&] {
    const role held(parts_.completions);
    parts_.completions.poll(held);  // requests completed since are no suspects
    return parts_.completions.only_suspect(held);
  }();
  lose_active(
      {.what = {.culprit_ticket = culprit, .culprit_known = culprit.has_value(), .of_device = true},
       .why = std::move(why),
       .ended = what.ended,
       .stands_still = culprit.has_value(),
       .at = current_time()});
}

void supervisor::tick() {
  const clock::time_point now = current_time();
  if (gone()) return;
  std::erase_if(looks_, [](auto& look) { return look(); });
  if (auto why = succession_.overdue(now)) {
    // A process that was forked, and hangs, is not the server's fault.
    if (parts_.config.forked_by && succession_.next()->pid() <= 0) {
      parts_.config.forked_by->own().give_up();
    }
    next_failed(*std::move(why));
  }
  end_unresponsive(now);
  if (succession_.start_is_due(now)) start_next();
  if (!active_ && succession_.may_serve(now)) activate_next();
  if (active_ && renewal_.is_wanted()) look_after_renewal(now);
  finish_protects();
  if (watch_.is_due(now)) check_requests(now);
  if (parts_.completions.totals().answered.load(std::memory_order_relaxed) != answered_before_) {
    note_answer();
  }
  if (now >= report_.is_due()) report_loss();
  const incarnation* standby = active_ ? succession_.next() : nullptr;
  const bool is_ready =
      standby != nullptr && standby->where() == incarnation::stage::ready && standby->warm();
  const auto pid =
      standby != nullptr && standby->pid() > 0 ? std::optional(standby->pid()) : std::nullopt;
  bool was_ready = false;
  {
    const std::lock_guard lock(mutex_);
    was_ready = std::exchange(health_.standby_ready, is_ready);
    health_.standby_pid = pid;
  }
  if (is_ready && !was_ready) note_event({.what = device_event::kind::standby_ready, .pid = pid});
}

void supervisor::check_requests(clock::time_point now) {
  std::optional<sign_of_loss> sign;
  {
    const role held(parts_.completions);
    parts_.completions.poll(held);
    sign = violation_sign(held);
    try {
      if (!sign) sign = watch_.check_limits(held, now);
      if (!sign) {
        note_unexplained(cause_.look(held));
        sign = watch_.check_progress(held, active_.get(), now);
      }
    } catch (const std::bad_alloc&) {
      // Nothing is decided yet, so it can be checked again.
      constexpr auto soon = 1ms;
      (void)watch_.schedule_check((now + soon).time_since_epoch() / 1ns);
    }
  }
  ask_watches(now);
  if (sign) lose_active(*std::move(sign));
}

void supervisor::ask_watches(clock::time_point now) {
  std::erase_if(request_watches_, [&](const auto& one) {
    const auto watch = one.lock();
    if (!watch) return true;
    const clock::time_point next = watch->look(now);
    // This thread needs no waking.
    if (next != clock::time_point::max())
      (void)watch_.schedule_check(next.time_since_epoch() / 1ns);
    return false;
  });
}

void supervisor::watch_with(std::weak_ptr<request_watch> watch) {
  execute([this, added = std::move(watch)] { request_watches_.push_back(added); });
}

void supervisor::end_running(std::uint16_t slot, std::uint64_t ticket, error why) {
  execute([this, slot, ticket, why = std::move(why)] {
    {
      const role held(parts_.completions);
      parts_.completions.poll(held);
      const record& r = parts_.completions.at(slot);
      const bool runs = r.in_flight() && r.ticket == ticket && !r.withdrawn() &&
                        parts_.completions.started(held, r.lane) >= r.place;
      if (!active_ || !runs) return;
    }
    lose_active({.what = {.culprit_ticket = ticket, .culprit_known = true, .by_run_limit = true},
                 .why = why,
                 .at = current_time()});
  });
}

void supervisor::end_unresponsive(clock::time_point now) {
  const auto is_due = [&](const incarnation* worker) {
    return worker != nullptr && now >= watch_.answer_is_due(*worker, !active_);
  };
  if (is_due(succession_.next())) next_failed(worker_watch::has_not_answered());
  if (is_due(active_.get())) {
    lose_active({.what = {.doubtful = true}, .why = worker_watch::has_not_answered(), .at = now});
  }
}

void supervisor::look_until(unique_function<bool()> look) {
  execute([this, held = std::move(look)]() mutable {
    if (held()) return;
    looks_.push_back(std::move(held));
    looking_since_ = current_time();
  });
}

}  // namespace troupe
