#include "device/supervisor.hpp"

#include "core/spin_wait.hpp"
#include "device/locate.hpp"
#include "os/event.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <tuple>

namespace troupe {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t no_deadline = std::numeric_limits<std::int64_t>::max();
// How often a worker with work to do is looked at; an idle device is not looked at at all.
constexpr auto watch_interval = 100ms;
// A request that has its answer is passed over by its worker as soon as that comes to it, unless it
// was in a queue already, where it can hang like any other.
constexpr std::int64_t withdrawal_ns = 100'000'000;
constexpr auto driver_spins = 50us;
// Between two looks at what has no event.
constexpr auto shortest_look = 20us;
constexpr auto longest_look = 1ms;
// However many completions come, the thread looks after its other duties this often.
constexpr auto longest_drive = 1ms;

std::int64_t nanoseconds_of(supervisor::clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(t.time_since_epoch()).count();
}

}  // namespace

supervisor::supervisor(parts p)
    : parts_(std::move(p)), earliest_deadline_ns_(no_deadline), random_(std::random_device{}()) {
  plan_ = {.config = &parts_.config,
           .requests = &parts_.requests,
           .device_memory = &parts_.device_memory,
           .host_memory = &parts_.host_memory,
           .picture = &picture_,
           .program_wakes = parts_.wakes,
           .executable = worker_executable(parts_.config),
           .plugin = parts_.backend.plugin,
           .device = parts_.backend.description.uuid};
  for (memory_pool* pool : {&parts_.device_memory, &parts_.host_memory}) {
    if (pool->on_device()) continue;
    picture_.pieces.push_back(
        {.space = pool->space(), .bytes = pool->bytes(), .descriptor = pool->memory().get()});
  }
  if (parts_.device_memory.on_device()) {
    parts_.device_memory.on_slab([this](const slab_place& slab, bool added) {
      change_memory(added ? wire::control::map : wire::control::unmap,
                    {.space = memory_space::device,
                     .offset = slab.offset,
                     .bytes = slab.bytes,
                     .descriptor = slab.slab->descriptor(),
                     .keep = slab.slab});
    });
    picture_.host_reach = parts_.host_memory.watch_reach(this, [this](std::uint64_t reach) {
      change_memory(wire::control::share, {.space = memory_space::host, .bytes = reach});
    });
    parts_.backend.source->on_fault([this] { execute([this] { on_alarm(); }); });
    // So that the first host tensors and staged copies find theirs ready.
    picture_.host_reach = std::max(picture_.host_reach, memory_pool::reach_step_bytes);
  }
  if (parts_.around->has_device_thread()) {
    thread_ = std::jthread([this] { run(); });
  } else {
    start_next();
  }
}

supervisor::~supervisor() {
  parts_.host_memory.unwatch_reach(this);
  parts_.device_memory.on_slab({});
  if (parts_.backend.source) parts_.backend.source->on_fault({});
  stop({.code = errc::device_stopped, .message = "the device was let go"});
}

void supervisor::stop(error reason) {
  execute([this, why = std::move(reason)]() mutable {
    if (!gone()) stop_requested_.store(true, std::memory_order_relaxed);
    give_up(std::move(why));
    stopping_ = true;
  });
  if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
  if (!parts_.around->has_device_thread() && !ended_) {
    run_commands();
    end_all();
  }
}

device_health supervisor::health() const {
  const std::lock_guard lock(mutex_);
  device_health now = health_;
  now.state = state();
  now.generation = generation();
  return now;
}

error supervisor::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return stop_reason_.value_or(error{.code = errc::device_stopped});
}

void supervisor::watch(generation_watcher watcher) {
  auto shared = std::make_shared<generation_watcher>(std::move(watcher));
  const bool taken = execute([this, shared] {
    const bool ended = gone();
    (*shared)(ended ? std::nullopt : std::optional(generation()));
    const std::lock_guard lock(mutex_);
    if (!ended) watchers_.push_back(shared);
  });
  if (!taken) (*shared)(std::nullopt);
}

bool supervisor::execute(unique_function<void()> command) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    commands_.push_back(std::move(command));
  }
  wake();
  return true;
}

void supervisor::wake() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(parts_.wakes, &one, sizeof(one));
}

void supervisor::note_deadline(std::int64_t deadline_ns) noexcept {
  std::int64_t earliest = earliest_deadline_ns_.load(std::memory_order_relaxed);
  while (deadline_ns < earliest) {
    if (earliest_deadline_ns_.compare_exchange_weak(earliest, deadline_ns)) return wake();
  }
}

void supervisor::begin_watching() noexcept {
  if (!watching_.exchange(true)) wake();
}

void supervisor::run() {
  ::prctl(PR_SET_NAME, "troupe-device");
  start_next();
  while (!stopping_) {
    drive();
    sleep();
    run_commands();
    tick();
  }
  end_all();
}

void supervisor::take_turn() {
  if (stopping_) return;
  drive();
  const auto ask = [this](const incarnation* worker) {
    return worker != nullptr ? parts_.around->signs_of(*worker) : surroundings::signs{};
  };
  heed(ask(active_.get()), ask(next_.get()), dying_ && ask(dying_->worker.get()).ended);
  run_commands();
  tick();
}

void supervisor::end_all() {
  active_.reset();
  next_.reset();
  dying_.reset();
  // A sender that passed the gate before it closed may still be about to publish.
  parts_.completions.take_role();
  fail_everything(stop_reason());
  parts_.completions.leave_role();
  std::deque<unique_function<void()>> rest;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    rest.swap(commands_);
  }
  for (auto& command : rest)
    command();
}

void supervisor::drive() {
  reactor& completions = parts_.completions;
  if (!completions.try_take_role()) return;
  const clock::time_point until = current_time() + longest_drive;
  detail::spin_wait spin(driver_spins);
  for (;;) {
    if (completions.poll()) spin = detail::spin_wait(driver_spins);
    if (completions.in_flight_count() == 0 || !completions.wanted_promptly() || !spin.step() ||
        current_time() >= until) {
      break;
    }
  }
  if (!lose_liar()) completions.leave_role();
}

// With the role; without it if a worker was lost, because it wrote what cannot be.
bool supervisor::lose_liar() {
  auto violation = parts_.completions.take_violation();
  if (!violation || !active_) return false;
  parts_.completions.leave_role();
  lose_active({.why = std::move(*violation), .at = current_time()});
  return true;
}

supervisor::clock::time_point supervisor::next_turn() const {
  clock::time_point until = clock::time_point::max();
  const std::int64_t deadline = earliest_deadline_ns_.load();
  if (deadline != no_deadline) until = clock::time_point(std::chrono::nanoseconds(deadline));
  if (watching_.load()) until = std::min(until, current_time() + watch_interval);
  if (!looks_.empty()) {
    // The longer it has taken, the less a little more matters.
    const clock::time_point now = current_time();
    until = std::min(until, now + std::clamp<clock::duration>((now - looking_since_) / 8,
                                                              shortest_look, longest_look));
  }
  if (next_ && next_->where() == incarnation::stage::starting) {
    until = std::min(until, detail::deadline_after(next_started_at_, parts_.config.start_timeout));
  }
  if (!next_ && next_start_ != clock::time_point::min()) until = std::min(until, next_start_);
  if (next_ && next_->where() == incarnation::stage::ready && !active_) {
    until = std::min(until, activate_after_);
  }
  for (const incarnation* worker : {active_.get(), next_.get()}) {
    if (worker != nullptr) until = std::min(until, debt_is_due(*worker));
  }
  return until;
}

// A worker that does not answer, or does not read, keeps others waiting no longer than one that
// does not start.
supervisor::clock::time_point supervisor::debt_is_due(const incarnation& worker) const {
  const auto since = worker.owes_since();
  return since ? detail::deadline_after(*since, parts_.config.start_timeout)
               : clock::time_point::max();
}

void supervisor::end_debtors(clock::time_point now) {
  const auto silence = [] {
    return error{.code = errc::device_fault,
                 .message = "silence: it does not answer on its control socket"};
  };
  if (next_ && now >= debt_is_due(*next_)) next_failed(silence());
  if (active_ && now >= debt_is_due(*active_)) {
    lose_active({.what = {.culprit_ticket = std::nullopt, .from_outside = true},
                 .why = silence(),
                 .at = now});
  }
}

void supervisor::sleep() {
  clock::time_point until = next_turn();
  pollfd entries[8] = {{.fd = parts_.wakes, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0},
                       {.fd = -1, .events = POLLIN, .revents = 0}};
  const auto add = [&](std::size_t at, const incarnation* worker) {
    if (worker == nullptr || !worker->is_process()) return;
    entries[at].fd = worker->pidfd();
    entries[at + 1].fd = worker->control();
    if (worker->has_unsent()) entries[at + 1].events |= POLLOUT;
    entries[at + 2].fd = worker->wakes().get();
  };
  add(1, active_.get());
  add(4, next_.get());
  if (dying_) entries[7].fd = dying_->worker->pidfd();

  // The last look before sleeping; whatever comes after it rings the eventfd.
  if (parts_.completions.try_take_role()) {
    if (!parts_.completions.announce_sleep()) until = current_time();
    parts_.completions.leave_role();
  }
  timespec patience{};
  timespec* limit = nullptr;
  if (until != clock::time_point::max()) {
    const clock::time_point now = current_time();
    const auto left = until > now ? until - now : clock::duration::zero();
    patience.tv_sec = std::chrono::duration_cast<std::chrono::seconds>(left).count();
    patience.tv_nsec = (left % 1s).count();
    limit = &patience;
  }
  if (::ppoll(entries, std::size(entries), limit, nullptr) <= 0) return;
  if (entries[0].revents != 0) {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(parts_.wakes, &count, sizeof(count));
  }
  if (entries[3].revents != 0) os::take_event(active_->wakes());
  if (entries[6].revents != 0) os::take_event(next_->wakes());
  heed({.ended = entries[1].revents != 0, .has_spoken = entries[2].revents != 0},
       {.ended = entries[4].revents != 0, .has_spoken = entries[5].revents != 0},
       entries[7].revents != 0);
}

void supervisor::heed(surroundings::signs of_active, surroundings::signs of_next,
                      bool dying_has_ended) {
  if (dying_has_ended) bury();
  if (active_) active_->hear_threads();
  hear(next_, of_next);
  hear(active_, of_active);
}

void supervisor::hear(std::unique_ptr<incarnation>& worker, surroundings::signs what) {
  if (!worker) return;
  // Also when its process has ended: its last message says why.
  if ((what.has_spoken || what.ended) && worker->control() >= 0) worker->on_control();
  const bool serving = &worker == &active_;
  const bool ending = worker->is_process() && worker->control() < 0;
  if (what.ended || ending) {
    if (serving) {
      sign_of_loss sign{
          .why = {.code = errc::device_fault, .message = "the worker process is ending"},
          .at = current_time()};
      if (what.ended) {
        std::tie(sign.what, sign.why) = explain(*worker, worker->end());
        sign.ended = true;
      } else {
        sign.ask_its_end = true;
      }
      return lose_active(std::move(sign));
    }
    if (worker->where() != incarnation::stage::failed) {
      const os::exit_report report = worker->end();
      worker->fail(
          {.code = errc::device_unavailable,
           .message = fmt::format("a worker ended {} {} before it was needed",
                                  report.signalled ? "by signal" : "with status", report.code)});
    }
  }
  if (worker->where() == incarnation::stage::failed) {
    error why = worker->failure();
    if (!serving) return next_failed(std::move(why));
    // The context is lost for its own process. What comes after a fault in its queue never runs,
    // because a queue is in order; what other queues still do shows in their marks once the process
    // has been reaped.
    parts_.completions.take_role();
    parts_.completions.poll();  // what has completed since is no suspect
    const std::optional<std::uint64_t> culprit = parts_.completions.only_suspect();
    parts_.completions.leave_role();
    lose_active({.what = {.culprit_ticket = culprit, .culprit_known = culprit.has_value()},
                 .why = std::move(why),
                 .stands_still = culprit.has_value(),
                 .at = current_time()});
  }
}

void supervisor::run_commands() {
  std::deque<unique_function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (auto& command : commands)
    command();
}

void supervisor::tick() {
  const clock::time_point now = current_time();
  if (gone()) return;
  std::erase_if(looks_, [](auto& look) { return look(); });
  if (next_ && next_->where() == incarnation::stage::starting &&
      now - next_started_at_ >= parts_.config.start_timeout) {
    next_failed({.code = errc::device_unavailable,
                 .message = fmt::format("the worker was not ready after {} ms",
                                        parts_.config.start_timeout / 1ms)});
  }
  end_debtors(now);
  if (!next_ && next_start_ != clock::time_point::min() && now >= next_start_) start_next();
  if (next_ && next_->where() == incarnation::stage::ready && !active_ && now >= activate_after_) {
    activate_next();
  }
  finish_protects();
  if (watching_.load() || earliest_deadline_ns_.load() <= nanoseconds_of(now)) {
    parts_.completions.take_role();
    parts_.completions.poll();
    if (!lose_liar()) check_deadlines(nanoseconds_of(now));
    if (parts_.completions.has_role()) check_progress(now);
    if (parts_.completions.has_role()) parts_.completions.leave_role();
  }
  const std::lock_guard lock(mutex_);
  health_.standby_ready =
      active_ && next_ && next_->where() == incarnation::stage::ready && next_->warm();
  health_.standby_pid =
      active_ && next_ && next_->pid() > 0 ? std::optional(next_->pid()) : std::nullopt;
}

// With the role; without it if a worker was lost.
void supervisor::check_deadlines(std::int64_t now_ns) {
  reactor& completions = parts_.completions;
  // Reset before looking: a deadline announced meanwhile lowers it again, and one that was not,
  // because an earlier one stood there, is of a request that is taken up here.
  earliest_deadline_ns_.store(no_deadline, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  completions.walk();
  std::int64_t earliest = no_deadline;
  for (const std::uint16_t slot : completions.in_flight()) {
    const record& r = completions.at(slot);
    if (r.deadline_ns == 0 || r.withdrawn) continue;
    const bool running = active_ && completions.started(r.lane) >= r.place;
    const std::int64_t limit = r.answered ? r.deadline_ns + withdrawal_ns : r.deadline_ns;
    if (now_ns < limit) {
      earliest = std::min(earliest, limit);
    } else if (running) {
      const auto deadline = clock::time_point(std::chrono::nanoseconds(r.deadline_ns));
      error why{.code = errc::device_fault,
                .message = "hang: still running at its deadline, so its worker was ended"};
      const loss what{.culprit_ticket = r.ticket, .from_outside = false, .culprit_known = true};
      completions.leave_role();
      earliest_deadline_ns_.store(now_ns);  // the others' have not all been looked at
      return lose_active({.what = what, .why = std::move(why), .at = deadline});
    } else if (!r.answered) {
      completions.answer_early(slot,
                               {.code = errc::deadline_exceeded, .message = "before it was run"});
    }
  }
  std::int64_t announced = earliest_deadline_ns_.load();
  while (earliest < announced &&
         !earliest_deadline_ns_.compare_exchange_weak(announced, earliest)) {
  }
}

// With the role; without it if a worker was lost.
void supervisor::check_progress(clock::time_point now) {
  reactor& completions = parts_.completions;
  if (completions.in_flight_count() == 0) {
    // A request sent just now turns it on again and wakes this thread.
    watching_.store(false, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    completions.walk();
    if (completions.in_flight_count() > 0) watching_.store(true);
    pinged_ = false;
    last_progress_at_ = now;
    return;
  }
  const std::uint64_t progress = completions.progress();
  if (!active_ || !active_->is_process() || progress != last_progress_) {
    last_progress_ = progress;
    last_progress_at_ = now;
    pinged_ = false;
    return;
  }
  if (!pinged_) {
    if (now - last_progress_at_ < 2 * watch_interval) return;
    active_->ping();
    pinged_ = true;
    last_progress_at_ = now;
  } else if (active_->pongs() == active_->pings_sent()) {
    pinged_ = false;
    last_progress_at_ = now;
  } else if (now - last_progress_at_ >= parts_.config.silence_timeout) {
    completions.leave_role();
    lose_active({.what = {.culprit_ticket = std::nullopt, .from_outside = true},
                 .why = {.code = errc::device_fault,
                         .message = fmt::format("silence: no sign of life for {} ms",
                                                parts_.config.silence_timeout / 1ms)},
                 .at = now});
  }
}

// From whatever thread allocates.
void supervisor::change_memory(wire::control kind, memory_piece piece) {
  {
    // The number and the place in the queue under one lock, so that workers count in order.
    const std::lock_guard lock(mutex_);
    const std::uint64_t version = memory_version_.load(std::memory_order_relaxed) + 1;
    memory_version_.store(version, std::memory_order_release);
    if (ended_) return;
    commands_.emplace_back([this, change = memory_change{kind, std::move(piece), version}] {
      picture_.version = change.version;
      if (change.kind == wire::control::share) {
        picture_.host_reach = std::max(picture_.host_reach, change.piece.bytes);
      } else if (change.kind == wire::control::map) {
        picture_.pieces.push_back(change.piece);
      } else {
        std::erase_if(picture_.pieces, [&](const memory_piece& p) {
          return p.space == change.piece.space && p.offset == change.piece.offset;
        });
      }
      for (incarnation* worker : {active_.get(), next_.get()}) {
        if (worker != nullptr) worker->change_memory(change);
      }
    });
  }
  wake();
}

void supervisor::look_until(unique_function<bool()> look) {
  execute([this, held = std::move(look)]() mutable {
    if (held()) return;
    looks_.push_back(std::move(held));
    looking_since_ = current_time();
  });
}

future<void> supervisor::protect(detail::buffer_ref buffer, bool read_only) {
  promise<void> done;
  future<void> answer = done.get_future();
  auto shared = std::make_shared<promise<void>>(std::move(done));
  const bool taken = execute([this, shared, held = std::move(buffer), read_only]() mutable {
    const frozen_range range{held->offset, held->capacity_bytes};
    std::erase_if(frozen_, [&](const frozen_range& r) { return r.offset == range.offset; });
    if (read_only) frozen_.push_back(range);
    pending_protect pending{.done = std::move(*shared), .awaited = {}};
    for (incarnation* worker : {active_.get(), next_.get()}) {
      if (worker == nullptr || worker->where() == incarnation::stage::failed) continue;
      worker->protect(range, read_only);
      if (worker->is_process()) {
        pending.awaited.emplace_back(worker->number(), worker->protects_sent());
      }
    }
    protects_.push_back(std::move(pending));
    finish_protects();
  });
  if (!taken) return make_failed_future<void>(stop_reason());
  return answer;
}

void supervisor::finish_protects() {
  const auto acknowledged = [&](const std::pair<std::uint64_t, std::uint64_t>& awaited) {
    for (const incarnation* worker : {active_.get(), next_.get()}) {
      if (worker != nullptr && worker->number() == awaited.first) {
        return worker->protects_acknowledged() >= awaited.second;
      }
    }
    return true;  // that worker is gone, and its mapping with it
  };
  for (std::size_t i = 0; i < protects_.size();) {
    if (std::ranges::all_of(protects_[i].awaited, acknowledged)) {
      promise<void> done = std::move(protects_[i].done);
      protects_.erase(protects_.begin() + static_cast<std::ptrdiff_t>(i));
      done.set_value();
    } else {
      ++i;
    }
  }
}

void supervisor::publish(device_state state) {
  state_.store(state, std::memory_order_release);
  std::vector<std::shared_ptr<generation_watcher>> watchers;
  const bool gone = state == device_state::stopped || state == device_state::condemned;
  if (state != device_state::ready && !gone) return;
  {
    const std::lock_guard lock(mutex_);
    watchers = watchers_;
    if (gone) watchers_.clear();
  }
  for (const auto& watcher : watchers) {
    (*watcher)(gone ? std::nullopt : std::optional(generation()));
  }
}

error supervisor::why_unknown(const request_type& type) const {
  const std::string library(type.library());
  {
    const std::lock_guard lock(mutex_);
    for (const worker::missing_library& one : missing_) {
      if (one.name != library) continue;
      return error{.code = errc::library_missing,
                   .message = fmt::format("library {} is not loaded: {}", library, one.why),
                   .library = library};
    }
  }
  // A device's libraries have plugins of their own.
  namespace fs = std::filesystem;
  const fs::path backend(parts_.backend.plugin);
  const fs::path plugin =
      backend.parent_path() / fmt::format("{}-{}.so", backend.stem().string(), library);
  std::error_code failed;
  if (parts_.backend.source && !fs::exists(plugin, failed)) {
    return error{.code = errc::library_missing,
                 .message = fmt::format("library {} is not installed: there is no plugin {}",
                                        library, plugin.string()),
                 .library = library};
  }
  return error{.code = errc::unsupported, .message = "this worker does not know the operation"};
}

bool supervisor::quarantined(std::uint64_t digest) const {
  const std::lock_guard lock(mutex_);
  const auto found = kills_by_digest_.find(digest);
  return found != kills_by_digest_.end() && found->second >= poisonous_kills;
}

}  // namespace troupe
