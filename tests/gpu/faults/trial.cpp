#include "trial.hpp"

#include "gpu/card.hpp"
#include "gpu/json_line.hpp"

#include <troupe/graph.hpp>
#include <troupe/memory/fill.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <thread>

namespace troupe::gpu_test {
namespace {

using namespace std::chrono_literals;

constexpr auto step_timeout = 20s;
// Requests of the load that must end before a fault and after it.
constexpr std::uint64_t some = 90;

void miss(trial_report& report, std::string why) {
  if (report.miss.empty()) report.miss = std::move(why);
}

std::uint64_t count_in(const std::vector<fault_count>& all, const fault_count& like) {
  const auto there = std::ranges::find_if(all, [&](const fault_count& one) {
    return one.kind == like.kind && one.library == like.library;
  });
  return there == all.end() ? 0 : there->count;
}

bool has_recovered_since(const device& gpu, std::uint64_t event) {
  return std::ranges::any_of(gpu.events(event), [](const device_event& e) {
    return e.what == device_event::kind::recovered && e.took > 0ns;
  });
}

double milliseconds(std::chrono::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

}  // namespace

std::string trial_report::json(std::string_view backend) const {
  json_line line;
  line.add("kind", kind).add("trial", trial).add("seed", seed).add("backend", backend);
  line.add("lanes", one_lane ? "one" : "several").add("ok", miss.empty()).add("miss", miss);
  line.add("survived", survived).add("named", named).add("code", code);
  line.add("passed_as_done", passed_as_done);
  line.add("error_ms", error_ms).add("next_ms", next_ms).add("failover_ms", failover_ms);
  line.add("requests", load.requests + probes.asked).add("aborted", load.aborted);
  line.add("tainted_refusals", load.tainted).add("blamed", load.blamed + probes.blamed);
  line.add("lost", load.lost + probes.lost).add("duplicated", load.duplicated);
  line.add("wrong", load.wrong + probes.wrong);
  line.add("unexpected", load.unexpected + probes.failed).add("intact", intact);
  line.add("tainted", tainted).add("new_workers", new_workers).add("fault", fault);
  line.add("card_growth_bytes", card_growth_bytes).add("neighbour_ms", neighbour_ms);
  return line.text();
}

trials::trials(const fault_case& what, backend_kind backend, std::uint64_t seed)
    : case_(what),
      backend_(backend),
      seed_(seed),
      subject_(backend, {.seed = seed}),
      fault_lane_(subject_.gpu().library("fault").on_new_lane()),
      probe_lane_(subject_.gpu().library("probe").on_new_lane()),
      spare_lane_(subject_.gpu().library("probe").on_new_lane()) {
  if (what.way == way::neighbour) neighbour_.emplace();
}

std::optional<std::string> trials::begin() {
  if (!subject_.settle()) return "no worker or no standby became ready";
  // Both ways of the load, so that what grows with the first use has grown.
  for (const bool one_lane : {true, false}) {
    subject_.load().start(one_lane);
    const bool went_on = subject_.load().wait_for(5 * some, step_timeout);
    const findings found = subject_.load().finish();
    if (!went_on) return "the load stands still before any fault";
    if (!found.clean() || found.succeeded != found.requests) {
      return "the load fails before any fault: " + found.first;
    }
  }
  for (const library_actor* lane : {&probe_lane_, &spare_lane_}) {
    if (subject_.ask_question(*lane).get() != subject_.answer()) return "a wrong first answer";
  }
  if (auto amiss = subject_.checksum_amiss()) return amiss;
  if (case_.way == way::library) {  // it is sound, and loaded or compiled now
    case_.library->ask(subject_.gpu(), probe_lane_, subject_.own_memory(case_.library->type)).get();
  }
  if (neighbour_) {
    for (int i = 0; i < 2; ++i) {  // the first answer only says where it stands
      auto amiss = neighbour_->amiss();
      if (amiss && i > 0) return amiss;
      std::this_thread::sleep_for(50ms);
    }
  }
  if (backend_ == backend_kind::cuda) {
    // There is no other way for this program to wait for the neighbour's loading.
    if (const auto card = neighbour_ ? read_quiet_card() : read_card()) {
      card_before_ = card->used_bytes;
    }
  }
  return std::nullopt;
}

std::optional<std::string> trials::end() {
  if (auto amiss = subject_.checksum_amiss()) return amiss;
  return neighbour_ ? neighbour_->finish() : std::nullopt;
}

trial_report trials::run(int number) {
  trial_report report{.kind = std::string(case_.name), .trial = number, .seed = seed_};
  // Who is to blame can be told for sure where all share a lane, and that is asked for there.
  // A request that has lost an operand is as good as any where the next worker has it again.
  one_lane_ = number % 2 == 0 || case_.way == way::recovery || case_.way == way::poison ||
              case_.way == way::library || case_.way == way::recorded;
  report.one_lane = one_lane_;
  device& gpu = subject_.gpu();
  if (!subject_.settle()) {
    miss(report, "no standby before the fault");
    return report;
  }
  generation_ = gpu.generation();
  unexplained_ = gpu.health().unexplained_faults;
  const device_telemetry before = gpu.snapshot();
  last_event_ = before.last_event;
  faults_ = before.faults;
  output_ = {};
  std::mt19937_64 random(seed_ * 1'000'003 + static_cast<std::uint64_t>(number));
  if (case_.busy) {
    start_load();
    if (!subject_.load().wait_for(some, step_timeout)) miss(report, "the load stands still");
  }
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
  strike(report);
  if (!case_.busy) start_load();
  // After the worker's end, or after the error of a request that ends none.
  const bool served = workers_expected_ > 0;
  const auto next =
      prober_->first_answer(served ? struck_ : ended_, generation_ + workers_expected_);
  if (next) {
    report.next_ms = milliseconds(*next - struck_);
  } else {
    miss(report, "no right answer after the fault");
  }
  if (!subject_.load().wait_for(some, step_timeout))
    miss(report, "the load stands still afterwards");
  report.probes = prober_->finish();
  prober_.reset();
  report.load = subject_.load().finish();
  check_answers(report);
  // A device that has lost a request may lose those of the checks, too, which would wait for ever.
  if (report.load.lost + report.probes.lost > 0) return report;
  if (!subject_.settle()) miss(report, "no standby after the fault");
  check_workers(report);
  check_events(report);
  check_memory(report);
  report.survived = next && gpu.health().state == device_state::ready;
  return report;
}

void trials::start_load() {
  subject_.load().start(one_lane_);
  if (!prober_) {
    prober_.emplace(subject_, one_lane_ ? subject_.load().one_lane() : probe_lane_, spare_lane_);
  }
}

future<void> trials::ask(const library_actor& where, const any_tensor& output) {
  if (case_.way == way::library) {
    where.tell(fault::inject{.what = fault::kind::withdraw, .target = output}).value();
  }
  if (case_.library != nullptr) return case_.library->ask(subject_.gpu(), where, output);
  return where.ask(injection(case_.kind, subject_.frozen(), output), options_of(case_.kind));
}

trials::injected trials::inject(const any_tensor& output) {
  injected made;
  made.output = output;
  const library_actor& where = one_lane_ ? subject_.load().one_lane() : fault_lane_;
  made.done = ask(where, output).then([end = made.end](const result<void>& outcome) {
    end->at = clock::now();
    if (!outcome) end->why = const_cast<result<void>&>(outcome).error();
  });
  return made;
}

void trials::await(trial_report& report, injected& request, errc expected) {
  if (!request.done.wait_for(step_timeout)) {
    ended_ = clock::now();
    ++report.load.lost;
    return miss(report, "the injected request never ended");
  }
  ended_ = request.end->at;
  if (!request.end->why) {
    report.code = "success";
    report.passed_as_done = case_.may_pass_as_done;
    if (!report.passed_as_done) miss(report, "the injected request succeeded");
    return;
  }
  const error& why = *request.end->why;
  report.code = to_string(why.code);
  // If the culprit is unknown, each suspect runs once more by itself.
  const bool tried_again = !one_lane_ && case_.ends_worker && why.code == errc::poisonous;
  if (why.code != expected && !tried_again)
    miss(report, "the error is another: " + why.to_string());
}

void trials::strike(trial_report& report) {
  workers_expected_ = case_.ends_worker ? 1 : 0;
  // If the culprit is unknown, finding it may cost one more.
  workers_allowed_ = workers_expected_ + (case_.ends_worker && !one_lane_ ? 1 : 0);
  struck_ = ended_ = clock::now();
  const device& gpu = subject_.gpu();
  switch (case_.way) {
    case way::request:
    case way::neighbour:
    case way::library:
    case way::long_request:
      return strike_by_request(report);
    case way::worker_signal:
      ::kill(gpu.worker_pid().value(), case_.signal);
      break;
    case way::standby_signal:
      ::kill(gpu.health().standby_pid.value(), case_.signal);
      break;
    case way::recovery:
      return strike_during_recovery(report);
    case way::poison:
      return strike_thrice(report);
    case way::recorded:
      return strike_recorded(report);
    case way::deed:
    case way::standby_start:
    case way::needed_start:
    case way::twice:
      return miss(report, "no worker of a trial is hostile");
  }
}

void trials::strike_by_request(trial_report& report) {
  const any_tensor output =
      case_.library != nullptr ? subject_.own_memory(case_.library->type) : subject_.fresh_output();
  struck_ = clock::now();
  injected request = inject(output);
  await(report, request, case_.code);
  report.error_ms = milliseconds(ended_ - struck_);
  if (case_.ends_worker && !report.passed_as_done) output_ = request.output;
}

void trials::strike_during_recovery(trial_report& report) {
  const device& gpu = subject_.gpu();
  const int variant = report.trial % 3;
  // With no standby to take over: its end is not noticed before the fault is.
  if (variant == 2) ::kill(gpu.health().standby_pid.value(), SIGKILL);
  struck_ = clock::now();
  injected first = inject(subject_.fresh_output());
  output_ = first.output;
  if (variant == 0) {  // waits in the lane, and is the first that the standby runs
    injected second = inject(subject_.fresh_output());
    await(report, second, case_.code);
    workers_expected_ = 2;
    workers_allowed_ = 3;  // the question for the new worker may run beside it: two suspects
  } else if (variant == 1) {
    if (!eventually([&] { return gpu.generation() > generation_; })) {
      miss(report, "no standby has taken over");
    }
    if (const auto worker = gpu.worker_pid()) ::kill(*worker, SIGKILL);
    workers_expected_ = workers_allowed_ = 2;
  } else {
    workers_allowed_ = 2;  // the dead one may be handed the mailbox before its death is known
  }
  await(report, first, case_.code);
  report.error_ms = milliseconds(ended_ - struck_);
}

void trials::strike_thrice(trial_report& report) {
  struck_ = clock::now();
  const any_tensor output = subject_.fresh_output();
  for (const errc expected : {errc::device_fault, errc::device_fault, errc::poisonous}) {
    injected again = inject(output);
    await(report, again, expected);
    if (!report.error_ms) report.error_ms = milliseconds(ended_ - struck_);
  }
  output_ = output;
  workers_expected_ = workers_allowed_ = 2;
}

void trials::check_answers(trial_report& report) {
  const findings& load = report.load;
  const prober::counts& probes = report.probes;
  if (!load.clean()) miss(report, load.first.empty() ? "a lost request" : load.first);
  if (probes.lost + probes.wrong + probes.failed != 0) {
    miss(report, fmt::format("questions: {} lost, {} answered wrongly, {} failed", probes.lost,
                             probes.wrong, probes.failed));
  }
  const std::uint64_t blamed = load.blamed + probes.blamed;
  if (case_.way == way::worker_signal || case_.way == way::standby_signal) {
    if (blamed != 0) miss(report, fmt::format("{} requests took the blame", blamed));
  } else {
    const errc expected = case_.way == way::poison ? errc::poisonous : case_.code;
    report.named = blamed == 0 && report.code == to_string(expected);
    if (one_lane_ && !*report.named && !report.passed_as_done)
      miss(report, "the culprit was not named, or not alone");
  }
  const bool harmless = workers_expected_ == 0;
  if (harmless && load.succeeded != load.requests) {
    miss(report, fmt::format("{} requests failed, although their worker went on",
                             load.requests - load.succeeded));
  }
}

void trials::check_workers(trial_report& report) {
  const device_health now = subject_.gpu().health();
  report.new_workers = now.generation - generation_;
  if (workers_expected_ > 0) report.failover_ms = milliseconds(now.last_failover);
  if (report.new_workers < workers_expected_ || report.new_workers > workers_allowed_) {
    miss(report,
         fmt::format("{} new workers, expected {}; the last fault: {}", report.new_workers,
                     workers_expected_, now.last_fault ? now.last_fault->to_string() : "none"));
  }
  if (report.passed_as_done) {
    // The request beside it was ended for it, or none was.
    const bool known =
        report.load.aborted + report.load.blamed + report.probes.blamed > 0 ||
        eventually([&] { return subject_.gpu().health().unexplained_faults > unexplained_; });
    if (!known) miss(report, "the device's health says nothing of a fault that passed as done");
  }
  const bool all_ended = eventually([&] { return subject_.gpu().statistics().in_flight == 0; }, 5s);
  const device_statistics counts = subject_.gpu().statistics();
  if (!all_ended || counts.sent != counts.answered + counts.failed) {
    miss(report, fmt::format("{} sent, {} answered, {} failed, {} in flight", counts.sent,
                             counts.answered, counts.failed, counts.in_flight));
  }
}

// Each loss is told once, in order, with its cause, and with the culprit where there is one.
void trials::check_events(trial_report& report) {
  std::uint64_t number = last_event_;
  std::uint64_t losses = 0;
  bool has_culprit = false;
  const device& gpu = subject_.gpu();
  if (report.new_workers > 0 && !eventually([&] { return has_recovered_since(gpu, last_event_); }))
    miss(report, "no event tells of the recovery");
  for (const device_event& e : gpu.events(last_event_)) {
    if (e.number != ++number) miss(report, fmt::format("no event {}", number));
    if (e.what != device_event::kind::lost) continue;
    ++losses;
    if (!e.why || e.why->message.empty()) {
      miss(report, fmt::format("event {} has no cause: {}", e.number, e.to_string()));
      continue;
    }
    has_culprit |= e.why->request.starts_with(culprit_of(case_));
  }
  if (auto amiss = subject_.counts_amiss()) miss(report, *amiss);
  std::uint64_t counted = 0;
  for (const fault_count& one : gpu.snapshot().faults) {
    const std::uint64_t more = one.count - count_in(faults_, one);
    counted += more;
    if (more > 0) report.fault = one.kind;
  }
  if (losses != report.new_workers || counted != losses) {
    miss(report, fmt::format("{} workers were lost; there are {} events, and {} were counted",
                             report.new_workers, losses, counted));
  }
  // Elsewhere it depends on the driver's error.
  if (name_of(backend_) == "cpu" && report.fault == "other") miss(report, "a loss of no kind");
  if (one_lane_ && report.named.value_or(false) && case_.ends_worker && !has_culprit)
    miss(report, "no event names the culprit");
}

void trials::check_memory(trial_report& report) {
  const auto changed = subject_.changed();
  report.intact = !changed;
  if (changed) miss(report, *changed);
  if (!output_.null()) {
    const auto amiss = subject_.taint_amiss(output_, culprit_of(case_));
    report.tainted = !amiss;
    if (amiss) miss(report, *amiss);
  }
  if (card_before_) {
    const auto growth = [&] {
      return static_cast<std::int64_t>(read_card().value_or(card_state{}).used_bytes) -
             static_cast<std::int64_t>(*card_before_);
    };
    const bool back = eventually([&] { return growth() <= card_tolerance_bytes; }, 5s);
    report.card_growth_bytes = growth();
    if (!back) miss(report, fmt::format("the card holds {} bytes more", *report.card_growth_bytes));
  }
  if (neighbour_) {
    if (auto amiss = neighbour_->amiss()) miss(report, *amiss);
    report.neighbour_ms = neighbour_->longest_ms();
  }
}

}  // namespace troupe::gpu_test
