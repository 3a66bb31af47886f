#pragma once

#include <troupe/core/system.hpp>

#include <caf/all.hpp>

#include <cstdint>
#include <future>
#include <string>

/// The Savina programs (Imam and Sarkar, 2014): each the same with Troupe's actors and with those
/// of the C++ Actor Framework, which is 0.17.6 here.
namespace bench::savina {

/// Both sides make a system of so many threads, run the program to its end, and answer a number
/// that shows that nothing was lost.
struct program {
  std::string name;
  std::int64_t expected;
  std::int64_t (*troupe)(int threads);
  std::int64_t (*caf)(int threads);
};

/// An actor reports here how the program ended.
using outcome = std::promise<std::int64_t>;

/// A CAF system of so many threads; it ends when its actors have ended.
struct caf_system {
  explicit caf_system(int threads) : system(with(config, threads)) {}

  caf::actor_system_config config;
  caf::actor_system system;

 private:
  static caf::actor_system_config& with(caf::actor_system_config& c, int threads) {
    return c.set("scheduler.max-threads", static_cast<std::size_t>(threads));
  }
};

/// The same random numbers on both sides.
class random_numbers {
 public:
  explicit random_numbers(std::int64_t seed) : state_(static_cast<std::uint64_t>(seed) * 2 + 1) {}
  std::int64_t below(std::int64_t end) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state_ >> 33U) % static_cast<std::uint64_t>(end));
  }

 private:
  std::uint64_t state_;
};

program ping_pong();
program ask();
program counting();
program create();
program throughput();
program ring();
program chameneos();
program big();
program dictionary();
program bank();
program reentrant_bank();
program sieve();
program fibonacci();
program philosophers();

}  // namespace bench::savina
