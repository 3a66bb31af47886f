// Workers start, get the mailbox, and are lost.
#include "base/short_of_memory.hpp"
#include "device/supervision/fork_requests.hpp"
#include "device/supervision/loss/exit_cause.hpp"
#include "device/supervision/supervisor.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

using namespace std::chrono_literals;

void supervisor::start_next() {
  std::optional<error> failed;
  try {
    failed = succession_.start(active_.get(), settlement_.worker(), memory_.frozen());
  } catch (const std::bad_alloc&) {
    failed = no_host_memory();
  }
  if (failed) next_failed(*std::move(failed));
}

void supervisor::next_failed(error why) {
  if (!succession_.note_failed(why.code, active_ != nullptr)) return give_up(std::move(why));
  note_event({.what = device_event::kind::start_failed,
              .wait = succession_.time_to_start(current_time()),
              .why = why});
  if (active_ && !succession_.is_start_planned()) renewal_.fail(why);
}

void supervisor::activate_next() {
  reactor& completions = parts_.completions;
  std::optional<role> taken(std::in_place, completions);
  const role& held = *taken;
  completions.catch_up(held);  // hands over everything sent so far, in order
  completions.poll(held);      // but answers requests known to read undefined content
  completions.drop_answered(held);
  const std::vector<std::uint16_t> replay = completions.in_flight(held);
  std::vector<std::uint64_t> entries;
  for (const std::uint16_t slot : replay) {
    const record& r = completions.at(slot);
    entries.push_back(wire::ring_entry{.ticket = r.ticket, .slot = slot, .lane = r.lane}.packed());
  }
  await_answer(held, replay);  // the last step that may lack memory: nothing is handed over yet
  const bool first_time = generation_.load(std::memory_order_relaxed) == 0;
  const clock::time_point now = current_time();
  {
    // Before the generation and the worker's answers can show it: no thread may take the worker in
    // service for a standby, or get an answer from an unknown worker.
    const std::lock_guard lock(mutex_);
    health_.standby_ready = false;
    health_.standby_pid.reset();
    missing_ = succession_.next()->missing();
    if (!first_time && next_serves_for_ != cause::renewal) ++health_.restarts;
    if (next_serves_for_ == cause::loss) health_.last_failover = now - waiting_since_;
  }
  active_ = succession_.take_next();
  completions.attach(held, active_->segment(), active_->number(), replay);
  watch_.begin(now);
  succession_.put_on_trial(held, replay);
  generation_.fetch_add(1, std::memory_order_release);
  completions.ends(held).note_generation(generation());
  pid_.store(active_->pid(), std::memory_order_release);
  // Before the first answer can come: its receiver must find the device ready.
  state_.store(device_state::ready, std::memory_order_release);
  parts_.requests.activate(active_->number(), entries, completions.walked_ticket(held),
                           !settlement_.holds_back());
  note_service(now, !replay.empty());
  taken.reset();
  active_->serves(generation());

  publish(device_state::ready);
  renewal_.note_service(active_->number());
  if (!parts_.config.standby || !active_->is_process()) return;
  if (settlement_.worker() == nullptr) return start_next();
  succession_.start_after_reaping(now);
}

void supervisor::lose_active(sign_of_loss sign) {
  await_next(cause::loss, sign.at);
  sign.why.device = parts_.ordinal;
  sign.why.generation = generation();
  if (!active_->is_process()) return condemn(std::move(sign.why));

  clear_mapped_culprit(role(parts_.completions), parts_.completions, sign.what);
  if (sign.what.by_run_limit) sign.why.message += active_->ask_where_it_is();
  // Before the state, and before the lost requests are answered: no thread may take the pid for a
  // worker's.
  const auto pid = worker_pid();
  pid_.store(-1, std::memory_order_release);
  state_.store(device_state::recovering, std::memory_order_release);
  if (settlement_.worker() != nullptr) reap_lost();
  // It matters whether any request was answered since the last loss.
  renewal_.poll_and_withdraw(active_->segment());
  // If only one process may use the device, the next one starts after the last one has gone. If
  // this may be the device's end, the culprit must be known first.
  const bool may_be_the_end = !is_explained(sign.what, {}) && succession_.is_spent(sign.at);
  const bool reaps_first =
      !parts_.device_memory.on_device() || parts_.backend.description.one_process || may_be_the_end;
  if (reaps_first && !sign.ended) {
    // Killed if it still runs, and reaped in any case: after this none of its stores can land.
    const os::exit_report report = active_->end();
    if (std::exchange(sign.ask_its_end, false)) {
      explain_end(*active_, report, sign);
    }
    sign.ended = true;
  }
  {
    const std::lock_guard lock(mutex_);
    health_.last_fault = sign.why;
    recovery_.reset();
  }
  report_.begin({.what = device_event::kind::lost,
                 .generation = sign.why.generation,
                 .at = std::chrono::system_clock::now() -
                       std::chrono::duration_cast<std::chrono::system_clock::duration>(
                           current_time() - sign.at),
                 .pid = pid,
                 .budget = parts_.config.restarts.restarts,
                 .why = sign.why},
                sign.at);
  active_->kill();
  if (parts_.config.forked_by) parts_.config.forked_by->own().hurry();
  settlement::outcome left = settlement_.take_over(std::move(active_), sign);
  const bool explained = left.explained;
  note_outcome(std::move(left));
  if (sign.ended) settle_lost();  // it was reaped, and no event of its end will come
  // Until it is reaped it may turn out to be explained; see `note_outcome`.
  const bool goes_on = succession_.note_loss(sign.at, explained);
  if (settlement_.is_settled()) report_loss();
  if (!goes_on) return give_up(std::move(sign.why));
  const clock::time_point now = current_time();
  if (succession_.start_is_due(now)) {
    start_next();
  } else if (succession_.may_serve(now)) {
    activate_next();
  }
}

// Fills in the cause from the exit status of its process and the records it left.
void supervisor::explain_end(const incarnation& worker, const os::exit_report& report,
                             sign_of_loss& sign) {
  explain_by_exit(role(parts_.completions), parts_.completions, *worker.segment(), report, sign);
  const std::uint64_t address = worker.segment()->crash.address;
  const auto base = reinterpret_cast<std::uint64_t>(parts_.device_memory.base());
  const bool frozen =
      sign.what.culprit_ticket && std::ranges::any_of(memory_.frozen(), [&](const frozen_range& r) {
        return address >= base + r.offset && address - base - r.offset < r.bytes;
      });
  if (frozen) sign.why.message += ", in a frozen tensor, which nothing may write";
  sign.why.message += worker.last_words();
}

void supervisor::reap_lost() {
  settle_lost();
  report_loss();
}

void supervisor::settle_lost() {
  if (auto fault = settlement_.reap()) {
    report_.explain(*fault);
    // Before any answer for it: its receiver must find the cause in the device's health.
    const std::lock_guard lock(mutex_);
    health_.last_fault = *std::move(fault);
  }
  succession_.note_reaped(settlement_.reaped_at());
  note_outcome(settlement_.settle_reaped());
}

void supervisor::note_outcome(settlement::outcome left) {
  for (const clock::time_point at : left.refunds)
    succession_.refund(at);
  report_.add(std::move(left.of_requests));
  note_unexplained(std::move(left.unexplained));
}

void supervisor::note_unexplained(std::optional<error> fault) {
  if (!fault) return;
  note_event(
      {.what = device_event::kind::unexplained, .generation = fault->generation, .why = fault});
  const std::lock_guard lock(mutex_);
  ++health_.unexplained_faults;
  if (health_.last_fault && health_.last_fault->generation == fault->generation) {
    health_.last_fault = std::move(fault);
  }
}

void supervisor::report_loss() {
  const clock::time_point now = current_time();
  report_.finish(succession_.spent(now), succession_.time_to_serve(now));
}

void supervisor::note_event(device_event e) {
  if (e.generation == 0) e.generation = generation();
  report_.record(std::move(e));
}

// Finds out when the worker in service answers first. Most often one of the first requests in
// flight is answered first, and their completions tell the exact time; `tick` sees all others.
void supervisor::await_answer(const role&, std::span<const std::uint16_t> replay) {
  constexpr std::size_t first_ones = 64;
  answered_before_ = parts_.completions.totals().answered.load(std::memory_order_relaxed);
  if (next_serves_for_ != cause::loss) return;
  for (const std::uint16_t slot : replay.first(std::min(replay.size(), first_ones))) {
    record& r = parts_.completions.at(slot);
    if (r.answered()) continue;
    // First the memory: without it the completion stays in its place.
    auto done = std::make_unique<completion>();
    *done = std::move(r.done);
    r.done = [this, done = std::move(done)](std::byte* reply, error* failure) {
      if (failure == nullptr) note_answer();
      if (*done) (*done)(reply, failure);
    };
  }
}

// With the role, so no answer can come before.
void supervisor::note_service(clock::time_point now, bool answers_are_due) {
  using kind = device_event::kind;
  device_event ready{.what = kind::recovered, .pid = worker_pid(), .took = now - waiting_since_};
  if (next_serves_for_ == cause::start) ready.what = kind::started, ready.took = {};
  if (next_serves_for_ == cause::renewal) ready.what = kind::renewed;
  if (ready.what != kind::recovered || !answers_are_due) return note_event(std::move(ready));
  ready.generation = generation();
  const std::lock_guard lock(mutex_);
  recovery_ = {std::move(ready), waiting_since_};
}

// With the role, on any thread, before the answer is given.
void supervisor::note_answer() {
  std::optional<device_event> recovered;
  {
    const std::lock_guard lock(mutex_);
    if (!recovery_) return;
    recovered = std::move(recovery_->event);
    recovered->took = current_time() - recovery_->lost_at;
    health_.last_failover = recovered->took;
    recovery_.reset();
  }
  report_.record(*std::move(recovered));
}

// Reports an invalid write of the worker in service.
std::optional<sign_of_loss> supervisor::violation_sign(const role& held) {
  auto violation = parts_.completions.take_violation(held);
  if (!violation || !active_) return std::nullopt;
  return sign_of_loss{.why = *std::move(violation), .at = current_time()};
}

void supervisor::on_alarm(std::uint64_t fault) {
  if (gone()) return;
  note_event({.what = device_event::kind::xid, .count = static_cast<std::int64_t>(fault)});
  // The end of a lost worker raises alarms of its own.
  constexpr auto aftermath = 20ms;
  if (!active_ || !active_->is_process() || settlement_.worker() != nullptr ||
      current_time() - settlement_.reaped_at() < aftermath) {
    return;
  }
  auto sign = watch_.check_alarm(workers(), *parts_.environment, *parts_.backend.source);
  if (sign) lose_active(*std::move(sign));
}

}  // namespace troupe
