#include "worker/queues/submitter.hpp"

#include "base/spin_wait.hpp"
#include "worker/threads/lane_thread.hpp"

#include <algorithm>
#include <chrono>
#include <exception>

namespace troupe::worker {
namespace {

using clock = std::chrono::steady_clock;

// Under a steady load there is always work left, and others may wait for the mark of a lane that
// gets little.
constexpr std::uint64_t most_between_marks = 64;

}  // namespace

submitter::submitter(accelerator& device, bool in_process, submitter_duties d)
    : device_(device), spins_(d.spins), ring_(d.lanes * wire::queue_depth) {
  thread_ = start_lane_thread(in_process, [this] { run(); });
}

submitter::~submitter() { end(); }

void submitter::end() noexcept {
  ending_.store(true, std::memory_order_release);
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_one();
}

void submitter::give(lane_queue& to, job& j, bool alone) noexcept {
  const std::uint64_t at = tail_.load(std::memory_order_relaxed);
  ring_[at % ring_.size()] = {&to, &j, alone};
  tail_.store(at + 1, std::memory_order_release);
  // Publish the work before checking for sleep; a thread that goes to sleep announces it and then
  // checks for work.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed) == 0) return;
  bell_.fetch_add(1, std::memory_order_release);
  bell_.notify_one();
}

std::optional<error> submitter::take_loss() {
  if (!lost_.load(std::memory_order_acquire)) return std::nullopt;
  return std::move(loss_);
}

void submitter::run() noexcept {
  result<void> outcome;
  try {
    device_.enter_thread();
    outcome = serve();
  } catch (const std::exception& thrown) {
    outcome = error{.code = errc::device_fault, .message = thrown.what()};
  }
  if (outcome) return;
  loss_ = std::move(outcome).error();
  lost_.store(true, std::memory_order_release);
}

result<void> submitter::serve() {
  // A thread that gets work again soon should not have to be woken, which costs the reader more
  // than the work itself.
  detail::spin_wait spin(spins_);
  clock::time_point worked{};
  while (!ending_.load(std::memory_order_acquire)) {
    if (head_ == tail_.load(std::memory_order_acquire)) {
      // The last step may take any time on a busy machine: nothing stays unmarked during sleep.
      const bool patient = spin.step();
      if (!unmarked_.empty() &&
          (!patient || clock::now() - worked > lane_queue::longest_unmarked)) {
        if (auto marked = mark_all(!patient); !marked) return marked;
      }
      if (!patient) sleep();
      continue;
    }
    const item next = ring_[head_++ % ring_.size()];
    if (auto done = next.to->submit(*next.what, next.alone); !done) return done;
    note(*next.to);
    worked = clock::now();
    if (!unmarked_.empty() && head_ - unmarked_.front().since >= most_between_marks) {
      lane_queue& oldest = *unmarked_.front().lane;
      if (auto marked = oldest.mark(); !marked) return marked;
      note(oldest);
    }
    spin = detail::spin_wait(spins_);
  }
  return {};
}

void submitter::note(lane_queue& used) {
  const auto known = std::ranges::find(unmarked_, &used, &unmarked_lane::lane);
  if (used.unmarked()) {
    if (known == unmarked_.end()) unmarked_.push_back({&used, head_});
    return;
  }
  if (known != unmarked_.end()) unmarked_.erase(known);
  used.give_back();
}

// Skips full lanes unless asked: more may wait for them, and will share the mark.
result<void> submitter::mark_all(bool full_ones_too) {
  std::size_t kept = 0;
  for (const unmarked_lane& one : unmarked_) {
    if (!full_ones_too && one.lane->full()) {
      unmarked_[kept++] = one;
      continue;
    }
    if (auto marked = one.lane->mark(); !marked) return marked;
    one.lane->give_back();
  }
  unmarked_.resize(kept);
  return {};
}

void submitter::sleep() noexcept {
  const std::uint32_t seen = bell_.load(std::memory_order_acquire);
  asleep_.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (head_ == tail_.load(std::memory_order_acquire) && !ending_.load(std::memory_order_acquire)) {
    bell_.wait(seen, std::memory_order_acquire);
  }
  asleep_.store(0, std::memory_order_relaxed);
}

}  // namespace troupe::worker
