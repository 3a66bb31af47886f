#include "device/copy_crew.hpp"

#include "core/spin_wait.hpp"
#include "core/thread_duties.hpp"
#include "os/futex.hpp"
#include "os/thread.hpp"

#include <troupe/core/completion_driver.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

namespace troupe {
namespace {

// Of a thread without work, before it sleeps. When it has staged the last bytes of a copy into the
// device, the link still has some MiB to take, for 100 or 200 µs, before a next copy can begin.
constexpr auto patience = std::chrono::microseconds(300);

// The mutex is held for less than it takes to fall asleep, and several want it at once when work
// comes: one that slept for it would come too late.
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

/// One part of a batch; of none when there is none.
struct one_part {
  copy_crew::work* of = nullptr;
  std::uint32_t number = 0;
};

}  // namespace

/// How far a thread has come in an order: the batch of its last part, and that one's first part.
struct copy_crew::cursor {
  std::size_t batch = 0;
  std::uint64_t first_part = 0;
};

/// Parts are taken without a lock, which all threads would want for each of them: whoever counts
/// `next_` up has the part. What has been added is published by `added_`, release, and read by
/// whoever has seen that, acquire.
///
/// A thread leaves its seat, or is no longer free, and then looks for parts once more; whoever adds
/// some counts both after that. All of it is seq_cst, so one of the two sees the other.
class copy_crew::order {
 public:
  explicit order(const order_shape& shape)
      : most_threads_(shape.most_threads), batches_(shape.most_batches) {}

  void add(batch more) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t parts = added_.load(std::memory_order_relaxed) + more.parts;
    batches_[count_++] = std::move(more);
    added_.store(parts, std::memory_order_seq_cst);
  }
  void close() noexcept { closed_.store(true, std::memory_order_release); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

  [[nodiscard]] one_part take(cursor& at) noexcept {
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    while (next < added_.load(std::memory_order_acquire)) {
      if (next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) {
        return part(at, next);
      }
    }
    return {};
  }
  /// A part of `it`, if that comes next.
  [[nodiscard]] one_part take_of(const copy_crew::work& it) noexcept {
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    while (next < added_.load(std::memory_order_acquire)) {
      cursor at;
      const one_part found = part(at, next);
      if (found.of != &it) return {};
      if (next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) return found;
    }
    return {};
  }
  [[nodiscard]] bool has_parts() const noexcept {
    return next_.load(std::memory_order_relaxed) < added_.load(std::memory_order_seq_cst);
  }

  /// Whom to bring for so many parts, which have been added.
  [[nodiscard]] unsigned missing(unsigned parts) const noexcept {
    const unsigned there = seated_.load(std::memory_order_seq_cst);
    const unsigned wanted = std::min(parts, most_threads_);
    if (there < wanted) return wanted - there;
    // Who is at a part may be there for long: what a program continues with may run there, and may
    // even wait for what is added here.
    const bool all_are_at_work = free_.load(std::memory_order_seq_cst) == 0;
    return all_are_at_work && there < most_threads_ ? 1 : 0;
  }
  /// Of those that have a seat: is without a part, and sees the next one.
  void be_free() noexcept { free_.fetch_add(1, std::memory_order_seq_cst); }
  void be_busy() noexcept { free_.fetch_sub(1, std::memory_order_seq_cst); }
  [[nodiscard]] bool sit_down() noexcept {
    unsigned now = seated_.load(std::memory_order_relaxed);
    while (now < most_threads_) {
      if (seated_.compare_exchange_weak(now, now + 1, std::memory_order_seq_cst)) return true;
    }
    return false;
  }
  /// False for whoever is to stay, since there is more.
  [[nodiscard]] bool stand_up() noexcept {
    seated_.fetch_sub(1, std::memory_order_seq_cst);
    return !has_parts() || !sit_down();
  }

 private:
  // Of a number that has been added, not below the last one of this cursor.
  [[nodiscard]] one_part part(cursor& at, std::uint64_t number) const noexcept {
    for (;; ++at.batch) {
      const batch& one = batches_[at.batch];
      if (number - at.first_part < one.parts) {
        return {one.what.get(), static_cast<std::uint32_t>(number - at.first_part)};
      }
      at.first_part += one.parts;
    }
  }

  const unsigned most_threads_;
  std::vector<batch> batches_;
  std::mutex mutex_;  // who adds
  std::size_t count_ = 0;
  // Apart: all look at the first, few write it; all write the second.
  alignas(64) std::atomic<std::uint64_t> added_{0};
  std::atomic<bool> closed_{false};
  alignas(64) std::atomic<std::uint64_t> next_{0};
  alignas(64) std::atomic<unsigned> seated_{0};
  std::atomic<unsigned> free_{0};
};

/// The mutex guards everything but the atomics.
///
/// Who spins for work watches `tickets`, and comes to the mutex with one: if all came for each
/// order, the few that find a seat would come late by the others' turns. They are handed out once
/// an order waits, by a release that whoever takes one acquires: a ticket's holder finds that
/// order, or another, or that others have begun all there was. Who is at an order without a part
/// watches for both. Who is about to sleep looks for parts without a ticket.
///
/// `news` changes under the mutex whenever those who sleep on it are to come awake.
struct copy_crew::board {
  using orders = std::vector<std::shared_ptr<order>>;

  void hand_out_tickets(std::uint64_t count) noexcept {
    tickets.fetch_add(static_cast<std::uint32_t>(count), std::memory_order_release);
  }
  [[nodiscard]] bool take_ticket() noexcept;
  /// Spins for one; false if none has come while there was patience.
  [[nodiscard]] bool wait_for_ticket(detail::spin_wait& spin) noexcept;
  /// Does parts of `it`, with a seat, as long as more come. \returns whether it has a ticket
  [[nodiscard]] bool work_at(order& it);
  /// Waits for more parts of `it`, for its end, or for a ticket. \returns whether it has one
  [[nodiscard]] bool wait_for_more(order& it) noexcept;

  /// The first order that has parts and a seat; with a ticket, or one that has a seat. None if
  /// there is none.
  [[nodiscard]] std::shared_ptr<order> take_seat(bool has_ticket);
  [[nodiscard]] turnout summon(unsigned wanted, unsigned most_threads);
  /// One part of what comes next, or of `it` alone if that comes next; false if there is none.
  bool take_part_in(const work* it);

  std::mutex mutex;
  orders waiting;
  unsigned started = 0;
  unsigned sleeping = 0;
  unsigned woken = 0;  // of those that sleep: they are on their way
  bool ending = false;
  std::atomic<std::uint32_t> news{0};
  // Apart, since all write to the one and look at the other while the mutex has a holder. Who does
  // not spin any more looks for an order under the mutex before it sleeps.
  alignas(64) std::atomic<unsigned> spinning{0};
  alignas(64) std::atomic<std::uint32_t> tickets{0};
};

bool copy_crew::board::take_ticket() noexcept {
  std::uint32_t left = tickets.load(std::memory_order_relaxed);
  while (left > 0) {
    if (tickets.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool copy_crew::board::wait_for_ticket(detail::spin_wait& spin) noexcept {
  spinning.fetch_add(1, std::memory_order_relaxed);
  bool has_one = take_ticket();
  while (!has_one && spin.step())
    has_one = take_ticket();
  spinning.fetch_sub(1, std::memory_order_relaxed);
  return has_one;
}

bool copy_crew::board::wait_for_more(order& it) noexcept {
  it.be_free();
  detail::spin_wait spin(patience, 1);
  bool has_ticket = false;
  while (!it.has_parts() && !it.closed()) {
    has_ticket = take_ticket();
    if (has_ticket || !spin.step()) break;
  }
  it.be_busy();
  return has_ticket;
}

bool copy_crew::board::work_at(order& it) {
  cursor at;
  bool has_ticket = false;
  do {
    for (one_part part = it.take(at); part.of != nullptr; part = it.take(at))
      part.of->do_part(part.number);
    if (has_ticket) continue;
    has_ticket = wait_for_more(it);
  } while (it.has_parts() || !it.stand_up());
  return has_ticket;
}

std::shared_ptr<copy_crew::order> copy_crew::board::take_seat(bool has_ticket) {
  for (const auto& one : waiting) {
    if (one->has_parts() && one->sit_down()) return one;
  }
  if (!has_ticket) return nullptr;
  for (const auto& one : waiting) {
    if (!one->closed() && one->sit_down()) return one;
  }
  return nullptr;
}

// Whom to bring so that so many that are at nothing are awake.
copy_crew::turnout copy_crew::board::summon(unsigned wanted, unsigned most_threads) {
  wanted = std::min(wanted, most_threads);
  const unsigned coming = spinning.load(std::memory_order_relaxed) + woken;
  unsigned missing = wanted - std::min(wanted, coming);
  turnout threads;
  threads.woken = std::min(missing, sleeping - woken);
  woken += threads.woken;
  if (threads.woken > 0) news.fetch_add(1, std::memory_order_relaxed);
  missing -= threads.woken;
  threads.started = std::min(missing, most_threads - started);
  started += threads.started;
  return threads;
}

bool copy_crew::board::take_part_in(const work* it) {
  // Whoever calls needs no seat.
  const std::shared_ptr<order> mine = [this]() -> std::shared_ptr<order> {
    const auto lock = hold(mutex);
    const auto found = std::ranges::find_if(waiting, [](const auto& o) { return o->has_parts(); });
    return found == waiting.end() ? nullptr : *found;
  }();
  if (!mine) return false;
  cursor at;
  const one_part part = it != nullptr ? mine->take_of(*it) : mine->take(at);
  if (part.of == nullptr) return false;
  part.of->do_part(part.number);
  return true;
}

/// A continuation of a copy that one of the crew has ended waits: for another one, it may be.
class copy_crew::helping final : public detail::way_to_wait {
 public:
  explicit helping(board& shared) noexcept : board_(shared) {
    detail::thread_duties::mine().wait_by(this);
  }
  helping(const helping&) = delete;
  helping& operator=(const helping&) = delete;
  ~helping() { detail::thread_duties::mine().wait_by(nullptr); }

  void wait_until(const future_state_base* state,
                  std::chrono::steady_clock::time_point deadline) noexcept override {
    using clock = std::chrono::steady_clock;
    while (state == nullptr || !state->ready()) {
      if (board_.take_part_in(nullptr)) continue;
      const clock::time_point now = clock::now();
      if (now >= deadline) return;
      const clock::time_point next_look = std::min(deadline, now + patience);
      if (state == nullptr) {
        std::this_thread::sleep_until(next_look);
      } else if (state->driver() != nullptr) {
        state->driver()->drive_until(*state, next_look);
      } else {
        state->park_until(next_look);
      }
    }
  }

 private:
  board& board_;
};

copy_crew::copy_crew(unsigned most_threads)
    : most_threads_(most_threads), board_(std::make_shared<board>()) {}

copy_crew::~copy_crew() {
  {
    const auto lock = hold(board_->mutex);
    board_->ending = true;
    board_->news.fetch_add(1, std::memory_order_relaxed);
  }
  board_->hand_out_tickets(most_threads_);
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

std::shared_ptr<copy_crew::order> copy_crew::open(const order_shape& shape) {
  auto opened = std::make_shared<order>(shape);
  const unsigned most = std::min(shape.most_threads, most_threads_);
  const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(shape.parts, most));
  turnout threads;
  {
    const auto lock = hold(board_->mutex);
    board_->waiting.push_back(opened);
    threads = board_->summon(wanted, most_threads_);
  }
  board_->hand_out_tickets(wanted);
  muster(threads);
  return opened;
}

void copy_crew::add(const std::shared_ptr<order>& to, batch more) {
  const unsigned parts = std::min<unsigned>(more.parts, most_threads_);
  to->add(std::move(more));
  const unsigned missing = to->missing(parts);
  if (missing == 0) return;
  turnout threads;
  {
    const auto lock = hold(board_->mutex);
    threads = board_->summon(missing, most_threads_);
  }
  board_->hand_out_tickets(missing);
  muster(threads);
}

void copy_crew::close(const std::shared_ptr<order>& it) {
  it->close();
  const auto lock = hold(board_->mutex);
  std::erase(board_->waiting, it);
  // Nobody is wanted. What comes next has its tickets after this.
  if (board_->waiting.empty()) board_->tickets.store(0, std::memory_order_relaxed);
}

void copy_crew::muster(turnout threads) {
  if (threads.woken > 0) {
    os::futex_wake(board_->news, static_cast<int>(threads.woken), os::sharing::program);
  }
  if (threads.started == 0) return;
  const std::lock_guard lock(threads_mutex_);
  for (unsigned i = 0; i < threads.started; ++i)
    threads_.push_back(os::start_thread([shared = board_] { serve(shared); }));
}

bool copy_crew::help() { return board_->take_part_in(nullptr); }
bool copy_crew::help_with(const work& it) { return board_->take_part_in(&it); }

void copy_crew::serve(const std::shared_ptr<board>& shared) {
  ::prctl(PR_SET_NAME, "troupe-copy");
  const helping in_continuations(*shared);
  // Goes on while others are faster to take what comes, so that a trickle of work keeps as many
  // awake as it needs.
  detail::spin_wait spin(patience);
  bool kept_ticket = false;
  for (;;) {
    const bool has_ticket = kept_ticket || shared->wait_for_ticket(spin);
    kept_ticket = false;
    auto lock = hold(shared->mutex);
    if (std::shared_ptr<order> mine = shared->take_seat(has_ticket)) {
      lock.unlock();
      kept_ticket = shared->work_at(*mine);
      mine.reset();
      spin = detail::spin_wait(patience);
      continue;
    }
    if (shared->ending) return;
    if (has_ticket) continue;
    const std::uint32_t seen = shared->news.load(std::memory_order_relaxed);
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
