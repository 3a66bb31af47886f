// Every kind of fault, drawn at random, for as long as one likes.
//
//   chaos [--seconds N] [--seed S] [--faults N] [--rate R] [--json FILE] [--round R] [--kinds
//   A,B,…]
//
// In rounds: a program whose device is struck by a number of faults under a mixed load, one at a
// time, every request of which is checked (history.hpp); then some programs that end, or stop their
// device, in the middle of a fault. Seed and round alone determine a round, so that --round
// replays the one in which a promise was broken. TROUPE_BACKEND and TROUPE_TEST_PLUGIN choose the
// device.

#include "endings.hpp"
#include "gpu/faults/fault_cases.hpp"
#include "history.hpp"
#include "hostile_cases.hpp"
#include "hostile_worker.hpp"
#include "json_line.hpp"
#include "program.hpp"

#include <troupe/plugin/worker_entry.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;
using gpu_test::arguments;
using clock = std::chrono::steady_clock;

constexpr int endings_in_a_round = 4;

struct plan {
  std::chrono::seconds duration{60};
  std::uint64_t seed = 1;
  std::int64_t faults = 200;  ///< in one round, beside the endings of programs
  std::int64_t rate = 1000;
  std::string json{};
  std::int64_t only_round = -1;
  std::string kinds{};
};

plan plan_of(const arguments& words) {
  return {.duration = std::chrono::seconds(words.number("--seconds", 60)),
          .seed = static_cast<std::uint64_t>(words.number("--seed", 1)),
          .faults = words.number("--faults", 200),
          .rate = words.number("--rate", 1000),
          .json = words.text("--json", "chaos.jsonl"),
          .only_round = words.number("--round", -1),
          .kinds = words.text("--kinds", "")};
}

std::uint64_t seed_of(const plan& p, std::int64_t round) {
  return p.seed * 1'000'003 + static_cast<std::uint64_t>(round);
}

/// The totals of all rounds.
class sums {
 public:
  void add(const std::string& summary) {
    for (const char* name :
         {"faults", "new_workers", "requests", "succeeded", "aborted", "tainted_refusals", "blamed",
          "questions", "lost", "duplicated", "wrong", "unexpected"})
      counts_[name] += gpu_test::count_of(summary, name);
    for (const char* name :
         {"descriptors", "threads", "resident_bytes", "children", "shared_bytes"})
      growth_[name] = std::max(growth_[name], gpu_test::count_of(summary, name));
  }
  void add_fault(std::uint64_t requests) {
    ++counts_["faults"];
    counts_["requests"] += static_cast<std::int64_t>(requests);
  }
  [[nodiscard]] std::int64_t operator[](const std::string& name) const {
    const auto found = counts_.find(name);
    return found == counts_.end() ? 0 : found->second;
  }
  void print() const {
    fmt::print(
        "{} requests and {} questions: {} succeeded, {} aborted, {} refused as tainted, "
        "{} took the blame\n",
        (*this)["requests"], (*this)["questions"], (*this)["succeeded"], (*this)["aborted"],
        (*this)["tainted_refusals"], (*this)["blamed"]);
    fmt::print("largest growth in a round:");
    for (const auto& [name, value] : growth_)
      fmt::print(" {} {}", name, value);
    fmt::print("\n");
  }

 private:
  std::map<std::string, std::int64_t> counts_;
  std::map<std::string, std::int64_t> growth_;
};

// The faults of all kinds, or those of `--kinds`.
std::vector<const fault_case*> cases_of(const std::string& kinds, backend_kind backend) {
  std::vector<const fault_case*> all = cases_of_history(backend);
  for (const fault_case& one : hostile_cases())
    all.push_back(&one);
  // Queues are served by a process like any other.
  if (backend != backend_kind::cpu) {
    for (const char* name : {"segmentation_fault", "abort", "exit", "exception"})
      all.push_back(gpu_test::find_case(backend_kind::cpu, name));
  }
  if (kinds.empty()) return all;
  const std::string listed = "," + kinds + ",";
  std::erase_if(all, [&](const fault_case* one) {
    return listed.find(fmt::format(",{},", one->name)) == std::string::npos;
  });
  return all;
}

int be_round(const arguments& words) {
  gpu_test::die_with_parent();
  start_board board;
  const plan p = plan_of(words);
  const backend_kind backend = gpu_test::backend_under_test();
  history all({.name = "chaos",
               .backend = backend,
               .seed = seed_of(p, p.only_round),
               .duration = p.duration,
               .most_faults = static_cast<std::uint64_t>(p.faults),
               .interval = 0ms,
               .rate = static_cast<double>(p.rate),
               .json = p.json,
               .appends = true,
               .cases = cases_of(p.kinds, backend),
               .settling_faults = 50,
               .board = &board});
  return all.run();
}

std::string last_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);)
    last = line;
  return last;
}

// The defect of a round, else nothing.
std::string run_round(const plan& p, std::int64_t round, std::chrono::seconds left, sums& all) {
  const gpu_test::ending end = gpu_test::run_self(
      {"--child", "--seconds", std::to_string(left.count()), "--seed", std::to_string(p.seed),
       "--faults", std::to_string(p.faults), "--rate", std::to_string(p.rate), "--json", p.json,
       "--round", std::to_string(round), "--kinds", p.kinds},
      left + 120s);
  const std::string summary = last_line_of(p.json);
  if (summary.find("\"summary\": true") != std::string::npos) {
    all.add(summary);
    if (std::string miss = gpu_test::text_of(summary, "miss"); !miss.empty()) return miss;
  }
  if (!end.well()) return "the program under faults " + end.to_string();
  std::mt19937_64 random(seed_of(p, round));
  for (int i = 0; i < endings_in_a_round; ++i) {
    const auto ways = program_endings();
    const program_ending& how = ways[random() % ways.size()];
    const ending_report report = end_a_program(how, random() % 1'000'000);
    all.add_fault(report.requests);
    gpu_test::json_line line;
    line.add("kind", how.name).add("round", round).add("miss", report.miss);
    std::ofstream(p.json, std::ios::app) << line.text() << std::endl;
    if (!report.miss.empty()) return fmt::format("{}: {}", how.name, report.miss);
  }
  return {};
}

// How the round that has failed is run again, from the root of the tree.
std::string replay_of(const plan& p, std::int64_t round) {
  std::string setting;
  for (const char* name : {"TROUPE_BACKEND", "TROUPE_TEST_PLUGIN"}) {
    if (const char* value = std::getenv(name)) setting += fmt::format("{}={} ", name, value);
  }
  return fmt::format("{}build/dev/bin/chaos --seed {} --round {} --faults {} --rate {}{}{}",
                     setting, p.seed, round, p.faults, p.rate, p.kinds.empty() ? "" : " --kinds ",
                     p.kinds);
}

int run_all(const plan& p) {
  if (cases_of(p.kinds, gpu_test::backend_under_test()).empty()) {
    fmt::print("chaos: there is no such kind here: {}\n", p.kinds);
    return 2;
  }
  if (::access(p.json.c_str(), F_OK) == 0) ::unlink(p.json.c_str());
  const auto begin = clock::now();
  const std::string_view backend = gpu_test::name_of(gpu_test::backend_under_test());
  fmt::print("chaos: backend {}, seed {}, lines in {}\n", backend, p.seed, p.json);
  std::fflush(stdout);
  sums all;
  std::string miss;
  std::int64_t round = std::max<std::int64_t>(p.only_round, 0);
  for (;; ++round) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(p.duration - (clock::now() - begin));
    if (p.only_round < 0 && left <= 0s) break;
    miss = run_round(p, round, p.only_round < 0 ? left : 600s, all);
    if (!miss.empty() || p.only_round >= 0) break;
  }
  fmt::print("\n");
  all.print();
  const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
  fmt::print(
      "chaos: {} on {}, seed {}: {} faults in {:.0f} s, {} requests; lost {}, duplicated {}, wrong "
      "{}, unexpected {}\n",
      miss.empty() ? "ok" : "FAILED", backend, p.seed, all["faults"], seconds, all["requests"],
      all["lost"], all["duplicated"], all["wrong"], all["unexpected"]);
  if (miss.empty()) return 0;
  fmt::print("chaos: in round {}: {}\nchaos: replay with: {}\n", round, miss, replay_of(p, round));
  return 1;
}

int run(const arguments& words) {
  if (words.has("--ending")) return be_ending_program(words);
  if (words.has("--child")) return be_round(words);
  return run_all(plan_of(words));
}

}  // namespace
}  // namespace troupe::chaos

int main(int argc, char** argv) {
  using namespace troupe::chaos;
  maybe_start_badly(argc, argv);
  if (const auto status = troupe::worker_entry(argc, argv, &add_hostile_operations)) return *status;
  try {
    return run(troupe::gpu_test::arguments(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
