#include "worker/stream_lanes.hpp"

#include "core/spin_wait.hpp"
#include "os/futex.hpp"
#include "worker/crash.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

namespace troupe::worker {
namespace {

using namespace std::chrono_literals;

// A queue's depth is enough to keep a device busy with the shortest of kernels while this thread is
// away for a while; more would only put requests where they can no longer be cancelled. A mark for
// so many of them is as good as free, and comes often enough.
constexpr std::uint64_t most_per_mark = 16;
// How long the thread looks for work or marks before it sleeps between looks. A look costs nothing
// that anybody else needs where there are processors to spare.
constexpr auto spins_idle = 50us;
constexpr auto spins_busy = 5ms;
// Work that has taken long is looked at more rarely: the looks add a fraction of it.
constexpr int sleep_fraction = 256;
constexpr std::chrono::nanoseconds shortest_sleep = 20us;
constexpr std::chrono::nanoseconds longest_sleep = 500us;
// A lane whose mark stands still is asked how it is this often.
constexpr auto check_interval = 1ms;
// A mapping that the program has announced is a control message away.
constexpr auto mapping_patience = 10s;

std::int64_t now_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool is_loss(const result<void>& outcome) noexcept {
  return !outcome && const_cast<result<void>&>(outcome).error().code == errc::device_fault;
}

}  // namespace

stream_lanes::stream_lanes(parts p) : parts_(std::move(p)), hazards_(completed_) {
  jobs_.resize(parts_.requests.capacity());
  for (std::size_t i = 0; i < parts_.lanes.size() && i < lanes_.size(); ++i)
    lanes_[i].queue = std::move(parts_.lanes[i]);
  thread_ = std::jthread([this] { run(); });
}

stream_lanes::~stream_lanes() { stop(); }

void stream_lanes::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  parts_.bells.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(parts_.bells.request, 1, os::sharing::processes);
  if (thread_.joinable()) thread_.join();
}

void stream_lanes::run() noexcept {
  std::optional<crash::signal_stack> stack;
  if (parts_.in_process) stack.emplace();
  result<void> outcome;
  try {
    parts_.device.enter_thread();
    outcome = serve();
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::device_fault, .message = thrown.what()};
  }
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
    const bool moved = in_flight() && look_at_marks();
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
    wait(quiet_since);
  }
  return {};
}

// Reads what is in the mailbox; true if there was anything.
result<bool> stream_lanes::take_up() {
  if (!begun_) {
    if (!parts_.requests.activated(parts_.worker)) return false;
    parts_.requests.begin();
    begun_ = true;
  }
  bool any = false;
  while (const std::uint64_t entry = parts_.requests.poll()) {
    any = true;
    std::unique_ptr<job>& place = jobs_[wire::ring_entry::slot_of(entry) % jobs_.size()];
    if (!place) place = std::make_unique<job>();
    job& j = *place;
    parts_.requests.read(entry, parts_.operations, parts_.ranges, j);
    lane& to = lanes_[j.lane];
    j.place = ++to.admitted;
    hazards_.admit(j.lane, j.place, j.operands, j.waits);
    if (to.waiting.empty() && may_submit(j)) {
      if (auto done = submit(j); !done) return std::move(done).error();
    } else {
      to.waiting.push_back(&j);
      waiting_lanes_ |= 1u << j.lane;
    }
    if (waiting_lanes_ != 0) {
      if (auto more = submit_waiting(); !more) return more;
    }
  }
  if (waiting_lanes_ != 0) {
    auto more = submit_waiting();
    if (!more) return more;
    any = any || *more;
  }
  // Nothing is left that could share a mark with what is in the queues.
  if (auto marked = mark_all(); !marked) return std::move(marked).error();
  return any;
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

bool stream_lanes::may_submit(const job& j) {
  if (j.held && !parts_.requests.released()) return false;
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (lanes_[other].submitted < j.waits.need[other]) return false;
  }
  if (next_alone_ != nullptr && next_alone_ != &j) return false;
  const bool alone = parts_.requests.alone(j.slot);
  if (in_flight() && (alone || alone_in_flight_)) {
    (void)look_at_marks();
    if (in_flight()) {
      // What it depends on is in the queues. Nothing else goes there before it: under a steady load
      // it would never be alone.
      if (alone) next_alone_ = &j;
      return false;
    }
  }
  const lane& to = lanes_[j.lane];
  const auto full = [&] {
    return to.submitted - completed_[j.lane].load(std::memory_order_relaxed) >= wire::queue_depth;
  };
  if (full()) {
    (void)look_at_marks();
    if (full()) return false;
  }
  return true;
}

result<accelerator_lane*> stream_lanes::queue_of(std::size_t number) {
  lane& l = lanes_[number];
  if (!l.queue) {
    auto made = parts_.device.make_lane(static_cast<int>(number));
    if (!made) return std::move(made).error();
    l.queue = *std::move(made);
  }
  return l.queue.get();
}

// An error of the result is the loss of the context; a failure of the request is its answer.
result<void> stream_lanes::submit(job& j) {
  lane& to = lanes_[j.lane];
  auto queue = queue_of(j.lane);
  if (!queue) {
    error why = std::move(queue).error();
    why.code = errc::device_fault;
    return why;
  }
  if (to.submitted == completed_[j.lane].load(std::memory_order_relaxed)) to.moved = clock::now();
  alone_in_flight_ = parts_.requests.alone(j.slot);
  if (next_alone_ == &j) next_alone_ = nullptr;
  const bool told_apart = is_told_apart(j);
  if (told_apart || j.waits.read_before > to.marked) {
    if (auto marked = mark(j.lane); !marked) return marked;
  }
  parts_.answers.shares_mark(j.lane, j.place, false);
  parts_.answers.started(j);
  to.submitted = j.place;
  busy_lanes_ |= 1u << j.lane;

  result<void> outcome = enqueue(j, to);
  j.release_request();
  if (is_loss(outcome)) return outcome;
  if (!outcome) {
    // A refusal, or the first word of a fault that another request has caused?
    if (auto well = to.queue->check(); !well) return well;
  }
  parts_.answers.write_reply(j, outcome);
  unmarked_lanes_ |= 1u << j.lane;
  if (told_apart || !j.told || !outcome || to.submitted - to.marked >= most_per_mark) {
    return mark(j.lane);
  }
  parts_.answers.shares_mark(j.lane, j.place, true);
  return {};
}

// Marks the end of what is in a queue, unless that has its mark.
result<void> stream_lanes::mark(std::size_t number) {
  if ((unmarked_lanes_ >> number & 1) == 0) return {};
  lane& l = lanes_[number];
  auto marked = l.queue->mark(parts_.answers.mark_of(number), l.submitted);
  if (marked) {
    parts_.answers.shares_mark(number, l.submitted, false);
    l.marked = l.submitted;
    unmarked_lanes_ &= ~(1u << number);
  }
  return marked;
}

result<void> stream_lanes::mark_all() {
  for (std::uint32_t open = unmarked_lanes_; open != 0; open &= open - 1) {
    if (auto marked = mark(static_cast<std::size_t>(__builtin_ctz(open))); !marked) return marked;
  }
  return {};
}

// Where the program has to know whether just this request has begun.
bool stream_lanes::is_told_apart(const job& j) const noexcept {
  return !j.repeatable || j.deadline_ns != 0 || alone_in_flight_ || j.held || j.op == nullptr ||
         j.op->fails_late;
}

result<void> stream_lanes::enqueue(job& j, lane& to) {
  if (j.refused) return std::move(*j.refused);
  if (parts_.requests.revoked(j.slot)) {
    return error{.code = errc::cancelled, .message = "before it was run"};
  }
  if (j.deadline_ns != 0 && now_ns() >= j.deadline_ns) {
    return error{.code = errc::deadline_exceeded, .message = "before it was run"};
  }
  if (parts_.memory_version.load(std::memory_order_acquire) < j.memory_version) {
    const auto give_up = clock::now() + mapping_patience;
    while (parts_.memory_version.load(std::memory_order_acquire) < j.memory_version) {
      if (clock::now() > give_up || stopping_.load(std::memory_order_relaxed)) {
        return error{
            .code = errc::protocol_violation,
            .message = fmt::format("memory version {} was never mapped, {} is", j.memory_version,
                                   parts_.memory_version.load(std::memory_order_relaxed))};
      }
      std::this_thread::sleep_for(shortest_sleep);
    }
  }
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto other = static_cast<std::size_t>(__builtin_ctz(lanes));
    if (completed_[other].load(std::memory_order_relaxed) >= j.waits.need[other]) continue;
    if (auto marked = mark(other); !marked) return marked;
    if (auto waits = to.queue->wait_for(*lanes_[other].queue); !waits) return waits;
  }
  if (j.op->fails_late) parts_.answers.prepare_reply(j);
  crash::running_request& running = crash::of_this_thread();
  running.ticket = j.ticket;
  running.active = true;
  result<void> outcome;
  try {
    outcome = j.op->run(j.op->executor, j.request.get(), *to.queue, parts_.answers.reply_room(j));
  } catch (const std::bad_alloc&) {
    outcome = error{.code = errc::out_of_memory, .message = "in the executor"};
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::handler_failed, .message = thrown.what()};
  } catch (...) {
    outcome = error{.code = errc::handler_failed, .message = "an exception of unknown type"};
  }
  running.active = false;
  return outcome;
}

// True when any mark has moved. Wakes a program that sleeps.
bool stream_lanes::look_at_marks() {
  bool moved = false;
  for (std::uint32_t busy = busy_lanes_; busy != 0; busy &= busy - 1) {
    const auto number = static_cast<std::size_t>(__builtin_ctz(busy));
    lane& l = lanes_[number];
    const std::uint64_t mark = parts_.answers.completed(number);
    if (mark == completed_[number].load(std::memory_order_relaxed)) continue;
    moved = true;
    l.moved = clock::now();
    completed_[number].store(mark, std::memory_order_relaxed);
    if (mark == l.submitted) busy_lanes_ &= ~(1u << number);
  }
  if (moved) parts_.answers.completions_seen();
  return moved;
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
  // Announce, fence, look once more; whoever publishes a request does the same in its order, so
  // one of the two sees the other.
  parts_.bells.worker_sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (stopping_.load(std::memory_order_acquire)) return;
  if (begun_ ? parts_.requests.has_more() : parts_.requests.activated(parts_.worker)) return;
  auto until = clock::time_point::max();
  if (in_flight() || waiting_lanes_ != 0) {
    const clock::time_point now = clock::now();
    until = now + std::clamp<std::chrono::nanoseconds>((now - quiet_since) / sleep_fraction,
                                                       shortest_sleep, longest_sleep);
  }
  os::futex_wait(parts_.bells.request, seen, until, os::sharing::processes);
}

}  // namespace troupe::worker
