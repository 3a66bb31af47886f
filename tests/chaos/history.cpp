#include "history.hpp"

#include "card.hpp"
#include "under_sanitizers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

namespace troupe::chaos {
namespace {

using namespace std::chrono_literals;
using gpu_test::eventually;
using gpu_test::way;

constexpr auto timeout = 20s;
// An allocator's rounding. A worker that is not ended takes more.
constexpr std::int64_t resident_tolerance_bytes = std::int64_t{4} << 20;

// Never to all processes, which is what a signal to process -1 is.
void send_signal(std::optional<pid_t> to, int signal) {
  if (to && *to > 1) ::kill(*to, signal);
}

}  // namespace

std::vector<const fault_case*> cases_of_history(backend_kind backend) {
  std::vector<const fault_case*> cases;
  for (const fault_case& one : gpu_test::cases_of(backend)) {
    const bool simple =
        one.way == way::request || one.way == way::worker_signal || one.way == way::standby_signal;
    if (one.busy && simple) cases.push_back(&one);
  }
  return cases;
}

history::history(const history_config& config)
    : config_(config),
      lines_(config.json, config.appends ? std::ios::app : std::ios::trunc),
      random_(config.seed),
      subject_(config.backend,
               {.seed = config.seed,
                .clients = 4,
                .per_second = config.rate,
                .hostile_workers = config.board != nullptr},
               config.board != nullptr ? &add_hostile_operations : nullptr),
      fault_lane_(subject_.gpu().library("fault").on_new_lane()) {}

int history::run() {
  if (!subject_.settle()) {
    fmt::print("{}: FAILED: no worker or no standby became ready\n", config_.name);
    return 1;
  }
  begin_ = clock::now();
  subject_.load().start(false);
  prober_.emplace(subject_, subject_.gpu().library("probe").on_new_lane(),
                  subject_.gpu().library("probe").on_new_lane());
  auto told = begin_;
  for (auto next = begin_;
       clock::now() - begin_ < config_.duration && faults_ < config_.most_faults && miss_.empty();
       next += config_.interval) {
    std::this_thread::sleep_until(next);
    if (config_.interval == 0ms) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_() % 5000));
    }
    if (!subject_.settle()) amiss("no standby became ready");
    after_ = measure();
    if (faults_ == config_.settling_faults) before_ = after_;
    if (miss_.empty()) strike(*config_.cases[random_() % config_.cases.size()]);
    if (subject_.load().broken()) amiss("a request broke a promise");
    if (clock::now() - told > 30s) {
      told = clock::now();
      fmt::print("{}: {} s, {} faults, {} requests\n", config_.name, (told - begin_) / 1s, faults_,
                 subject_.load().ended());
      std::fflush(stdout);
    }
  }
  if (!subject_.settle()) amiss("no standby became ready");
  // A worker that was lost or has failed as a standby may be about to be reaped.
  (void)eventually([this] { return !before_ || !grown(); }, 5s);
  const prober::counts probes = prober_->finish();
  const findings found = subject_.load().finish();
  // A device that has lost a request may lose those of the checks, too, which would wait for ever.
  if (found.lost + probes.lost > 0) std::_Exit(conclude(found, probes));
  if (auto changed = subject_.changed()) amiss(*changed);
  if (auto wrong = subject_.checksum_amiss()) amiss(*wrong);
  if (auto wrong = subject_.counts_amiss()) amiss(*wrong);
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
      send_signal(gpu.worker_pid(), what.signal);
      break;
    case way::standby_signal:
      send_signal(gpu.health().standby_pid, what.signal);
      break;
    case way::request:
    case way::recovery:
    case way::poison:
    case way::neighbour:
    case way::library:
    case way::long_request:
    case way::recorded:
    case way::deed:
      injected(what, line);
      break;
    case way::standby_start:
    case way::needed_start:
      start_badly(what);
      break;
    case way::twice:
      strike_twice(what);
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
  line.add("resident_bytes", after_.program.resident_bytes);
  line.add("miss", miss_);
  lines_ << line.text() << std::endl;
}

void history::injected(const fault_case& what, json_line& line) {
  const any_tensor output = subject_.fresh_output();
  const clock::time_point begin = clock::now();
  auto request = ask(what, output);
  if (!request.wait_for(timeout)) return amiss("an injected request never ended");
  const double ms = std::chrono::duration<double, std::milli>(clock::now() - begin).count();
  auto outcome = request.get_result();
  line.add("code", outcome ? "success" : to_string(outcome.error().code)).add("error_ms", ms);
  judge(what, std::move(outcome), output);
}

future<void> history::ask(const fault_case& what, const any_tensor& output) {
  if (what.way != way::deed) {
    return fault_lane_.ask(gpu_test::injection(what.kind, subject_.frozen(), output),
                           gpu_test::options_of(what.kind));
  }
  const auto how = static_cast<deed>(what.detail);
  // Only by its run limit can it be noticed, like a hang.
  const auto options =
      how == deed::lost_completion ? gpu_test::options_of(fault::kind::hang) : request_options{};
  return fault_lane_.ask(
      misbehave{.what = how, .output = output, .number = static_cast<std::int64_t>(random_() >> 1)},
      options);
}

void history::judge(const fault_case& what, result<void> outcome, const any_tensor& output) {
  if (outcome) {
    if (what.code != errc{}) amiss(fmt::format("{} succeeded", what.name));
    return;
  }
  const errc code = outcome.error().code;
  // If the culprit is unknown, each suspect runs once more by itself.
  const bool tried_again = (what.ends_worker || what.way == way::deed) && code == errc::poisonous;
  // If a worker lies, both the culprit and the finished requests may be unknown.
  const bool broke_protocol =
      what.way == way::deed &&
      (code == errc::protocol_violation || code == errc::aborted || code == errc::device_fault);
  if (code != what.code && !tried_again && !broke_protocol) amiss(outcome.error().to_string());
  if (!what.ends_worker) return;
  const std::string_view culprit =
      what.way == way::deed ? misbehave::name : gpu_test::culprit_of(what);
  if (auto wrong = subject_.taint_amiss(output, culprit)) amiss(*wrong);
}

// A worker that starts badly comes to an end, however long that takes, and another in its place.
void history::start_badly(const fault_case& what) {
  const device& gpu = subject_.gpu();
  const auto moment_us = static_cast<std::uint32_t>(random_() % 30'000);
  config_.board->spoil_next(static_cast<bad_start>(what.detail), moment_us);
  const auto worker = what.way == way::needed_start ? gpu.worker_pid() : std::nullopt;
  send_signal(gpu.health().standby_pid, SIGKILL);
  send_signal(worker, SIGKILL);
  if (!eventually([this] { return config_.board->taken(); })) amiss("no worker was started");
  // A worker that dies soon may be ready by then, and be taken for one that stays.
  if (static_cast<bad_start>(what.detail) == bad_start::dies_soon) {
    std::this_thread::sleep_for(std::chrono::microseconds(moment_us) + 5ms);
  }
}

void history::strike_twice(const fault_case& what) {
  const device& gpu = subject_.gpu();
  const std::optional<pid_t> heir = gpu.health().standby_pid;
  send_signal(gpu.worker_pid(), what.signal);
  std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
  send_signal(heir, what.signal);
}

history::level history::measure() {
  level now{.program = gpu_test::read_holdings(), .buffers = subject_.gpu().statistics().buffers};
  if (const auto card = gpu_test::read_card()) now.card_bytes = card->used_bytes;
  return now;
}

// True while there are more descriptors, threads or processes than at first.
bool history::grown() {
  after_ = measure();
  return after_.program.descriptors.size() > before_->program.descriptors.size() ||
         after_.program.threads > before_->program.threads ||
         after_.program.children > before_->program.children;
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
  const auto children = growth(before_->program.children, after_.program.children);
  const auto shared = growth(before_->program.shared_bytes, after_.program.shared_bytes);
  const auto card = growth(before_->card_bytes, after_.card_bytes);
  line.add("descriptors", descriptors).add("threads", threads).add("resident_bytes", resident);
  line.add("children", children).add("shared_bytes", shared).add("card_bytes", card);
  fmt::print(
      "growth since fault {}: {} descriptors, {} threads, {} processes, {} KiB resident, {} KiB "
      "shared, {} MiB of card\n",
      config_.settling_faults, descriptors, threads, children, resident / 1024, shared / 1024,
      card >> 20);
  if (descriptors > 0) {
    std::vector<std::string> more;
    std::ranges::set_difference(after_.program.descriptors, before_->program.descriptors,
                                std::back_inserter(more));
    amiss(fmt::format("{} more descriptors: {}", descriptors, fmt::join(more, ", ")));
  }
  if (threads > 0) amiss(fmt::format("{} more threads", threads));
  if (children > 0) amiss(fmt::format("{} more processes, perhaps dead ones", children));
  if (shared > 0) amiss(fmt::format("{} bytes more of shared memory", shared));
  if (!test::under_sanitizers && resident > resident_tolerance_bytes) {
    amiss(fmt::format("{} bytes more resident", resident));
  }
  if (config_.backend == backend_kind::cuda && card > gpu_test::card_tolerance_bytes) {
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
  line.add("summary", true)
      .add("backend", gpu_test::name_of(config_.backend))
      .add("seed", config_.seed);
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
  fmt::print("{}: lost {}, duplicated {}, wrong {}, unexpected {}; {} faults, {} new workers\n",
             config_.name, found.lost + probes.lost, found.duplicated, found.wrong + probes.wrong,
             found.unexpected + probes.failed, faults_, subject_.gpu().generation() - 1);
  if (!miss_.empty()) fmt::print("{}: {}\n", config_.name, miss_);
  return miss_.empty() ? 0 : 1;
}

}  // namespace troupe::chaos
