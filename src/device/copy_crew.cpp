#include "device/copy_crew.hpp"

#include "core/spin_wait.hpp"
#include "core/thread_duties.hpp"
#include "os/futex.hpp"

#include <troupe/core/completion_driver.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <iterator>
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
  bool last = false;  // of its order
};

/// Batches that were posted together. Their parts are taken without the mutex, which all threads
/// would want for each of them: whoever has an order counts `next_` up, and the part is its own.
/// Relaxed: the mutex under which it got the order has shown it what to do.
class order {
 public:
  explicit order(std::span<copy_crew::batch> batches)
      : batches_(std::make_move_iterator(batches.begin()), std::make_move_iterator(batches.end())) {
    for (const copy_crew::batch& one : batches_)
      parts_ += one.parts;
  }

  [[nodiscard]] one_part take() noexcept {
    return part(next_.fetch_add(1, std::memory_order_relaxed));
  }
  /// A part of `it`, if that comes next.
  [[nodiscard]] one_part take_of(const copy_crew::work& it) noexcept {
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    while (part(next).of == &it) {
      if (next_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) return part(next);
    }
    return {};
  }
  [[nodiscard]] std::uint64_t parts_left() const noexcept {
    return parts_ - std::min(parts_, next_.load(std::memory_order_relaxed));
  }

  // Under the mutex: who of the crew is at it. A thread that is stays until no part is left.
  [[nodiscard]] unsigned seats_left() const noexcept {
    const unsigned most = batches_.front().what->most_threads();
    return most - std::min(most, seated_);
  }
  [[nodiscard]] std::uint64_t threads_wanted() const noexcept {
    return std::min<std::uint64_t>(parts_left(), seats_left());
  }
  void sit_down() noexcept { ++seated_; }

 private:
  [[nodiscard]] one_part part(std::uint64_t number) const noexcept {
    const bool last = number + 1 == parts_;
    for (const copy_crew::batch& one : batches_) {
      if (number < one.parts) return {one.what.get(), static_cast<std::uint32_t>(number), last};
      number -= one.parts;
    }
    return {};
  }

  const std::vector<copy_crew::batch> batches_;
  std::uint64_t parts_ = 0;
  unsigned seated_ = 0;
  alignas(64) std::atomic<std::uint64_t> next_{0};
};

}  // namespace

/// The mutex guards everything but the atomics.
///
/// Who spins for work watches `tickets` alone, and comes to the mutex with one: if all came for
/// each piece, the few that find a part would come late by the others' turns. An order brings one
/// for each thread that it has a part and a seat for. They are handed out once it waits, by a
/// release that whoever takes one acquires: a ticket's holder finds that order, or another, or that
/// others have begun all there was. Who is about to sleep looks for a seat without one.
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

  /// Those without parts are to be let go of without the mutex: the last one may end the crew.
  [[nodiscard]] orders take_done();
  void let_go_of_done();
  /// The first order that has parts and a seat left, or none.
  [[nodiscard]] std::shared_ptr<order> with_a_seat() const;
  [[nodiscard]] turnout summon(std::uint64_t parts, unsigned most_threads);
  /// One part of what comes next, or of `it` alone if that comes next; false if there is none.
  bool take_part_in(const work* it);

  std::mutex mutex;
  std::deque<std::shared_ptr<order>> waiting;
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

copy_crew::board::orders copy_crew::board::take_done() {
  orders done;
  for (; !waiting.empty() && waiting.front()->parts_left() == 0; waiting.pop_front())
    done.push_back(std::move(waiting.front()));
  // Nobody is wanted. What comes next has its tickets after this.
  if (waiting.empty()) tickets.store(0, std::memory_order_relaxed);
  return done;
}

void copy_crew::board::let_go_of_done() {
  const orders done = [this] {
    const auto lock = hold(mutex);
    return take_done();
  }();
}

std::shared_ptr<order> copy_crew::board::with_a_seat() const {
  const auto found = std::ranges::find_if(
      waiting, [](const auto& one) { return one->parts_left() > 0 && one->seats_left() > 0; });
  return found == waiting.end() ? nullptr : *found;
}

// Whom to bring so that there is an idle one for each part.
copy_crew::turnout copy_crew::board::summon(std::uint64_t parts, unsigned most_threads) {
  const auto wanted = static_cast<unsigned>(std::min<std::uint64_t>(parts, most_threads));
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
  const auto look = [this] {
    const auto lock = hold(mutex);
    orders done = take_done();
    return std::pair(waiting.empty() ? nullptr : waiting.front(), std::move(done));
  };
  const std::shared_ptr<order> mine = look().first;
  if (!mine) return false;
  const one_part part = it != nullptr ? mine->take_of(*it) : mine->take();
  if (part.of == nullptr) return false;
  part.of->do_part(part.number);
  if (part.last) let_go_of_done();
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

void copy_crew::post(std::span<batch> batches) {
  auto posted = std::make_shared<order>(batches);
  const std::uint64_t tickets = std::min<std::uint64_t>(posted->threads_wanted(), most_threads_);
  turnout threads;
  {
    const auto lock = hold(board_->mutex);
    board_->waiting.push_back(std::move(posted));
    std::uint64_t wanted = 0;
    for (const auto& one : board_->waiting)
      wanted += one->threads_wanted();
    threads = board_->summon(wanted, most_threads_);
  }
  board_->hand_out_tickets(tickets);
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

bool copy_crew::help() { return board_->take_part_in(nullptr); }
bool copy_crew::help_with(const work& it) { return board_->take_part_in(&it); }

void copy_crew::serve(const std::shared_ptr<board>& shared) {
  ::prctl(PR_SET_NAME, "troupe-copy");
  const helping in_continuations(*shared);
  // Goes on while others are faster to take what comes, so that a trickle of work keeps as many
  // awake as it needs.
  detail::spin_wait spin(patience);
  for (;;) {
    const bool has_ticket = shared->wait_for_ticket(spin);
    auto lock = hold(shared->mutex);
    board::orders done = shared->take_done();
    std::shared_ptr<order> mine = shared->with_a_seat();
    if (mine || !done.empty()) {
      if (mine) mine->sit_down();
      lock.unlock();
      done.clear();
      if (!mine) continue;
      bool had_the_last = false;
      for (one_part part = mine->take(); part.of != nullptr; part = mine->take()) {
        had_the_last = part.last;
        part.of->do_part(part.number);
      }
      mine.reset();
      if (had_the_last) shared->let_go_of_done();
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
