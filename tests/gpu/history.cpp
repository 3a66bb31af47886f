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
#include "fault_cases.hpp"
#include "json_line.hpp"
#include "load.hpp"
#include "prober.hpp"
#include "program.hpp"
#include "subject.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool sanitized = false;
#endif

constexpr auto patience = 20s;
// What an allocator may round up. A worker that is not let go takes more.
constexpr std::int64_t resident_tolerance_bytes = std::int64_t{4} << 20;
// Faults before growth is measured: caches and pools have their size by then.
constexpr std::uint64_t settling_faults = 5;

/// What may not grow.
struct level {
  holdings program{};
  std::uint64_t card_bytes = 0;
  std::uint64_t buffers = 0;
};

/// The whole run, by one thread beside those of the load.
class history {
 public:
  explicit history(const arguments& words)
      : backend_(backend_under_test()),
        seed_(static_cast<std::uint64_t>(words.number("--seed", 1))),
        duration_(words.number("--seconds", 300)),
        interval_(words.number("--every-ms", 2000)),
        lines_(words.text("--json", "history.jsonl"), std::ios::trunc),
        random_(seed_),
        subject_(backend_, {.seed = seed_,
                            .clients = 4,
                            .per_second = static_cast<double>(words.number("--rate", 1000))}),
        fault_lane_(subject_.gpu().library("fault").on_new_lane()) {
    for (const fault_case& one : cases_of(backend_)) {
      const bool simple = one.way == way::request || one.way == way::worker_signal ||
                          one.way == way::standby_signal;
      if (one.busy && simple) cases_.push_back(&one);
    }
  }

  int run();

 private:
  void strike(const fault_case& what);
  void injected(const fault_case& what, json_line& line);
  [[nodiscard]] level measure();
  [[nodiscard]] bool grown();
  void compare(json_line& line);
  void amiss(std::string what) {
    if (miss_.empty()) miss_ = std::move(what);
  }
  int conclude(const findings& found, const prober::counts& probes);

  backend_kind backend_;
  std::uint64_t seed_;
  std::chrono::seconds duration_;
  std::chrono::milliseconds interval_;
  std::ofstream lines_;
  std::mt19937_64 random_;
  subject subject_;
  library_actor fault_lane_;
  std::vector<const fault_case*> cases_;
  std::optional<prober> prober_;
  std::map<std::string_view, int> struck_;
  std::uint64_t faults_ = 0;
  clock::time_point begin_;
  std::optional<level> before_;
  level after_;
  std::vector<double> next_ms_;
  std::string miss_;
};

int history::run() {
  if (!subject_.settle()) {
    fmt::print("history: FAILED: no worker or no standby became ready\n");
    return 1;
  }
  begin_ = clock::now();
  subject_.load().start(false);
  prober_.emplace(subject_, subject_.gpu().library("probe").on_new_lane(),
                  subject_.gpu().library("probe").on_new_lane());
  auto told = begin_;
  for (auto next = begin_; clock::now() - begin_ < duration_ && miss_.empty(); next += interval_) {
    std::this_thread::sleep_until(next);
    if (!subject_.settle()) amiss("no standby became ready");
    after_ = measure();
    if (faults_ == settling_faults) before_ = after_;
    if (miss_.empty()) strike(*cases_[random_() % cases_.size()]);
    if (subject_.load().broken()) amiss("a request broke a promise");
    if (clock::now() - told > 30s) {
      told = clock::now();
      fmt::print("history: {} s, {} faults, {} requests\n", (told - begin_) / 1s, faults_,
                 subject_.load().ended());
      std::fflush(stdout);
    }
  }
  if (!subject_.settle()) amiss("no standby became ready");
  // A worker that was lost or has failed as a standby may be about to be reaped.
  (void)eventually([this] { return !before_ || !grown(); }, 5s);
  const prober::counts probes = prober_->finish();
  const findings found = subject_.load().finish();
  // What has lost a request may lose those of the checks, too, which would wait for ever.
  if (found.lost + probes.lost > 0) std::_Exit(conclude(found, probes));
  if (auto changed = subject_.changed()) amiss(*changed);
  if (auto wrong = subject_.checksum_amiss()) amiss(*wrong);
  return conclude(found, probes);
}

void history::strike(const fault_case& what) {
  const device& gpu = subject_.gpu();
  const std::uint64_t generation = gpu.generation();
  ++faults_;
  ++struck_[what.name];
  json_line line;
  line.add("at_ms", (clock::now() - begin_) / 1ms).add("kind", what.name);
  prober_->forget();
  const clock::time_point struck = clock::now();
  switch (what.way) {
    case way::worker_signal:
      ::kill(gpu.worker_pid().value(), what.signal);
      break;
    case way::standby_signal:
      ::kill(gpu.health().standby_pid.value(), what.signal);
      break;
    case way::request:
    case way::recovery:
    case way::poison:
    case way::neighbour:
      injected(what, line);
      break;
  }
  const std::uint64_t least = generation + (what.ends_worker ? 1 : 0);
  if (const auto next = prober_->first_answer(struck, least)) {
    const double ms = std::chrono::duration<double, std::milli>(*next - struck).count();
    line.add("next_ms", ms);
    if (what.ends_worker) next_ms_.push_back(ms);
  } else {
    amiss(fmt::format("no right answer after {}", what.name));
  }
  if (auto changed = subject_.changed()) amiss(*changed);
  line.add("generation", gpu.generation()).add("requests", subject_.load().ended());
  line.add("miss", miss_);
  lines_ << line.text() << std::endl;
}

void history::injected(const fault_case& what, json_line& line) {
  for (int tries = 0; tries < most_tries; ++tries) {
    const any_tensor output = subject_.fresh_output();
    const clock::time_point begin = clock::now();
    auto request = fault_lane_.ask(injection(what.kind, subject_.frozen(), output),
                                   options_of(what.kind, tries));
    if (!request.wait_for(patience)) return amiss("an injected request never ended");
    const double ms = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
    auto outcome = request.get_result();
    if (outcome) return amiss(fmt::format("{} succeeded", what.name));
    const errc code = outcome.error().code;
    if (code == errc::deadline_exceeded) continue;  // not begun in time, so not run
    line.add("code", to_string(code)).add("error_ms", ms);
    const bool tried_again = what.ends_worker && code == errc::poisonous;
    if (code != what.code && !tried_again) amiss(outcome.error().to_string());
    if (what.ends_worker) {
      if (auto wrong = subject_.taint_amiss(output)) amiss(*wrong);
    }
    return;
  }
  amiss(fmt::format("{} never began within its deadline", what.name));
}

level history::measure() {
  level now{.program = read_holdings(), .buffers = subject_.gpu().statistics().buffers};
  if (const auto card = read_card()) now.card_bytes = card->used_bytes;
  return now;
}

// True while there are more descriptors or threads than at first.
bool history::grown() {
  after_ = measure();
  return after_.program.descriptors.size() > before_->program.descriptors.size() ||
         after_.program.threads > before_->program.threads;
}

void history::compare(json_line& line) {
  if (!before_) return;
  const auto growth = [](std::uint64_t before, std::uint64_t after) {
    return static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  };
  const auto descriptors =
      growth(before_->program.descriptors.size(), after_.program.descriptors.size());
  const auto threads = growth(before_->program.threads, after_.program.threads);
  const auto resident = growth(before_->program.resident_bytes, after_.program.resident_bytes);
  const auto card = growth(before_->card_bytes, after_.card_bytes);
  line.add("descriptors", descriptors).add("threads", threads).add("resident_bytes", resident);
  line.add("card_bytes", card);
  fmt::print("growth since fault {}: {} descriptors, {} threads, {} KiB resident, {} MiB of card\n",
             settling_faults, descriptors, threads, resident / 1024, card >> 20);
  if (descriptors > 0) {
    std::vector<std::string> more;
    std::ranges::set_difference(after_.program.descriptors, before_->program.descriptors,
                                std::back_inserter(more));
    amiss(fmt::format("{} more descriptors: {}", descriptors, fmt::join(more, ", ")));
  }
  if (threads > 0) amiss(fmt::format("{} more threads", threads));
  if (!sanitized && resident > resident_tolerance_bytes) {
    amiss(fmt::format("{} bytes more resident", resident));
  }
  if (backend_ == backend_kind::cuda && card > card_tolerance_bytes) {
    amiss(fmt::format("{} bytes more of the card's memory", card));
  }
}

int history::conclude(const findings& found, const prober::counts& probes) {
  if (!found.clean()) miss_ = found.first;
  if (probes.lost + probes.wrong + probes.failed != 0) {
    amiss(fmt::format("questions: {} lost, {} answered wrongly, {} failed", probes.lost,
                      probes.wrong, probes.failed));
  }
  json_line line;
  line.add("summary", true).add("backend", name_of(backend_)).add("seed", seed_);
  line.add("seconds", std::chrono::duration<double>(clock::now() - begin_).count());
  line.add("faults", faults_).add("new_workers", subject_.gpu().generation() - 1);
  line.add("requests", found.requests).add("succeeded", found.succeeded);
  line.add("aborted", found.aborted).add("tainted_refusals", found.tainted);
  line.add("blamed", found.blamed + probes.blamed).add("questions", probes.asked);
  line.add("lost", found.lost + probes.lost).add("duplicated", found.duplicated);
  line.add("wrong", found.wrong + probes.wrong).add("unexpected", found.unexpected);
  for (const auto& [kind, times] : struck_)
    line.add(kind, times);
  fmt::print("{} requests: {} succeeded, {} aborted, {} refused as tainted, {} took the blame\n",
             found.requests, found.succeeded, found.aborted, found.tainted,
             found.blamed + probes.blamed);
  if (!next_ms_.empty()) {
    std::ranges::sort(next_ms_);
    const double median = next_ms_[next_ms_.size() / 2];
    fmt::print("fault to next right answer: p50 {:.1f} ms, worst {:.1f} ms\n", median,
               next_ms_.back());
    line.add("next_ms_p50", median).add("next_ms_worst", next_ms_.back());
  }
  compare(line);
  line.add("miss", miss_);
  lines_ << line.text() << std::endl;
  fmt::print(
      "history: lost {}, duplicated {}, wrong {}, unexpected {}; {} faults, {} new workers\n",
      found.lost + probes.lost, found.duplicated, found.wrong + probes.wrong,
      found.unexpected + probes.failed, faults_, subject_.gpu().generation() - 1);
  if (!miss_.empty()) fmt::print("history: {}\n", miss_);
  return miss_.empty() ? 0 : 1;
}

int be_child(const arguments& words) {
  die_with_parent();
  return history(words).run();
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
