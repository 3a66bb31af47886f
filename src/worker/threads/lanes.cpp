#include "worker/threads/lanes.hpp"

#include "base/scratch.hpp"
#include "base/spin_wait.hpp"
#include "os/futex.hpp"
#include "worker/threads/execution.hpp"
#include "worker/threads/lane_thread.hpp"

#include <algorithm>
#include <bit>
#include <chrono>

namespace troupe::worker {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Waking a thread costs some 50 µs, so spinning for as long at most doubles the cost.
constexpr clock::duration reader_spins = 50us;

// The completions of this many consecutive short requests are announced to sleepers together.
constexpr int most_unannounced = 16;

// How often a thread looks at jobs that wait for something without a bell.
constexpr clock::duration until_looked_again = 500us;

constexpr std::uint32_t part_lane = 1u << wire::world_lane;

// In pauses of the processor, some 50 to 80 ns each.
constexpr int longest_pause = 4;

}  // namespace

struct threaded_lanes::lane_state final : lane_context {
  lane_state(int number, const parts& p) noexcept
      : number_(number), blobs_(p.blobs), methods_(p.methods) {}

  [[nodiscard]] int lane() const noexcept override { return number_; }
  [[nodiscard]] result<std::span<std::byte>> workspace(std::size_t bytes) override {
    return workspace_.take(bytes);
  }
  [[nodiscard]] result<std::span<std::byte>> host_workspace(std::size_t bytes) override {
    return host_room_.take(bytes);
  }
  [[nodiscard]] std::shared_ptr<kept_blobs> blobs() const override { return blobs_; }
  [[nodiscard]] library_methods methods() const noexcept override { return methods_; }

 private:
  int number_;
  std::shared_ptr<kept_blobs> blobs_;
  library_methods methods_;
  detail::scratch workspace_;
  detail::scratch host_room_;
};

threaded_lanes::threaded_lanes(const parts& p) : parts_(p), hazards_(completed_) {
  jobs_.resize(p.requests.capacity());
  for (int i = 0; i < wire::max_lanes; ++i) {
    lanes_[static_cast<std::size_t>(i)] = std::make_unique<lane_state>(i, p);
  }
  try {
    for (int i = 0; i < p.threads; ++i)
      threads_.push_back(start_lane_thread(p.in_process, [this] { run_thread(); }));
  } catch (...) {
    stop();  // else the threads already started would wait for ever
    throw;
  }
}

threaded_lanes::~threaded_lanes() { stop(); }

void threaded_lanes::stop() noexcept {
  stopping_.store(true, std::memory_order_release);
  parts_.bells.request.fetch_add(1, std::memory_order_release);
  os::futex_wake(parts_.bells.request, parts_.threads, os::sharing::processes);
  threads_.clear();
  ring_part_thread();
  part_thread_ = {};
}

void threaded_lanes::run_thread() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    if (job* ready = take_ready()) {
      run_and_finish(*ready);
    } else if (!take_role()) {
      sleep_until_rung();
    } else if (!read_for_a_while()) {
      sleep_until_rung();
    }
  }
}

void threaded_lanes::run_parts() noexcept {
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = part_bell_.load(std::memory_order_acquire);
    job* ready = nullptr;
    bool waits = false;
    {
      const std::lock_guard lock(mutex_);
      ready = take_ready_locked(part_lane);
      waits = (waiting_lanes_ & part_lane) != 0;
    }
    if (ready != nullptr) {
      run_and_finish(*ready);
      continue;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    announce_idle();
    os::futex_wait(part_bell_, seen,
                   waits ? clock::now() + until_looked_again : clock::time_point::max(),
                   os::sharing::program);
  }
}

void threaded_lanes::ring_part_thread() noexcept {
  part_bell_.fetch_add(1, std::memory_order_release);
  os::futex_wake(part_bell_, 1, os::sharing::program);
}

bool threaded_lanes::take_role() noexcept {
  if (role_taken_.exchange(true, std::memory_order_acquire)) return false;
  parts_.bells.worker_sleeps.store(0, std::memory_order_relaxed);
  return true;
}

void threaded_lanes::give_up_role() noexcept {
  // First the announcement, then the role: the next reader's 0 comes after this 1.
  parts_.bells.worker_sleeps.store(1, std::memory_order_relaxed);
  role_taken_.store(false, std::memory_order_release);
}

void threaded_lanes::sleep_until_rung() noexcept {
  // Read before the last look, so that a ring after it makes the wait return at once.
  const std::uint32_t seen = parts_.bells.request.load(std::memory_order_acquire);
  if (stopping_.load(std::memory_order_acquire)) return;
  if (left_unread() || let_go()) return;
  announce_idle();
  // No bell rings when something is prepared.
  bool prepares = false;
  if (queued_.load(std::memory_order_acquire) != 0) {
    const std::lock_guard lock(mutex_);
    prepares = prepares_;
  }
  os::futex_wait(parts_.bells.request, seen,
                 prepares ? clock::now() + until_looked_again : clock::time_point::max(),
                 os::sharing::processes);
}

// Nothing to read, nothing to run. A thread that ends the last request while another still reads
// leaves this announcement to that one. Both fence before it, so at least one of the two sees the
// other.
void threaded_lanes::announce_idle() noexcept {
  if (queued_.load(std::memory_order_acquire) == 0 &&
      parts_.bells.worker_sleeps.load(std::memory_order_relaxed) != 0 &&
      parts_.requests.activated(parts_.worker)) {
    parts_.answers.idle();
  }
}

// True if something can start now, because the program released it or a request ended, and the ring
// for it came after this thread looked for work and before it read the bell.
bool threaded_lanes::let_go() noexcept {
  if (queued_.load(std::memory_order_acquire) == 0) return false;
  const std::lock_guard lock(mutex_);
  prepares_ = false;
  for (std::uint32_t open = waiting_lanes_ & ~running_lanes_ & ~part_lane; open != 0;
       open &= open - 1) {
    if (may_start(*queues_[static_cast<std::size_t>(std::countr_zero(open))].front())) return true;
  }
  return false;
}

// Call after announcing that no thread reads: true if there is something to read all the same.
bool threaded_lanes::left_unread() noexcept {
  // A thread that is woken while this one holds the role for a moment finds it taken and sleeps
  // again: then this thread must read.
  const std::uint32_t before = parts_.bells.request.load(std::memory_order_acquire);
  // Pairs with the fence of a thread that publishes a request and then reads `worker_sleeps`: at
  // least one of the two sees the other's store. If the role is taken, another thread reads, or has
  // announced itself and checks.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (role_taken_.exchange(true, std::memory_order_acquire)) return false;
  // Once more, now for the announcement of the previous holder: its check may have failed because
  // this thread holds the role for a moment.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool more = begun_ ? parts_.requests.has_more() : parts_.requests.activated(parts_.worker);
  role_taken_.store(false, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return more || parts_.bells.request.load(std::memory_order_relaxed) != before;
}

// With the role.
void threaded_lanes::announce_completed() noexcept {
  if (std::exchange(ran_alone_, 0) > 0) parts_.answers.completions_seen();
}

// With the role on entry and without it on return. True if there may be something to do at once.
bool threaded_lanes::read_for_a_while() {
  detail::spin_wait spin(reader_spins, 1);
  int in_a_row = 0;  // requests found without a gap
  for (;;) {
    if (stopping_.load(std::memory_order_acquire)) {
      give_up_role();
      return true;
    }
    if (!begun_ && parts_.requests.activated(parts_.worker)) {
      parts_.requests.begin();
      begun_ = true;
    }
    const std::uint64_t entry = begun_ ? parts_.requests.poll() : 0;
    if (entry == 0) {
      announce_completed();
      // A thread that has sent several in a row is about to send more, and writes the very line
      // that is polled here.
      for (int i = 1; i < in_a_row; ++i)
        detail::pause_cpu();
      in_a_row = 0;
      if (begun_ && spin.step()) continue;
      give_up_role();
      return false;
    }
    spin = detail::spin_wait(reader_spins, 1);
    in_a_row = std::min(in_a_row + 1, longest_pause);
    job& j = admit(entry);
    if (queued_.load(std::memory_order_acquire) == 0 && !j.what().large && !j.held_back()) {
      // Alone: all possible dependencies have ended.
      run(j);
      if (++ran_alone_ == most_unannounced) announce_completed();
      continue;
    }
    announce_completed();
    job* ready = nullptr;
    {
      const std::lock_guard lock(mutex_);
      queued_.fetch_add(1, std::memory_order_release);
      queues_[j.lane].push_back(&j);
      waiting_lanes_ |= 1u << j.lane;
      ready = take_ready_locked(~part_lane);
    }
    if (j.lane == wire::world_lane) {
      if (!part_thread_.joinable()) {
        part_thread_ = start_lane_thread(parts_.in_process, [this] { run_parts(); });
      }
      ring_part_thread();
    }
    if (ready != nullptr) {
      give_up_role();
      // A request published before this thread gave the role up would not wake any thread.
      if (left_unread()) {
        parts_.bells.request.fetch_add(1, std::memory_order_release);
        os::futex_wake(parts_.bells.request, 1, os::sharing::processes);
      }
      run_and_finish(*ready);
      return true;
    }
  }
}

job& threaded_lanes::admit(std::uint64_t entry) {
  std::unique_ptr<job>& place = jobs_[wire::ring_entry::slot_of(entry) % jobs_.size()];
  if (!place) place = std::make_unique<job>();
  job& j = *place;
  (void)j.handed_back.load(std::memory_order_acquire);
  parts_.requests.read(entry, parts_.operations, parts_.ranges, j);
  j.place = ++admitted_[j.lane];
  begin_to_prepare(j, parts_.requests, parts_.blobs);
  hazards_.admit(j.lane, j.place, j.what().operands, j.waits);
  return j;
}

job* threaded_lanes::take_ready() {
  if (queued_.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  return take_ready_locked(~part_lane);
}

job* threaded_lanes::take_ready_locked(std::uint32_t among) {
  static_assert(wire::max_lanes == 32, "a bit of a word each");
  std::uint32_t open = std::rotr(waiting_lanes_ & ~running_lanes_ & among, first_lane_);
  for (; open != 0; open &= open - 1) {
    const int lane = (std::countr_zero(open) + first_lane_) % wire::max_lanes;
    std::deque<job*>& queue = queues_[static_cast<std::size_t>(lane)];
    job* head = queue.front();
    if (!may_start(*head)) continue;
    alone_runs_ = next_alone_ == head || parts_.requests.alone(head->slot);
    next_alone_ = nullptr;
    queue.pop_front();
    if (queue.empty()) waiting_lanes_ &= ~(1u << lane);
    running_lanes_ |= 1u << lane;
    first_lane_ = (lane + 1) % wire::max_lanes;
    return head;
  }
  return nullptr;
}

// With the mutex. Precondition: the job is the first in the queue of a lane that does not run.
bool threaded_lanes::may_start(job& j) noexcept {
  if (!is_prepared(j, parts_.requests, parts_.blobs)) {
    prepares_ = true;
    return false;
  }
  if (alone_runs_ || (next_alone_ != nullptr && next_alone_ != &j) || !hazards_over(j)) {
    return false;
  }
  // Only parts name memory that is mapped late.
  if (j.lane == wire::world_lane && parts_.memory_version != nullptr &&
      parts_.memory_version->load(std::memory_order_acquire) <
          parts_.requests.memory_version(j.slot)) {
    return false;
  }
  if (j.held == wire::hold::until_opened && parts_.requests.closed(j.slot)) return false;
  if (j.asks_when() && !j.op->ready(j.what().request.get())) return false;
  if (running_lanes_ == 0 || !parts_.requests.alone(j.slot)) return true;
  // Its dependencies have ended. Start nothing else before it: under a steady load it would never
  // be alone.
  next_alone_ = &j;
  return false;
}

bool threaded_lanes::hazards_over(const job& j) const noexcept {
  for (std::uint32_t lanes = j.waits.lanes; lanes != 0; lanes &= lanes - 1) {
    const auto lane = static_cast<std::size_t>(__builtin_ctz(lanes));
    // Acquire: the outputs of the awaited request are visible to this one.
    if (completed_[lane].load(std::memory_order_acquire) < j.waits.need[lane]) return false;
  }
  return true;
}

void threaded_lanes::run_and_finish(job& first) {
  const std::uint32_t mine = first.lane == wire::world_lane ? part_lane : ~part_lane;
  for (job* j = &first; j != nullptr;) {
    const std::uint8_t lane = j->lane;
    run(*j);
    parts_.answers.completions_seen();
    bool more = false;
    bool part_waits = false;
    {
      const std::lock_guard lock(mutex_);
      running_lanes_ &= ~(1u << lane);
      alone_runs_ = false;
      j = stopping_.load(std::memory_order_acquire) ? nullptr : take_ready_locked(mine);
      // If this completion also freed another one, another thread runs that.
      const std::uint32_t left = waiting_lanes_ & ~running_lanes_;
      if (j != nullptr || mine == part_lane) {
        for (std::uint32_t open = left & ~part_lane; open != 0 && !more; open &= open - 1)
          more = may_start(*queues_[static_cast<std::size_t>(__builtin_ctz(open))].front());
      }
      part_waits = (left & part_lane) != 0 && mine != part_lane;
      queued_.fetch_sub(1, std::memory_order_release);
    }
    if (part_waits) ring_part_thread();
    if (more) {
      parts_.bells.request.fetch_add(1, std::memory_order_release);
      os::futex_wake(parts_.bells.request, 1, os::sharing::processes);
    }
  }
}

void threaded_lanes::run(job& j) noexcept {
  lane_state& lane = *lanes_[j.lane];
  const result<void> outcome = execute(j, lane);
  j.release_request();
  const auto place = j.place;
  auto& count = completed_[j.lane];
  parts_.answers.complete(j, outcome);
  count.store(place, std::memory_order_release);
}

result<void> threaded_lanes::execute(job& j, lane_state& lane) {
  const operation_turn turn(j);
  if (auto may = may_run(j, parts_.requests); !may) return may;
  parts_.answers.started(j);
  return call_executor(j, lane, parts_.answers, parts_.answers.stamps_for(j));
}

}  // namespace troupe::worker
