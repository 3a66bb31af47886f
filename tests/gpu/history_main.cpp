// A mixed load under random faults, every request of which is checked.
//
//   gpu_history [--seconds N] [--every-ms M] [--rate R] [--seed S] [--json FILE]
//
// Clients send requests of every kind for cells of their own, with a fault every M milliseconds.
// Each request is noted when it is sent and when it ends; what all of them answered must be what
// running the successful ones one after the other gives: lost 0, duplicated 0, wrong 0. Over all
// the new workers nothing may grow: descriptors, threads, memory of the program and of the card.
// One JSON line for each fault and one for the whole.

#include "card.hpp"
#include "history.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace troupe::gpu_test {
namespace {

int be_child(const arguments& words) {
  die_with_parent();
  const backend_kind backend = backend_under_test();
  chaos::history all({.backend = backend,
                      .seed = static_cast<std::uint64_t>(words.number("--seed", 1)),
                      .duration = std::chrono::seconds(words.number("--seconds", 300)),
                      .interval = std::chrono::milliseconds(words.number("--every-ms", 2000)),
                      .rate = static_cast<double>(words.number("--rate", 1000)),
                      .json = words.text("--json", "history.jsonl"),
                      .cases = chaos::cases_of_history(backend)});
  return all.run();
}

// The parent only looks after the child and the card.
int guard(int argc, char** argv) {
  const arguments words(argc, argv);
  const std::optional<card_state> before = read_card();
  std::vector<std::string> child(argv + 1, argv + argc);
  child.emplace_back("--child");
  const auto limit = std::chrono::seconds(words.number("--seconds", 300) + 120);
  const ending end = run_self(child, limit);
  std::string amiss = end.well() ? card_amiss(before) : "the program " + end.to_string();
  if (amiss.empty()) {
    fmt::print("history: ok\n");
    return 0;
  }
  fmt::print("history: FAILED: {}\n", amiss);
  return 1;
}

}  // namespace
}  // namespace troupe::gpu_test

int main(int argc, char** argv) {
  using namespace troupe::gpu_test;
  try {
    const arguments words(argc, argv);
    return words.has("--child") ? be_child(words) : guard(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
