#include "process_hop.hpp"

#include "samples.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>

namespace troupe::bench {
namespace {

constexpr std::size_t ring_size = 1024;

struct alignas(128) slot {
  std::atomic<std::uint64_t> number{0};
  std::uint64_t payload[14]{};
};

struct shared {
  slot ring[ring_size];
  alignas(64) std::atomic<std::uint64_t> completed{0};
  alignas(64) std::atomic<bool> end{false};
};

void serve(shared& s) {
  for (std::uint64_t next = 1;; ++next) {
    const slot& at = s.ring[next % ring_size];
    while (at.number.load(std::memory_order_acquire) != next) {
      if (s.end.load(std::memory_order_relaxed)) ::_exit(0);
      __builtin_ia32_pause();
    }
    s.completed.store(next, std::memory_order_release);
  }
}

}  // namespace

process_hop measure_process_hop() {
  void* at =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return {};
  shared& s = *::new (at) shared();
  const pid_t server = ::fork();
  if (server == 0) serve(s);
  if (server < 0) return {};

  std::uint64_t sent = 0;
  const auto send = [&] {
    ++sent;
    slot& to = s.ring[sent % ring_size];
    to.payload[0] = sent;
    to.number.store(sent, std::memory_order_release);
  };
  const auto wait_for = [&](std::uint64_t number) {
    while (s.completed.load(std::memory_order_acquire) < number)
      __builtin_ia32_pause();
  };

  process_hop found;
  samples round_trips;
  round_trips.take(200'000, [&] {
    send();
    wait_for(sent);
  });
  found.round_trip_us_median = round_trips.median();
  found.round_trip_us_p99 = round_trips.p99();

  constexpr std::uint64_t count = 10'000'000;
  const auto begin = clock::now();
  for (std::uint64_t i = 0; i < count; ++i) {
    if (sent >= ring_size / 2) wait_for(sent - ring_size / 2);
    send();
  }
  wait_for(sent);
  found.pipelined_per_second =
      static_cast<double>(count) / std::chrono::duration<double>(clock::now() - begin).count();

  s.end.store(true);
  ::waitpid(server, nullptr, 0);
  ::munmap(at, sizeof(shared));
  return found;
}

}  // namespace troupe::bench
