#include "survivor.hpp"

#include "stepping.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace troupe::kills {
namespace {

constexpr std::uint32_t survivor_capacity = 48;
// As many requests as come between two rests at most; the journal has room for more.
constexpr std::size_t most_since_rest = journal::size / 2;

}  // namespace

survivor::survivor(std::uint64_t seed) : random_(seed), program_(fates_, survivor_capacity) {
  since_rest_.reserve(most_since_rest);
  program_.start();
  program_.environment().on_end = [this](const last_moment& then) {
    if (!executioner::has_victim()) return;
    seen_.asleep += then.asleep ? 1 : 0;
    seen_.running += then.running ? 1 : 0;
    seen_.answering += then.answering ? 1 : 0;
  };
}

std::string survivor::outlive(std::int64_t kills) {
  executioner axe;
  while (seen_.kills < kills && wrong_.empty()) {
    generation_ = program_.core().supervision().generation();
    recovered_at_ = {};
    doom(axe);
    const auto doomed_at = clock::now();
    while (!has_recovered() && wrong_.empty()) {
      step();
      if (clock::now() - std::max(doomed_at, died_at()) > recovery_bound) {
        break_with("no answer by another worker");
      }
    }
    ++seen_.kills;
    seen_.worst_recovery =
        std::max<std::chrono::nanoseconds>(seen_.worst_recovery, recovered_at_ - died_at());
    if (by_itself_) {
      ++seen_.stepped;
    } else {
      const executioner::scene scene = executioner::was_at();
      seen_.while_sending += scene == executioner::scene::sending ? 1 : 0;
      seen_.while_waiting += scene == executioner::scene::waiting ? 1 : 0;
    }
    executioner::rest();
    if (random_() % 2 == 0 || since_rest_.size() == most_since_rest) come_to_rest();
  }
  if (wrong_.empty()) come_to_rest();
  seen_.run_again = program_.core().supervision().replayed();
  return wrong_.empty() ? "" : fmt::format("kill {}: {}", seen_.kills, wrong_);
}

void survivor::doom(executioner& axe) {
  by_itself_ = can_step() && random_() % 2 == 0;
  fates_.died_ns().store(0);
  if (by_itself_) {
    // A request takes some hundred; so it may be this one or one of the next.
    fates_.steps_to_death().store(1 + static_cast<std::uint32_t>(random_() % 3'000));
    executioner::watch(*program_.core().supervision().worker_pid());
    return;
  }
  // Often just after the last one, when what that one left is being run again.
  const std::uint64_t longest = random_() % 4 == 0 ? 20'000 : 400'000;
  axe.kill_in(*program_.core().supervision().worker_pid(),
              std::chrono::nanoseconds(1 + random_() % longest));
}

survivor::clock::time_point survivor::died_at() noexcept {
  return by_itself_ ? clock::time_point(clock::duration(fates_.died_ns().load()))
                    : executioner::struck_at();
}

bool survivor::has_recovered() const noexcept { return recovered_at_ != clock::time_point{}; }

void survivor::step() {
  const std::uint64_t what = random_() % 16;
  if (what == 0) return sleep_until_told();
  if (what < 11) {
    for (std::uint64_t burst = random_() % 12; burst > 0; --burst)
      send_one();
  }
  turn();
}

void survivor::turn() {
  executioner::note(executioner::scene::turning);
  program_.core().supervision().take_turn();
}

void survivor::send_one() {
  if (since_rest_.size() == most_since_rest) return;
  const std::size_t place = since_rest_.size();
  since_rest_.push_back({.what = program::draw(random_, next_++)});
  ++seen_.requests;
  const std::int64_t pauses = random_() % 32 == 0 ? 200 : static_cast<std::int64_t>(random_() % 4);
  executioner::note(executioner::scene::sending);
  const auto sent = program_.send(
      since_rest_[place].what, pauses,
      [this, place](const std::byte* reply, error* failure) { note(place, reply, failure); });
  if (!sent) since_rest_[place].how = outcome::refused;  // its sender has been told, too
}

void survivor::note(std::size_t place, const std::byte* reply, const error* failure) {
  request& r = since_rest_[place];
  fate& mine = fates_.of(r.what.number);
  cell& c = cells_[r.what.lane];
  if (failure == nullptr) {
    mine.succeeded.fetch_add(1, std::memory_order_relaxed);
    r.how = outcome::success;
    ++seen_.succeeded;
    std::int64_t value = 0;
    std::memcpy(&value, reply, sizeof(value));
    check_value(r.what, value);
    if (!has_recovered() && program_.core().supervision().generation() != generation_) {
      recovered_at_ = clock::now();
    }
    return;
  }
  mine.failed.fetch_add(1, std::memory_order_relaxed);
  c.uncertain_until = std::max(c.uncertain_until, r.what.number);
  switch (failure->code) {
    case errc::aborted:
      r.how = outcome::aborted;
      ++seen_.aborted;
      break;
    case errc::tainted_buffer:
      r.how = outcome::tainted;
      ++seen_.tainted;
      break;
    case errc::mailbox_full:
      r.how = outcome::refused;
      ++seen_.found_no_room;
      break;
    default:
      break_with(fmt::format("request {} failed: {}", r.what.number, failure->to_string()));
  }
}

// An answer is the cell's value, if that is known.
void survivor::check_value(const program::drawn& what, std::int64_t value) {
  cell& c = cells_[what.lane];
  if (what.number <= c.uncertain_until) {
    c.known = false;
  } else if (!what.adds) {
    if (value != what.number) break_with(fmt::format("put {} answers {}", what.number, value));
    c = {.value = value, .uncertain_until = c.uncertain_until, .known = true};
  } else {
    if (c.known && value != c.value + what.number) {
      break_with(fmt::format("add {} to {} answers {}", what.number, c.value, value));
    }
    c.value = value;
  }
}

// As the device thread does.
void survivor::sleep_until_told() {
  executioner::note(executioner::scene::waiting);
  reactor& completions = program_.core().completions();
  completions.continuation_attached();
  std::optional<role> held = role::try_take(completions);
  if (!held) return break_with("somebody else has the role");
  const bool sleeps = completions.announce_sleep(*held) && completions.in_flight_count(*held) > 0;
  held.reset();
  const auto pid = program_.core().supervision().worker_pid();
  if (!sleeps || !pid) return turn();
  const os::unique_fd end(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  pollfd signs[2] = {{.fd = program_.wakes(), .events = POLLIN, .revents = 0},
                     {.fd = end.get(), .events = POLLIN, .revents = 0}};
  constexpr int longest_ms = 2'000;
  if (const int found = ::poll(signs, 2, longest_ms); found == 0) {
    break_with("nobody was told of a completion");
  }
  std::uint64_t count = 0;
  if (signs[0].revents != 0) [[maybe_unused]]
    const ssize_t got = ::read(program_.wakes(), &count, sizeof(count));
  turn();
}

// Until nothing is in flight; then all must add up.
void survivor::come_to_rest() {
  ++seen_.rests;
  reactor& completions = program_.core().completions();
  const auto give_up = clock::now() + recovery_bound;
  for (bool busy = true; busy && wrong_.empty();) {
    turn();
    if (clock::now() > give_up) break_with("requests are in flight for ever");
    const std::optional<role> held = role::try_take(completions);
    if (!held) return break_with("somebody else has the role");
    completions.poll(*held);
    busy = completions.in_flight_count(*held) > 0;
  }
  for (const request& r : since_rest_) {
    judge(r);
    fates_.of(r.what.number).forget();
  }
  since_rest_.clear();
  check_slots();
}

void survivor::judge(const request& r) {
  const fate& f = fates_.of(r.what.number);
  const std::uint32_t begun = f.begun.load(std::memory_order_relaxed);
  const std::uint32_t ended = f.ended.load(std::memory_order_relaxed);
  // A kill is not held against requests: those that only overwrite run again as often as needed.
  const std::uint32_t most = r.what.adds ? 1 : std::numeric_limits<std::uint32_t>::max();
  const auto fits = [&] {
    if (f.answers() != 1 || ended > begun) return false;
    switch (r.how) {
      case outcome::none:
        return false;
      case outcome::success:
        return ended >= 1 && begun <= most;
      case outcome::refused:
        return begun == 0;
      case outcome::aborted:
      case outcome::tainted:
        return r.what.adds && begun <= 1;
    }
    return false;
  };
  if (fits()) return;
  break_with(fmt::format("request {} ({}), outcome {}: begun {}, ended {}, answered {} times",
                         r.what.number, r.what.adds ? "add" : "put", static_cast<int>(r.how), begun,
                         ended, f.answers()));
}

void survivor::check_slots() {
  std::vector<std::uint16_t> free;
  while (const auto slot = program_.requests().take_slot()) {
    free.push_back(*slot);
    if (free.size() > survivor_capacity) return break_with("there are more free slots than slots");
  }
  std::vector<std::uint16_t> sorted = free;
  std::ranges::sort(sorted);
  const bool doubled = std::ranges::adjacent_find(sorted) != sorted.end();
  if (doubled || free.size() != survivor_capacity) {
    break_with(fmt::format("{} of {} slots are free{}", free.size(), survivor_capacity,
                           doubled ? ", one of them twice" : ""));
  }
  if (!free.empty()) program_.requests().give_back_slots(free);
}

}  // namespace troupe::kills
