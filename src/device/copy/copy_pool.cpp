#include "device/copy/copy_pool.hpp"

#include "base/spin_wait.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// How long an idle thread spins before it sleeps. After the last bytes of a copy are staged, the
// link still carries some MiB for 100 or 200 us before the next copy can begin.
constexpr auto timeout = std::chrono::microseconds(300);

}  // namespace

/// The state that the pool shares with its threads.
///
/// `left_` counts the parts not taken yet. A spinning thread reads nothing else; it takes a part by
/// decrementing `left_`, and then finds it in the queue under the mutex, which is held for a few
/// instructions. So at most as many threads as there are parts want the mutex.
///
/// A thread that goes to sleep announces itself in `asleep_` and reads `left_` again; a thread that
/// adds parts raises `left_` and then reads `asleep_`. Both are seq_cst: at least one sees the
/// other.
class copy_pool::board final : public std::enable_shared_from_this<board> {
 public:
  board(unsigned most, hand_on continuations) noexcept
      : most_(most), continuations_(std::move(continuations)) {}

  void add(const std::shared_ptr<job>& what, std::uint32_t parts);
  void end();

 private:
  struct entry {
    std::shared_ptr<job> what;
    std::uint32_t parts = 0;
    std::uint32_t next = 0;
  };

  void run();
  [[nodiscard]] bool claim_part() noexcept;
  void do_claimed_part();
  [[nodiscard]] bool is_ending();
  [[nodiscard]] bool queue(const std::shared_ptr<job>& what, std::uint32_t parts);
  bool start_thread();
  [[nodiscard]] std::unique_lock<std::mutex> hold();

  const unsigned most_;
  hand_on continuations_;
  std::mutex mutex_;
  std::deque<entry> queue_;  // `next` of each is below `parts`
  std::vector<std::thread> threads_;
  bool ending_ = false;
  alignas(64) std::atomic<std::uint64_t> left_{0};
  alignas(64) std::atomic<unsigned> asleep_{0};
  std::atomic<std::uint32_t> wakes_{0};  // the futex of sleeping threads
};

// Spins, because a thread that sleeps for the mutex would come too late.
std::unique_lock<std::mutex> copy_pool::board::hold() {
  std::unique_lock lock(mutex_, std::defer_lock);
  detail::spin_wait spin(timeout, 1);
  while (!lock.try_lock()) {
    if (spin.step()) continue;
    lock.lock();
    break;
  }
  return lock;
}

void copy_pool::board::add(const std::shared_ptr<job>& what, std::uint32_t parts) {
  bool anybody = true;
  {
    const auto lock = hold();
    while (threads_.size() < std::min(most_, parts)) {
      if (!start_thread()) break;
    }
    anybody = !threads_.empty() && queue(what, parts);
    if (anybody) left_.fetch_add(parts, std::memory_order_seq_cst);
  }
  if (!anybody) {
    for (std::uint32_t part = 0; part < parts; ++part)
      what->do_part(part);
    return;
  }
  if (asleep_.load(std::memory_order_seq_cst) == 0) return;
  wakes_.fetch_add(1, std::memory_order_release);
  os::futex_wake(wakes_, static_cast<int>(std::min(parts, most_)), os::sharing::program);
}

// With the mutex. False if there is no memory.
bool copy_pool::board::queue(const std::shared_ptr<job>& what, std::uint32_t parts) {
  try {
    queue_.push_back({.what = what, .parts = parts});
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool copy_pool::board::claim_part() noexcept {
  std::uint64_t left = left_.load(std::memory_order_seq_cst);
  while (left > 0) {
    // Relaxed: the mutex orders the part's content.
    if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void copy_pool::board::do_claimed_part() {
  std::shared_ptr<job> what;
  std::uint32_t part = 0;
  {
    const auto lock = hold();
    entry& first = queue_.front();
    part = first.next++;
    if (first.next < first.parts) {
      what = first.what;
    } else {
      what = std::move(first.what);
      queue_.pop_front();
    }
  }
  what->do_part(part);
  detail::deferred_continuations& duties = detail::deferred_continuations::mine();
  if (duties.has_put_off()) continuations_(duties.take_put_off());
}

bool copy_pool::board::is_ending() {
  const auto lock = hold();
  return ending_;
}

void copy_pool::board::run() {
  ::prctl(PR_SET_NAME, "troupe-copy");
  const detail::deferred_continuations::holding continuations;
  for (;;) {
    detail::spin_wait spin(timeout, 1);
    bool has_part = claim_part();
    while (!has_part && spin.step())
      has_part = claim_part();
    if (!has_part) {
      const std::uint32_t seen = wakes_.load(std::memory_order_acquire);
      asleep_.fetch_add(1, std::memory_order_seq_cst);
      has_part = claim_part();
      if (!has_part) {
        if (is_ending()) return;
        os::futex_wait(wakes_, seen, std::chrono::steady_clock::time_point::max(),
                       os::sharing::program);
      }
      asleep_.fetch_sub(1, std::memory_order_relaxed);
    }
    if (has_part) do_claimed_part();
  }
}

// With the mutex. False if the system has no thread left, or no memory for one.
bool copy_pool::board::start_thread() {
  const std::size_t before = threads_.size();
  try {
    threads_.emplace_back();  // first: a running thread cannot be taken back
    threads_.back() = os::start_thread([self = shared_from_this()] { self->run(); });
    return true;
  } catch (const std::exception&) {
    threads_.resize(before);
    return false;
  }
}

void copy_pool::board::end() {
  std::vector<std::thread> ending;
  {
    const auto lock = hold();
    ending_ = true;
    ending.swap(threads_);
  }
  wakes_.fetch_add(1, std::memory_order_release);
  os::futex_wake(wakes_, std::numeric_limits<int>::max(), os::sharing::program);
  for (std::thread& one : ending) {
    if (one.get_id() == std::this_thread::get_id()) {
      one.detach();
    } else {
      one.join();
    }
  }
}

copy_pool::copy_pool(unsigned threads, hand_on continuations)
    : threads_(threads), board_(std::make_shared<board>(threads, std::move(continuations))) {}

copy_pool::~copy_pool() { board_->end(); }

void copy_pool::add(const std::shared_ptr<job>& what, std::uint32_t parts) {
  board_->add(what, parts);
}

}  // namespace troupe
