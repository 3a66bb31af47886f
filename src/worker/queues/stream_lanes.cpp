#include "worker/queues/stream_lanes.hpp"

#include "base/spin_wait.hpp"
#include "os/futex.hpp"
#include "worker/threads/execution.hpp"
#include "worker/threads/lane_thread.hpp"

#include <algorithm>
#include <exception>

namespace troupe::worker {
namespace {

using namespace std::chrono_literals;

// How long the thread polls for work or marks before it sleeps between polls. Polling is free while
// processors are idle.
constexpr auto spins_idle = 50us;
constexpr auto spins_busy = 5ms;
// Long-running work is polled less often: polling adds a fraction of its duration.
constexpr int sleep_fraction = 256;
constexpr std::chrono::nanoseconds shortest_sleep = 20us;
constexpr std::chrono::nanoseconds longest_sleep = 500us;
// How often a lane whose mark stands still is checked for failure.
constexpr auto check_interval = 1ms;
// A worker that is not activated within this time starts to warm up.
constexpr auto ready_before_warm_up = 20ms;

}  // namespace

stream_lanes::stream_lanes(parts p) : parts_(std::move(p)), hazards_(completed_) {
  jobs_.resize(parts_.requests.capacity());
  for (std::size_t i = 0; i < parts_.lanes.size() && i < lanes_.size(); ++i) {
    lanes_[i].queue = std::make_unique<lane_queue>(i, std::move(parts_.lanes[i]), parts_.requests,
                                                   parts_.answers);
  }
  for (int i = 0; i < parts_.submitters; ++i)
    submitters_.push_back(std::make_unique<submitter>(parts_.device, parts_.in_process));
  thread_ = start_lane_thread(parts_.in_process, [this] { run(); });
}

stream_lanes::~stream_lanes() { stop(); }

void stream_lanes::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  parts_.bells.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(parts_.bells.request, 1, os::sharing::processes);
  if (thread_.joinable()) thread_.join();
  submitters_.clear();
  own_threads_.clear();
}

void stream_lanes::run() noexcept {
  result<void> outcome;
  try {
    parts_.device.enter_thread();
    outcome = serve();
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::device_fault, .message = thrown.what()};
  }
  for (const auto& one : submitters_)
    one->end();
  for (const auto& one : own_threads_)
    one->end();
  if (!outcome) {
    error why = std::move(outcome).error();
    why.code = errc::device_fault;
    parts_.lost(std::move(why));
  }
}

result<void> stream_lanes::serve() {
  clock::time_point quiet_since = clock::now();
  detail::spin_wait spin(spins_idle);
  while (!stopping_.load(std::memory_order_acquire)) {
    parts_.bells.worker_sleeps.store(0, std::memory_order_relaxed);
    auto taken = take_up();
    if (!taken) return std::move(taken).error();
    if (auto loss = take_loss()) return *std::move(loss);
    if (in_flight()) look_at_marks();
    if (impossible_mark_) {
      return error{.code = errc::device_fault,
                   .message = "the worker's completion count is out of range"};
    }
    // A check during this round may have moved it, too.
    const bool moved = std::exchange(marks_moved_, false);
    if (*taken || moved) {
      if (!in_flight()) parts_.answers.idle();
      quiet_since = clock::now();
      spin = detail::spin_wait(in_flight() ? spins_busy : spins_idle);
      continue;
    }
    if (begun_ && spin.step()) {
      if (in_flight()) {
        if (auto well = check_quiet_lanes(clock::now()); !well) return well;
      }
      continue;
    }
    if (in_flight()) {
      if (auto well = check_quiet_lanes(clock::now()); !well) return well;
    }
    if (!begun_ && is_cold() && clock::now() - quiet_since > ready_before_warm_up) {
      if (auto done = warm_up_more(); !done) return done;
      continue;
    }
    if (!begun_ && !is_cold() && cold_twins() != 0) {
      if (auto done = warm_up_twins(); !done) return done;
      continue;
    }
    wait(quiet_since);
  }
  return {};
}

// Warms up one library on one lane, then checks whether this worker is needed. A request that needs
// a library that cannot be loaded now tries again, and then reports why it cannot.
result<void> stream_lanes::warm_up_more() {
  const std::size_t number = warmed_up_ / parts_.cold.size();
  result<void> outcome;
  if (!lanes_[number].queue) outcome = make_queue(number);
  if (outcome)
    outcome = lanes_[number].queue->warm_up(*parts_.cold[warmed_up_ % parts_.cold.size()]);
  if (is_loss(outcome)) return outcome;
  ++warmed_up_;
  if (!is_cold() && parts_.warm) parts_.warm();
  return {};
}

// One step, as `warm_up_more`.
result<void> stream_lanes::warm_up_twins() {
  const auto number = static_cast<std::size_t>(__builtin_ctz(cold_twins()));
  result<void> outcome;
  if (!lanes_[number].queue) outcome = make_queue(number);
  if (outcome) outcome = lanes_[number].queue->warm_up_twin(*parts_.cold[twin_steps_]);
  if (is_loss(outcome)) return outcome;
  if (++twin_steps_ < parts_.cold.size()) return {};
  twin_steps_ = 0;
  warm_twins_ |= 1u << number;
  return {};
}

// Reads the entries in the mailbox; true if there were any.
result<bool> stream_lanes::take_up() {
  if (!begun_) {
    if (!parts_.requests.activated(parts_.worker)) return false;
    parts_.requests.begin();
    begun_ = true;
  }
  bool any = false;
  while (const std::size_t count = admit_batch()) {
    any = true;
    for (std::size_t i = 0; i < count; ++i) {
      batch_left_ = count - i - 1;
      if (auto done = place(*batch_[i]); !done) return std::move(done).error();
    }
  }
  if (waiting_lanes_ != 0) {
    auto more = submit_waiting();
    if (!more) return more;
    any = any || *more;
  }
  if (any) {
    if (unmarked_lanes_ != 0) submitted_at_ = clock::now();
  } else if (unmarked_lanes_ != 0 && clock::now() - submitted_at_ > lane_queue::longest_unmarked) {
    // No request has come that could share a mark with those in the queues.
    if (auto marked = mark_all(); !marked) return std::move(marked).error();
  }
  return any;
}

// Reads and admits the entries that are there, up to a batch. Reading and enqueuing alternate in
// batches: each finds its own code and data in the caches.
std::size_t stream_lanes::admit_batch() {
  std::size_t count = 0;
  while (count < batch_.size()) {
    const std::uint64_t entry = parts_.requests.poll();
    if (entry == 0) break;
    std::unique_ptr<job>& known = jobs_[wire::ring_entry::slot_of(entry) % jobs_.size()];
    if (!known) known = std::make_unique<job>();
    job& j = *known;
    (void)j.handed_back.load(std::memory_order_acquire);
    j.handed_back.store(false, std::memory_order_relaxed);
    parts_.requests.read(entry, parts_.operations, parts_.ranges, j);
    j.place = ++lanes_[j.lane].admitted;
    begin_to_prepare(j, parts_.requests, parts_.blobs);
    hazards_.admit(j.lane, j.place, j.what().operands, j.waits);
    batch_[count++] = &j;
  }
  return count;
}

// Enqueues the job or makes it wait.
result<void> stream_lanes::place(job& j) {
  lane& to = lanes_[j.lane];
  if (to.waiting.empty() && may_submit(j)) {
    if (auto done = submit(j); !done) return done;
  } else {
    to.waiting.push_back(&j);
    waiting_lanes_ |= 1u << j.lane;
  }
  if (waiting_lanes_ != 0) {
    if (auto more = submit_waiting(); !more) return std::move(more).error();
  }
  return {};
}

result<bool> stream_lanes::submit_waiting() {
  bool any = false;
  for (bool again = true; again;) {
    again = false;
    for (std::uint32_t open = waiting_lanes_; open != 0; open &= open - 1) {
      const auto number = static_cast<std::size_t>(__builtin_ctz(open));
      std::deque<job*>& waiting = lanes_[number].waiting;
      if (!may_submit(*waiting.front())) continue;
      job& j = *waiting.front();
      waiting.pop_front();
      if (waiting.empty()) waiting_lanes_ &= ~(1u << number);
      if (auto done = submit(j); !done) return std::move(done).error();
      any = again = true;
    }
  }
  return any;
}

bool stream_lanes::may_submit(job& j) {
  if (j.held == wire::hold::until_released && !parts_.requests.released()) return false;
  if (!is_prepared(j, parts_.requests, parts_.blobs)) return false;
  if (j.held == wire::hold::until_opened && parts_.requests.closed(j.slot)) return false;
  // Its memory is not mapped yet. Hold it here, so that other lanes go on.
  if (!j.refused && parts_.memory_version.load(std::memory_order_acquire) <
                        parts_.requests.memory_version(j.slot)) {
    return false;
  }
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (is_over(other, j.waits.need[other])) continue;
    if (lanes_[other].given < j.waits.need[other] || !take_back(lanes_[other])) return false;
  }
  if (j.asks_when() && !is_let_go(j)) return false;
  if (next_alone_ != nullptr && next_alone_ != &j) return false;
  const bool alone = parts_.requests.alone(j.slot);
  if (in_flight() && (alone || alone_in_flight_)) {
    look_at_marks();
    if (in_flight()) {
      // Its dependencies are in the queues. Enqueue nothing else before it: under a steady load it
      // would never be alone.
      if (alone) next_alone_ = &j;
      return false;
    }
  }
  lane& to = lanes_[j.lane];
  if (is_full(j.lane)) {
    look_at_marks();
    if (is_full(j.lane)) return false;
  }
  return to.with == nullptr || may_be_given(j, to) || take_back(to);
}

// A held-back job stays out of the queues. There it would hold up other queues on the same
// connection to the device, and code that is yet to be loaded. It is ready or not once all its
// dependencies have ended.
bool stream_lanes::is_let_go(const job& j) {
  if (in_flight()) look_at_marks();
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (!is_over(other, j.waits.need[other])) return false;
  }
  return j.op->ready(j.what().request.get());
}

// True if a held-back job may now run, because the program released it or it is prepared: its ring
// may have come after this thread looked for work and before it read the bell.
bool stream_lanes::let_go() {
  for (std::uint32_t open = waiting_lanes_; open != 0; open &= open - 1) {
    job& first = *lanes_[static_cast<std::size_t>(__builtin_ctz(open))].waiting.front();
    if (first.held_back() && may_submit(first)) return true;
  }
  return false;
}

result<void> stream_lanes::make_queue(std::size_t number) {
  auto made = parts_.device.make_lane(static_cast<int>(number));
  if (!made) return std::move(made).error();
  lanes_[number].queue =
      std::make_unique<lane_queue>(number, *std::move(made), parts_.requests, parts_.answers);
  return {};
}

// Except if more jobs wait for space in the queue: those will share the mark.
result<void> stream_lanes::mark_all() {
  for (std::uint32_t open = unmarked_lanes_; open != 0; open &= open - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(open));
    const std::uint32_t bit = 1u << number;
    if ((waiting_lanes_ & bit) != 0 && is_full(number)) continue;
    if (auto marked = lanes_[number].queue->mark(); !marked) return marked;
    unmarked_lanes_ &= ~bit;
  }
  return {};
}

// Wakes a program that sleeps until a mark moves.
void stream_lanes::look_at_marks() {
  bool moved = false;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    lane& l = lanes_[number];
    const std::uint64_t mark = parts_.answers.completed(number);
    const std::uint64_t before = completed_[number].load(std::memory_order_relaxed);
    if (mark == before) continue;
    // The device writes marks, and so could a stray kernel: a mark that goes back, or beyond the
    // lane's jobs, never counts as an end that others wait for.
    if (mark - before > l.given - before) {
      impossible_mark_ = true;
      continue;
    }
    moved = true;
    l.moved = clock::now();
    completed_[number].store(mark, std::memory_order_relaxed);
    if (mark == l.given) busy_lanes_ &= ~(1u << number);
  }
  if (!moved) return;
  marks_moved_ = true;
  parts_.answers.completions_seen();
}

result<void> stream_lanes::check_quiet_lanes(clock::time_point now) {
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    lane& l = lanes_[static_cast<std::size_t>(__builtin_ctz(busy))];
    if (now - l.moved < check_interval) continue;
    l.moved = now;
    if (auto well = l.queue->check(); !well) return well;
  }
  return {};
}

void stream_lanes::wait(clock::time_point quiet_since) {
  // Read before the last look, so that a ring after it makes the wait return at once.
  const std::uint32_t seen = parts_.bells.request.load(std::memory_order_acquire);
  // Announce, fence, look once more; a thread that publishes a request publishes, fences and looks,
  // so at least one of the two sees the other.
  parts_.bells.worker_sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (stopping_.load(std::memory_order_acquire)) return;
  if (begun_ ? parts_.requests.has_more() : parts_.requests.activated(parts_.worker)) return;
  if (let_go() || marks_moved_ || (!begun_ && !is_cold() && cold_twins() != 0)) return;
  auto until = clock::time_point::max();
  if (!begun_ && is_cold()) {
    until = quiet_since + ready_before_warm_up;
  } else if (in_flight() || waiting_lanes_ != 0) {
    const clock::time_point now = clock::now();
    until = now + std::clamp<std::chrono::nanoseconds>((now - quiet_since) / sleep_fraction,
                                                       shortest_sleep, longest_sleep);
  }
  os::futex_wait(parts_.bells.request, seen, until, os::sharing::processes);
}

}  // namespace troupe::worker
