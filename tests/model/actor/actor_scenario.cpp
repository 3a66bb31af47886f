#include "actor_scenario.hpp"

#include <fmt/format.h>

#include <random>
#include <string_view>

namespace troupe::model {
namespace {

using namespace std::chrono_literals;

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : random_(seed) {}

  scenario all() {
    scenario s;
    kinds_ = between(3, 7);
    scripts_ = between(4, 10);
    for (auto& row : s.verdicts)
      for (directive& d : row)
        d = verdict();
    for (directive& d : s.last_words)
      d = verdict();
    s.root = looks_after();
    s.has_last_word = !once_in(4);
    s.root_decider = below(deciders + 1);
    for (std::int32_t i = 0; i < kinds_; ++i)
      s.kinds.push_back(kind(i));
    for (std::int32_t i = 0; i < scripts_; ++i)
      s.scripts.push_back(one_script(i));
    const std::int32_t tops = between(1, 3);
    for (std::int32_t i = 0; i < tops; ++i)
      s.actions.push_back({.what = action_kind::spawn, .kind = i});
    bool shut_down = false;
    for (std::int32_t left = between(15, 50); left > 0; --left)
      s.actions.push_back(one_action(shut_down));
    return s;
  }

 private:
  std::int32_t below(std::size_t n) { return static_cast<std::int32_t>(random_() % n); }
  std::int32_t between(std::int32_t from, std::int32_t to) {
    const auto choices = static_cast<std::size_t>(to) - static_cast<std::size_t>(from) + 1;
    return from + below(choices);
  }
  bool once_in(std::size_t n) { return below(n) == 0; }
  std::chrono::nanoseconds short_time() { return 10ms * between(1, 12); }

  directive verdict() {
    switch (below(8)) {
      case 0:
        return directive::resume;
      case 1:
        return directive::stop;
      case 2:
      case 3:
        return directive::escalate;
      default:
        return directive::restart;
    }
  }

  supervision looks_after() {
    supervision s;
    s.strategy = static_cast<strategy>(below(3));
    s.budget = {.restarts = between(0, 4), .window = 50ms * between(1, 20)};
    s.backoff = {.initial = once_in(2) ? 0ms : 10ms * between(1, 5),
                 .longest = 10ms * between(2, 20),
                 .factor = once_in(4) ? 1.0 : 2.0,
                 .jitter = 0};
    return s;
  }

  actor_kind kind(std::int32_t number) {
    actor_kind k;
    k.looks_after = looks_after();
    k.decider = below(deciders + 1);
    if (!once_in(3)) {
      k.mailbox.capacity = between(0, 5);
      if (k.mailbox.capacity == 0 && !once_in(8)) k.mailbox.capacity = 1;
      k.mailbox.when_full = static_cast<overflow>(below(3));
      if (once_in(3)) k.mailbox.capacity_bytes = between(2, 12);
    }
    k.stash_capacity = between(0, 3);
    k.reentrant = once_in(3);
    // Children are of later kinds, so that trees end.
    if (number + 1 < kinds_) {
      for (std::int32_t n = once_in(3) ? 0 : between(1, 3); n > 0; --n)
        k.children.push_back(between(number + 1, kinds_ - 1));
    }
    if (once_in(4)) k.watches.push_back(below(static_cast<std::size_t>(kinds_)));
    if (once_in(4)) k.failing_starts = static_cast<std::uint32_t>(random_() & random_() & 0xff);
    k.fails_in_constructor = once_in(2);
    k.stops_at_start = once_in(24);
    return k;
  }

  std::int32_t somebody() { return once_in(4) ? -1 : below(static_cast<std::size_t>(kinds_)); }

  script one_script(std::int32_t number) {
    script s;
    s.bytes = once_in(3) ? between(2, 6) : 1;
    for (std::int32_t n = below(4); n > 0; --n)
      s.steps.push_back(one_step(number));
    if (once_in(4)) {
      s.gate = below(gates);
    } else if (once_in(3)) {
      s.steps.push_back({.what = step_kind::fail, .number = below(error_codes)});
    }
    return s;
  }

  step one_step(std::int32_t number) {
    step s{.what = static_cast<step_kind>(below(15)), .kind = somebody()};
    const bool sends = s.what == step_kind::tell || s.what == step_kind::ask ||
                       s.what == step_kind::after || s.what == step_kind::every;
    // A sent message has a later script, so that messages do not multiply for ever.
    if (sends && number + 1 == scripts_) s.what = step_kind::unstash;
    if (sends && number + 1 < scripts_) s.script = between(number + 1, scripts_ - 1);
    s.time = short_time();
    if (s.what == step_kind::ask && once_in(2)) s.time = {};
    s.number = between(-1, static_cast<std::int32_t>(stop_tokens) - 1);
    if (s.what == step_kind::cancel_asks) s.number = below(stop_tokens);
    if (s.what == step_kind::fail) s.number = below(error_codes);
    if (s.what == step_kind::open_gate) {
      s.number = below(gates);
      s.script = once_in(2) ? -1 : below(error_codes);
    }
    return s;
  }

  action one_action(bool& shut_down) {
    action a{.what = action_kind::take_turns,
             .kind = below(static_cast<std::size_t>(kinds_)),
             .script = below(static_cast<std::size_t>(scripts_)),
             .time = short_time()};
    switch (const std::int32_t n = below(100)) {
      case 0:
      case 1:
      case 2:
        a.what = action_kind::spawn;
        break;
      case 3:
      case 4:
        a.what = action_kind::stop;
        break;
      case 5:
      case 6:
        a.what = action_kind::stop_after_mailbox;
        break;
      case 7:
      case 8:
        a.what = action_kind::await_end;
        break;
      case 9:
        a.what = action_kind::cancel_asks;
        a.number = below(stop_tokens);
        break;
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
        a.what = action_kind::open_gate;
        a.number = below(gates);
        a.script = once_in(2) ? -1 : below(error_codes);
        break;
      case 15:
        if (!shut_down) a.what = action_kind::shut_down;
        shut_down = true;
        break;
      default:
        if (n < 42) {
          a.what = action_kind::tell;
        } else if (n < 55) {
          a.what = action_kind::ask;
          if (once_in(2)) a.time = {};
          a.number = between(-1, static_cast<std::int32_t>(stop_tokens) - 1);
        } else if (n < 75) {
          a.number = between(1, 6);
        } else if (n < 80) {
          a.what = action_kind::run_until_idle;
        } else if (n < 90) {
          a.what = action_kind::ring;
        } else {
          a.what = action_kind::advance;
          if (once_in(4)) a.time *= 10;
        }
    }
    return a;
  }

  std::mt19937_64 random_;
  std::int32_t kinds_ = 0;
  std::int32_t scripts_ = 0;
};

std::string_view name_of(step_kind s) {
  constexpr std::array<std::string_view, 15> names{
      "tell",         "ask",       "fail",       "spawn",   "stop",  "stop_after_mailbox",
      "watch",        "unwatch",   "stash",      "unstash", "after", "every",
      "cancel_timer", "open_gate", "cancel_asks"};
  return names[static_cast<std::size_t>(s)];
}

std::string_view name_of(action_kind a) {
  constexpr std::array<std::string_view, 13> names{
      "spawn",     "tell",        "ask",       "stop",       "stop_after_mailbox",
      "await_end", "cancel_asks", "open_gate", "take_turns", "run_until_idle",
      "ring",      "advance",     "shut_down"};
  return names[static_cast<std::size_t>(a)];
}

std::string text_of(const supervision& s, std::int32_t decider) {
  constexpr std::array<std::string_view, 3> names{"one_for_one", "one_for_all", "rest_for_one"};
  return fmt::format("{} decider {} budget {}/{} ms backoff {}..{} ms *{}",
                     names[static_cast<std::size_t>(s.strategy)], decider, s.budget.restarts,
                     s.budget.window / 1ms, s.backoff.initial / 1ms, s.backoff.longest / 1ms,
                     s.backoff.factor);
}

std::string text_of(const std::array<directive, error_codes>& row) {
  std::string text;
  for (const directive d : row)
    text += fmt::format(" {}", static_cast<int>(d));
  return text;
}

}  // namespace

scenario draw_scenario(std::uint64_t seed) {
  scenario s = drawing(seed).all();
  s.seed = seed;
  return s;
}

void print(std::ostream& out, const scenario& s) {
  out << "directives: 0 resume, 1 restart, 2 stop, 3 escalate\n";
  for (std::size_t i = 0; i < deciders; ++i)
    out << "decider " << i << ':' << text_of(s.verdicts[i]) << '\n';
  out << "decider " << default_decides << " is the default\n";
  out << "last words:" << (s.has_last_word ? text_of(s.last_words) : " none") << '\n';
  out << "root: " << text_of(s.root, s.root_decider) << '\n';
  for (std::size_t i = 0; i < s.kinds.size(); ++i) {
    const actor_kind& k = s.kinds[i];
    out << fmt::format("kind {}: {}; mailbox {}/{} bytes, overflow {}; stash {}{}; children", i,
                       text_of(k.looks_after, k.decider), k.mailbox.capacity,
                       k.mailbox.capacity_bytes, static_cast<int>(k.mailbox.when_full),
                       k.stash_capacity, k.reentrant ? "; reentrant" : "");
    for (const std::int32_t c : k.children)
      out << ' ' << c;
    out << "; watches";
    for (const std::int32_t w : k.watches)
      out << ' ' << w;
    out << fmt::format("; failing starts {:#x}{}{}\n", k.failing_starts,
                       k.fails_in_constructor ? " in the constructor" : "",
                       k.stops_at_start ? "; stops at its start" : "");
  }
  for (std::size_t i = 0; i < s.scripts.size(); ++i) {
    out << fmt::format("script {} ({} bytes, gate {}):", i, s.scripts[i].bytes, s.scripts[i].gate);
    for (const step& one : s.scripts[i].steps) {
      out << fmt::format(" {}(kind {} script {} number {} {} ms)", name_of(one.what), one.kind,
                         one.script, one.number, one.time / 1ms);
    }
    out << '\n';
  }
  for (std::size_t i = 0; i < s.actions.size(); ++i) {
    const action& a = s.actions[i];
    out << fmt::format("action {}: {} kind {} script {} number {} {} ms\n", i, name_of(a.what),
                       a.kind, a.script, a.number, a.time / 1ms);
  }
}

}  // namespace troupe::model
