#include "device/copy_crew.hpp"

#include "core/spin_wait.hpp"
#include "os/futex.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <utility>

namespace troupe {
namespace {

// Of a thread without work, before it sleeps. When it has staged the last bytes of a copy into the
// device, the link still has some MiB to take, for 100 or 200 µs, before a next copy can begin.
constexpr auto patience = std::chrono::microseconds(300);

// The mutex is held for less than it takes to fall asleep, and all threads want it at once when
// work comes: one that slept for it would come too late.
std::unique_lock<std::mutex> hold(std::mutex& mutex) {
  std::unique_lock lock(mutex, std::defer_lock);
  detail::spin_wait spin(patience, 1);
  while (!lock.try_lock()) {
    if (spin.step()) continue;
    lock.lock();
    break;
  }
  return lock;
}

}  // namespace

/// The mutex guards everything. `news` changes under it, with each post and call, and is watched,
/// and slept on, without it: relaxed, since whoever sees it change takes the mutex next.
struct copy_crew::board {
  struct begun_batch {
    batch all;
    std::uint32_t next = 0;
  };
  struct one_part {
    std::shared_ptr<work> of;  // null when there is none
    std::uint32_t number = 0;
  };

  [[nodiscard]] one_part take(const work* only = nullptr);
  [[nodiscard]] turnout summon(std::uint64_t parts, unsigned most_threads);

  std::mutex mutex;
  std::deque<begun_batch> waiting;
  std::uint64_t parts_waiting = 0;
  unsigned started = 0;
  unsigned spinning = 0;
  unsigned sleeping = 0;
  unsigned woken = 0;  // of those that sleep: they are on their way
  bool ending = false;
  std::atomic<std::uint32_t> news{0};
};

copy_crew::board::one_part copy_crew::board::take(const work* only) {
  if (waiting.empty()) return {};
  begun_batch& first = waiting.front();
  if (only != nullptr && first.all.what.get() != only) return {};
  --parts_waiting;
  if (first.next + 1 < first.all.parts) return {first.all.what, first.next++};
  one_part last{std::move(first.all.what), first.next};
  waiting.pop_front();
  return last;
}

// Whom to bring so that there is an idle one for each part.
copy_crew::turnout copy_crew::board::summon(std::uint64_t parts, unsigned most_threads) {
  news.fetch_add(1, std::memory_order_relaxed);
  const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(parts, most_threads));
  unsigned missing = wanted - std::min(wanted, spinning + woken);
  turnout threads;
  threads.woken = std::min(missing, sleeping - woken);
  woken += threads.woken;
  missing -= threads.woken;
  threads.started = std::min(missing, most_threads - started);
  started += threads.started;
  return threads;
}

copy_crew::copy_crew(unsigned most_threads)
    : most_threads_(most_threads), board_(std::make_shared<board>()) {}

copy_crew::~copy_crew() {
  {
    const auto lock = hold(board_->mutex);
    board_->ending = true;
    board_->news.fetch_add(1, std::memory_order_relaxed);
  }
  os::futex_wake(board_->news, std::numeric_limits<int>::max(), os::sharing::program);
  for (std::thread& one : threads_) {
    if (one.get_id() == std::this_thread::get_id()) {
      one.detach();
    } else {
      one.join();
    }
  }
}

bool copy_crew::has_this_thread() {
  const std::lock_guard lock(threads_mutex_);
  return std::ranges::find(threads_, std::this_thread::get_id(), &std::thread::get_id) !=
         threads_.end();
}

void copy_crew::post(std::span<batch> batches) {
  turnout threads;
  {
    const auto lock = hold(board_->mutex);
    for (batch& one : batches) {
      board_->parts_waiting += one.parts;
      board_->waiting.push_back({.all = std::move(one)});
    }
    threads = board_->summon(board_->parts_waiting, most_threads_);
  }
  muster(threads);
}

void copy_crew::call(std::uint64_t parts) {
  turnout threads;
  {
    const auto lock = hold(board_->mutex);
    threads = board_->summon(parts, most_threads_);
  }
  muster(threads);
}

void copy_crew::muster(turnout threads) {
  if (threads.woken > 0) {
    os::futex_wake(board_->news, static_cast<int>(threads.woken), os::sharing::program);
  }
  if (threads.started == 0) return;
  const std::lock_guard lock(threads_mutex_);
  for (unsigned i = 0; i < threads.started; ++i)
    threads_.emplace_back([shared = board_] { serve(shared); });
}

bool copy_crew::help() { return take_part_in(nullptr); }
bool copy_crew::help_with(const work& it) { return take_part_in(&it); }

bool copy_crew::take_part_in(const work* it) {
  auto lock = hold(board_->mutex);
  const auto next = board_->take(it);
  lock.unlock();
  if (next.of) next.of->do_part(next.number);
  return next.of != nullptr;
}

void copy_crew::serve(const std::shared_ptr<board>& shared) {
  ::prctl(PR_SET_NAME, "troupe-copy");
  // Goes on while others are faster to take what comes, so that a trickle of work keeps as many
  // awake as it needs.
  detail::spin_wait spin(patience);
  auto lock = hold(shared->mutex);
  for (;;) {
    if (auto next = shared->take(); next.of) {
      lock.unlock();
      next.of->do_part(next.number);
      next = {};  // what it kept goes before the lock is taken again
      spin = detail::spin_wait(patience);
      lock = hold(shared->mutex);
      continue;
    }
    if (shared->ending) return;
    const std::uint32_t seen = shared->news.load(std::memory_order_relaxed);
    ++shared->spinning;
    lock.unlock();
    bool patient = true;
    while (patient && shared->news.load(std::memory_order_relaxed) == seen)
      patient = spin.step();
    lock = hold(shared->mutex);
    --shared->spinning;
    if (patient || shared->news.load(std::memory_order_relaxed) != seen) continue;
    // Counted before it sleeps: whoever posts from here on wakes it, or keeps it from sleeping by
    // the news.
    ++shared->sleeping;
    lock.unlock();
    os::futex_wait(shared->news, seen, std::chrono::steady_clock::time_point::max(),
                   os::sharing::program);
    spin = detail::spin_wait(patience);
    lock = hold(shared->mutex);
    --shared->sleeping;
    if (shared->woken > 0) --shared->woken;
  }
}

}  // namespace troupe
