#include "orphans.hpp"

#include "base/spin_wait.hpp"
#include "os/message_socket.hpp"
#include "program.hpp"
#include "stepping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <optional>
#include <set>
#include <thread>
#include <vector>

namespace troupe::kills {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr std::uint32_t orphan_capacity = 512;
constexpr int senders = 2;
// The ring then still holds every entry when the program is dead.
constexpr std::int64_t most_sent = std::int64_t{2} * orphan_capacity;

/// One of a program's threads: sends, and waits now and then.
void send_for_ever(program& mine, journal& fates, std::atomic<std::int64_t>& next,
                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    const std::int64_t number = next.fetch_add(1, std::memory_order_relaxed);
    if (number >= most_sent) break;
    if (fates.steps_of_sender().load(std::memory_order_relaxed) != 0) {
      const std::uint32_t steps = fates.steps_of_sender().exchange(0);
      if (steps != 0) die_in_steps(steps, fates.died_ns());
    }
    const program::drawn what = program::draw(random, number);
    fate& its = fates.of(number);
    const auto count = [&its](bool success) {
      (success ? its.succeeded : its.failed).fetch_add(1, std::memory_order_relaxed);
    };
    const std::int64_t pauses = static_cast<std::int64_t>(random() % 4);
    if (random() % 32 == 0) {
      count(mine.ask(what, pauses).get_result().has_value());
    } else {
      (void)mine.send(what, pauses, [count](const std::byte*, const error* failure) {
        count(failure == nullptr);
      });
    }
  }
  for (;;)
    ::pause();
}

}  // namespace

std::string orphans::outlive(std::int64_t kills) {
  while (seen_.kills < kills) {
    if (std::string wrong = kill_one(); !wrong.empty()) {
      return fmt::format("kill {}: {}", seen_.kills, wrong);
    }
    ++seen_.kills;
  }
  return {};
}

std::string orphans::kill_one() {
  fates_.forget_all();
  auto [ours, theirs] = os::message_socket_pair().value();
  // The program and its workers have an end each of these two, so that the last one's end is
  // noticed.
  int alive[2] = {-1, -1};
  if (::pipe2(alive, O_CLOEXEC) != 0) return "no pipe";
  const os::unique_fd last_words(alive[0]);
  os::unique_fd held(alive[1]);
  const std::uint64_t seed = random_();
  const pid_t victim = ::fork();
  if (victim < 0) return "no fork";
  if (victim == 0) live(theirs, seed);
  held.reset();
  theirs.reset();

  std::byte word{};
  auto begun = os::receive_message(ours, {&word, 1}, os::wait_mode::blocking, 2);
  const bool handed_over = begun && begun->descriptors.size() == 2;
  const auto strike = clock::now() + std::chrono::nanoseconds(random_() % 1'000'000);
  while (handed_over && clock::now() < strike)
    detail::pause_cpu();
  if (can_step() && random_() % 2 == 0) {
    fates_.steps_of_sender().store(1 + static_cast<std::uint32_t>(random_() % 3'000));
    // If both senders wait, or have sent all they may, no request is taken.
    const auto offered = clock::now();
    const auto is_over = [&] {
      const bool taken = fates_.steps_of_sender().load() == 0;
      return fates_.died_ns().load() != 0 || clock::now() - offered > (taken ? 500ms : 5ms);
    };
    while (!is_over())
      detail::pause_cpu();
    if (fates_.died_ns().load() != 0) ++seen_.stepped;
  }
  ::kill(victim, SIGKILL);
  const auto struck = clock::now();
  while (::waitpid(victim, nullptr, 0) < 0 && errno == EINTR) {
  }
  pollfd end{.fd = last_words.get(), .events = POLLIN, .revents = 0};
  const auto timeout = std::chrono::duration_cast<std::chrono::milliseconds>(survival_bound);
  if (::poll(&end, 1, static_cast<int>(timeout.count())) <= 0) {
    return "a worker has outlived its program";
  }
  seen_.longest_survival =
      std::max<std::chrono::nanoseconds>(seen_.longest_survival, clock::now() - struck);
  if (!handed_over) return "the program has not begun";
  return judge(
      {.mailbox = std::move(begun->descriptors[0]), .segment = std::move(begun->descriptors[1])});
}

// In the program that is to be killed.
void orphans::live(const os::unique_fd& heir, std::uint64_t seed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  program mine(fates_, orphan_capacity);
  mine.start();
  const int left[] = {mine.requests().memory().get(), mine.segment_of_first().get()};
  constexpr std::byte word{1};
  if (!os::send_message(heir, {&word, 1}, left)) ::_exit(1);
  std::atomic<std::int64_t> next{0};
  std::vector<std::jthread> threads;
  threads.reserve(senders);
  for (int i = 0; i < senders; ++i) {
    threads.emplace_back(
        [&, i] { send_for_ever(mine, fates_, next, seed + static_cast<std::uint64_t>(i)); });
  }
  for (;;)
    mine.core().supervision().take_turn();
}

std::string orphans::judge(const estate& left) {
  // The first bytes say how many there are.
  const auto head =
      os::map(left.mailbox, sizeof(wire::mailbox_header), os::protection::read).value();
  const wire::mailbox_geometry g =
      reinterpret_cast<const wire::mailbox_header*>(head.address())->geometry;
  const auto pages = os::map(left.mailbox, g.total_bytes, os::protection::read).value();
  const auto segment =
      os::map(left.segment, wire::worker_segment_bytes(g.capacity), os::protection::read).value();
  const auto* ring =
      reinterpret_cast<const std::atomic<std::uint64_t>*>(pages.address() + g.ring_offset);
  const auto* marks = reinterpret_cast<const wire::worker_header*>(segment.address())->lanes;

  struct in_lane {
    std::uint64_t places = 0;
    bool one_begun = false;  // without its mark
  };
  std::array<in_lane, program::lanes> lanes;
  std::set<std::uint16_t> slots;  // the slots of unfinished requests
  std::optional<std::uint64_t> first_gap;
  std::uint64_t gaps = 0;
  std::uint64_t gaps_so_far = 0;
  for (std::uint64_t ticket = 0; ticket < g.ring_size; ++ticket) {
    const std::uint64_t entry = ring[ticket].load();
    const std::uint32_t runs = fates_.runs(ticket).load(std::memory_order_relaxed);
    if (entry == 0) {
      if (!first_gap) first_gap = ticket;
      ++gaps_so_far;
      if (runs != 0) return fmt::format("ticket {} was never sent, and was run", ticket);
      continue;
    }
    gaps = gaps_so_far;
    const std::uint16_t slot = wire::ring_entry::slot_of(entry);
    const std::uint8_t lane = wire::ring_entry::lane_of(entry);
    if (!wire::ring_entry::is_for(entry, ticket) || slot >= g.capacity || lane >= lanes.size()) {
      return fmt::format("the entry of ticket {} is {:#x}", ticket, entry);
    }
    ++seen_.published;
    in_lane& l = lanes[lane];
    const std::uint64_t completed = marks[lane].completed.load();
    if (!first_gap && ++l.places <= completed) {
      if (runs != 1)
        return fmt::format("ticket {} is completed, and was run {} times", ticket, runs);
      ++seen_.completed;
      continue;
    }
    const auto* header = reinterpret_cast<const wire::slot_header*>(
        pages.address() + g.slots_offset + slot * wire::slot_bytes);
    if (!slots.insert(slot).second || header->ticket != ticket) {
      return fmt::format("ticket {} has not its slot {} for itself", ticket, slot);
    }
    if (runs == 0) {
      ++seen_.unread;
      continue;
    }
    if (runs > 1 || first_gap || std::exchange(l.one_begun, true) || l.places != completed + 1 ||
        marks[lane].started.load() < l.places) {
      return fmt::format("ticket {}, {} of lane {}, was run {} times; {} are completed, {} begun{}",
                         ticket, l.places, lane, runs, completed, marks[lane].started.load(),
                         first_gap ? ", and one before it was never sent" : "");
    }
    ++seen_.cut_short;
  }
  if (gaps > senders) return fmt::format("{} tickets have no entry", gaps);
  if (gaps > 0) ++seen_.torn;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (marks[lane].completed.load() > lanes[lane].places) {
      return fmt::format("the mark of lane {} is {} of {}", lane, marks[lane].completed.load(),
                         lanes[lane].places);
    }
  }
  return judge_answers();
}

std::string orphans::judge_answers() {
  for (std::int64_t number = 0; number < most_sent; ++number) {
    const fate& f = fates_.of(number);
    if (f.answers() > 1) return fmt::format("request {} was answered twice", number);
    const std::uint32_t ended = f.ended.load(std::memory_order_relaxed);
    if (f.succeeded.load(std::memory_order_relaxed) == 1 && ended != 1) {
      return fmt::format("request {} succeeded, and was run {} times", number, ended);
    }
    seen_.answered += f.answers();
  }
  return {};
}

}  // namespace troupe::kills
