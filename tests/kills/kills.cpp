// Kills either side of the mailbox at random moments, as often as one likes, and compares the
// remains with the work done.
//
// kills [--workers N] [--programs N] [--ranks N] [--seed S] [--json FILE]
//
// First N workers of a program that continues (survivor.hpp), then N programs of workers that must
// end (orphans.hpp), then N workers of a world (ranks.hpp). The seed determines the requests; the
// seed and the machine determine when a kill comes.

#include "json_line.hpp"
#include "orphans.hpp"
#include "ranks.hpp"
#include "survivor.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

namespace troupe::kills {
namespace {

using gpu_test::json_line;
using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

double milliseconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

json_line begin_line(std::string_view what, std::uint64_t seed, std::int64_t kills,
                     double seconds) {
  json_line line;
  line.add("killed", what)
      .add("seed", seed)
      .add("kills", kills)
      .add("seconds", seconds)
      .add("kills_per_second", seconds > 0 ? static_cast<double>(kills) / seconds : 0.0);
  return line;
}

/// \returns what is said of it, and whether nothing was wrong
std::pair<std::string, bool> kill_workers(std::int64_t kills, std::uint64_t seed) {
  const auto begin = clock::now();
  survivor one(seed);
  const std::string wrong = one.outlive(kills);
  const sights& s = one.seen();
  json_line line = begin_line("workers", seed, s.kills, seconds_since(begin));
  line.add("between_instructions", s.stepped)
      .add("asleep", s.asleep)
      .add("running", s.running)
      .add("answering", s.answering)
      .add("program_sending", s.while_sending)
      .add("program_waiting", s.while_waiting)
      .add("requests", s.requests)
      .add("succeeded", s.succeeded)
      .add("run_again", s.run_again)
      .add("aborted", s.aborted)
      .add("tainted", s.tainted)
      .add("found_no_room", s.found_no_room)
      .add("rests", s.rests)
      .add("worst_recovery_ms", milliseconds(s.worst_recovery))
      .add("wrong", wrong);
  return {line.text(), wrong.empty()};
}

std::pair<std::string, bool> kill_programs(std::int64_t kills, std::uint64_t seed) {
  const auto begin = clock::now();
  orphans all(seed);
  const std::string wrong = all.outlive(kills);
  const remains& r = all.seen();
  json_line line = begin_line("programs", seed, r.kills, seconds_since(begin));
  line.add("between_instructions", r.stepped)
      .add("published", r.published)
      .add("completed", r.completed)
      .add("cut_short", r.cut_short)
      .add("unread", r.unread)
      .add("answered", r.answered)
      .add("torn", r.torn)
      .add("longest_survival_ms", milliseconds(r.longest_survival))
      .add("wrong", wrong);
  return {line.text(), wrong.empty()};
}

std::pair<std::string, bool> kill_ranks(std::int64_t kills, std::uint64_t seed) {
  const auto begin = clock::now();
  ranks all(seed);
  const std::string wrong = all.outlive(kills);
  const world_sights& s = all.seen();
  json_line line = begin_line("ranks", seed, s.kills, seconds_since(begin));
  line.add("in_part", s.in_part).add("operations", s.operations).add("wrong", wrong);
  return {line.text(), wrong.empty()};
}

int run(int argc, char** argv) {
  std::map<std::string_view, std::string> options{{"--workers", "40"},
                                                  {"--programs", "40"},
                                                  {"--ranks", "120"},
                                                  {"--seed", "1"},
                                                  {"--json", ""}};
  for (int i = 1; i < argc; i += 2) {
    const auto option = options.find(argv[i]);
    if (option == options.end() || i + 1 == argc) {
      fmt::print(stderr,
                 "kills [--workers N] [--programs N] [--ranks N] [--seed S] [--json FILE]\n");
      return 2;
    }
    option->second = argv[i + 1];
  }
  const std::uint64_t seed = std::stoull(options["--seed"]);
  std::ofstream file;
  if (!options["--json"].empty()) file.open(options["--json"]);
  bool all_well = true;
  const auto report = [&](const std::pair<std::string, bool>& outcome) {
    fmt::print("{}\n", outcome.first);
    std::fflush(stdout);
    if (file.is_open()) file << outcome.first << std::endl;
    all_well = all_well && outcome.second;
  };
  if (const auto kills = std::stoll(options["--workers"]); kills > 0) {
    report(kill_workers(kills, seed));
  }
  if (const auto kills = std::stoll(options["--programs"]); kills > 0) {
    report(kill_programs(kills, seed));
  }
  if (const auto kills = std::stoll(options["--ranks"]); kills > 0) {
    report(kill_ranks(kills, seed));
  }
  fmt::print("kills: {}\n", all_well ? "ok" : "FAILED");
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace troupe::kills

int main(int argc, char** argv) { return troupe::kills::run(argc, argv); }
