// Every kind of fault that can be injected, many times each, in short-lived programs of their own.
//
//   gpu_faults [--trials N] [--seed S] [--kinds A,B,…] [--batch N] [--json FILE] [--keep-going]
//
// One JSON line for each fault, and a table at the end; stops at the first promise that is broken,
// or with --keep-going goes on with the next kind, for where the time on a GPU is short.
// TROUPE_BACKEND says what is tried; without it, CUDA where there is a card.

#include "fault_cases.hpp"
#include "gpu/card.hpp"
#include "gpu/json_line.hpp"
#include "gpu/program.hpp"
#include "neighbour.hpp"
#include "tally.hpp"
#include "trial.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto start_timeout = 60s;
constexpr auto trial_timeout = 20s;

// A child: some trials of one kind.
int be_child(const arguments& words) {
  die_with_parent();
  const backend_kind backend = backend_under_test();
  const fault_case* what = find_case(backend, words.text("--child", ""));
  const std::string path = words.text("--json", "");
  std::ofstream lines(path, std::ios::app);
  const auto seed = static_cast<std::uint64_t>(words.number("--seed", 1));
  const auto first = static_cast<int>(words.number("--first", 0));
  const auto count = static_cast<int>(words.number("--trials", 1));
  const auto say = [&](const trial_report& report) {
    lines << report.json(name_of(backend)) << std::endl;
  };
  const auto fail = [&](int trial, std::string why) {
    say({.kind = std::string(what->name), .trial = trial, .seed = seed, .miss = std::move(why)});
    return 1;
  };
  int trial = first;
  try {
    trials all(*what, backend, seed);
    if (auto amiss = all.begin()) return fail(trial, *amiss);
    for (; trial < first + count; ++trial) {
      const trial_report report = all.run(trial);
      say(report);
      // Without destructors: they would wait for what is lost.
      if (!report.miss.empty()) std::_Exit(1);
    }
    if (auto amiss = all.end()) return fail(trial, *amiss);
  } catch (const failure& f) {
    return fail(trial, f.what());
  }
  return 0;
}

struct plan {
  std::vector<const fault_case*> cases{};
  int trials = 20;
  int batch = 10;
  std::uint64_t seed = 1;
  std::string json{};
  bool keep_going = false;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.push_back(line);
  return lines;
}

// All trials of one kind, some in each child; what is amiss, else nothing.
std::string run_case(const fault_case& what, const plan& p, tally& sum) {
  const std::optional<card_state> before = read_card();
  for (int first = 0; first < p.trials; first += p.batch) {
    const int count = std::min(p.batch, p.trials - first);
    const std::size_t known = lines_of(p.json).size();
    const ending end = run_self(
        {"--child", std::string(what.name), "--json", p.json, "--seed", std::to_string(p.seed),
         "--first", std::to_string(first), "--trials", std::to_string(count)},
        start_timeout + count * trial_timeout);
    const std::vector<std::string> lines = lines_of(p.json);
    for (std::size_t i = known; i < lines.size(); ++i)
      sum.add(lines[i]);
    if (!sum.miss().empty()) return sum.miss();
    // Once in some hundreds is the device's; more would be ours.
    if (sum.passed_as_done() > std::max(1, p.trials / 20)) {
      return fmt::format("{} of {} were reported as done", sum.passed_as_done(), sum.trials());
    }
    if (!end.well()) return "the program that injects " + end.to_string();
    if (std::string amiss = card_amiss(before); !amiss.empty()) return amiss;
  }
  return {};
}

int run_all(const plan& p, backend_kind backend) {
  if (::access(p.json.c_str(), F_OK) == 0) ::unlink(p.json.c_str());
  fmt::print("faults: {} kinds, {} trials each, backend {}, seed {}, lines in {}\n", p.cases.size(),
             p.trials, name_of(backend), p.seed, p.json);
  std::vector<tally> table;
  std::vector<std::string> broken;
  for (const fault_case* what : p.cases) {
    const auto begin = clock::now();
    table.emplace_back(std::string(what->name));
    const std::string amiss = run_case(*what, p, table.back());
    const int passed = table.back().passed_as_done();
    fmt::print("[{}/{}] {}: {} trials in {:.1f} s{}{}\n", table.size(), p.cases.size(), what->name,
               table.back().trials(), std::chrono::duration<double>(clock::now() - begin).count(),
               passed == 0 ? "" : fmt::format("; the device reported {} as done", passed),
               amiss.empty() ? "" : "; " + amiss);
    std::fflush(stdout);
    if (amiss.empty()) continue;
    broken.push_back(fmt::format("{}: {}", what->name, amiss));
    if (!p.keep_going) break;
  }
  fmt::print("\n{}\n", tally::head());
  int trials = 0;
  for (tally& one : table) {
    fmt::print("{}\n", one.row());
    trials += one.trials();
  }
  if (broken.empty()) {
    fmt::print("\nfaults: ok, {} trials of {} kinds\n", trials, table.size());
    return 0;
  }
  fmt::print("\nfaults: FAILED at {} of {} kinds; {}\n", broken.size(), table.size(),
             fmt::join(broken, "; "));
  return 1;
}

std::optional<plan> plan_of(const arguments& words, backend_kind backend) {
  plan p{.trials = static_cast<int>(words.number("--trials", 20)),
         .batch = static_cast<int>(words.number("--batch", 10)),
         .seed = static_cast<std::uint64_t>(words.number("--seed", 1)),
         .json = words.text("--json", "faults.jsonl"),
         .keep_going = words.has("--keep-going")};
  const std::string kinds = words.text("--kinds", "");
  if (kinds.empty()) {
    for (const fault_case& one : cases_of(backend))
      p.cases.push_back(&one);
    return p;
  }
  for (std::size_t at = 0; at < kinds.size();) {
    const std::size_t end = std::min(kinds.find(',', at), kinds.size());
    const fault_case* found = find_case(backend, kinds.substr(at, end - at));
    if (found == nullptr) {
      fmt::print("no kind {} on {}; there are:", kinds.substr(at, end - at), name_of(backend));
      for (const fault_case& one : cases_of(backend))
        fmt::print(" {}", one.name);
      fmt::print("\n");
      return std::nullopt;
    }
    p.cases.push_back(found);
    at = end + 1;
  }
  return p;
}

int run(const arguments& words) {
  if (words.has("--neighbour")) return be_neighbour();
  if (words.has("--child")) return be_child(words);
  const backend_kind backend = backend_under_test();
  const std::optional<plan> p = plan_of(words, backend);
  return p ? run_all(*p, backend) : 2;
}

}  // namespace
}  // namespace troupe::gpu_test

int main(int argc, char** argv) {
  try {
    return troupe::gpu_test::run(troupe::gpu_test::arguments(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
