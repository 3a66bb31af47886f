#include "actor_runtime.hpp"

#include "core/system_core.hpp"
#include "model/turn_draw.hpp"
#include "testing/manual_dispatcher.hpp"
#include "testing/virtual_timers.hpp"

#include <troupe/core/system.hpp>
#include <troupe/core/task.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>

namespace troupe::model {
namespace {

class world;
template <bool Reentrant>
class subject;

// Deciders have no room for a pointer.
thread_local world* this_world = nullptr;

struct message {
  std::int32_t number;
  std::int32_t script;
  std::int64_t bytes;
  bool put_aside = false;
  [[nodiscard]] std::int64_t mailbox_bytes() const noexcept { return bytes; }
};

// For a script with a gate: handled by a coroutine.
struct long_message : message {
  explicit long_message(const message& m) : message(m) {}
};

class drawing_dispatcher final : public testing::manual_dispatcher {
 public:
  explicit drawing_dispatcher(std::uint64_t seed) : draw_(seed) {}

 private:
  std::size_t choose(const std::deque<detail::actor_cell*>& ready) noexcept override;
  turn_draw draw_;
  std::vector<std::pair<actor_id, std::size_t>> by_age_;
};

std::size_t code_index(errc e) {
  const auto* at = std::ranges::find(codes, e);
  if (at == codes.end()) throw std::logic_error("a failure of no known code");
  return static_cast<std::size_t>(at - codes.begin());
}

std::int32_t failure_number(const error& e) { return std::stoi(e.message); }

template <std::size_t Which>
directive decide(const error& e) noexcept;
directive last_word(const error& e) noexcept;
constexpr std::array<directive (*)(const error&) noexcept, deciders + 1> decider_of{
    &decide<0>, &decide<1>, &decide<2>, &default_decider};

class world {
 public:
  explicit world(const scenario& s);
  ~world() { this_world = nullptr; }
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  trace run() {
    for (std::size_t i = 0; i < scene_.actions.size(); ++i) {
      emit({.what = event_kind::action, .a = static_cast<std::int32_t>(i)});
      act(scene_.actions[i]);
    }
    emit({.what = event_kind::action, .a = -1});
    shut_down();
    advance(last_timeout + last_timeout);
    for (auto& gate : waiting_)
      gate.clear();
    return std::move(events_);
  }

  [[nodiscard]] const scenario& scene() const { return scene_; }
  [[nodiscard]] const actor_kind& kind_of(std::int32_t who) const {
    return scene_.kinds[static_cast<std::size_t>(people_[static_cast<std::size_t>(who)].kind)];
  }
  void emit(event e) {
    e.at = timers_->now() - testing::virtual_timers::beginning;
    events_.push_back(e);
  }
  [[nodiscard]] std::int32_t number_of_actor(actor_id id) const { return numbers_.at(id); }
  [[nodiscard]] std::int32_t next_incarnation(std::int32_t who) {
    return ++people_[static_cast<std::size_t>(who)].incarnations;
  }
  [[nodiscard]] error next_failure(std::size_t code) {
    return {.code = codes[code], .message = std::to_string(++failures_)};
  }

  [[nodiscard]] const any_actor_ref* latest(std::int32_t kind) const {
    const auto& one = latest_[static_cast<std::size_t>(kind)];
    return one.valid() ? &one : nullptr;
  }
  template <class Spawn>
  void spawn(std::int32_t parent, std::int32_t kind, Spawn&& how);
  void tell(const any_actor_ref& to, std::int32_t script);
  void ask(const any_actor_ref& to, std::int32_t script, std::chrono::nanoseconds timeout,
           std::int32_t token);
  void cancel_asks(std::int32_t token);
  [[nodiscard]] future<int> wait_at(std::int32_t gate) {
    return waiting_[static_cast<std::size_t>(gate)].emplace_back().get_future();
  }
  void open_gate(std::int32_t gate, std::int32_t code);
  [[nodiscard]] message new_message(std::int32_t script) {
    return {++messages_, script, scene_.scripts[static_cast<std::size_t>(script)].bytes};
  }

 private:
  struct person {
    std::int32_t kind = -1;
    std::int32_t incarnations = 0;
  };

  void act(const action& a);
  void run_until_idle() {
    while (dispatcher_->step()) {
    }
  }
  void advance(std::chrono::nanoseconds by) {
    const auto end = timers_->now() + by;
    run_until_idle();
    while (timers_->ring_next(end))
      run_until_idle();
    timers_->move_to(end);
  }
  void shut_down();
  void await_end(const any_actor_ref& who);
  template <class Send>
  auto send(const any_actor_ref& to, const message& m, Send&& how) const;

  const scenario& scene_;
  trace events_;
  std::vector<person> people_{person{}};  // the root
  std::unordered_map<actor_id, std::int32_t> numbers_;
  std::int32_t messages_ = 0;
  std::int32_t failures_ = 0;
  std::array<std::stop_source, stop_tokens> tokens_;
  std::shared_ptr<testing::virtual_timers> timers_ = std::make_shared<testing::virtual_timers>();
  std::shared_ptr<drawing_dispatcher> dispatcher_;
  std::shared_ptr<detail::system_core> core_;
  std::unique_ptr<troupe::system> system_;
  std::vector<any_actor_ref> latest_;
  std::array<std::vector<promise<int>>, gates> waiting_;
};

template <bool Reentrant>
class subject final : public actor {
 public:
  static constexpr bool reentrant = Reentrant;

  explicit subject(std::int32_t number)
      : world_(*this_world),
        number_(number),
        kind_(world_.kind_of(number)),
        incarnation_(world_.next_incarnation(number)),
        fails_(incarnation_ <= 32 && (kind_.failing_starts >> (incarnation_ - 1) & 1) != 0) {
    if (fails_ && kind_.fails_in_constructor) fail_to_start();
  }

  future<int> handle(message m) {
    world_.emit({.what = event_kind::handles, .a = number_, .b = m.number, .c = ++handled_});
    for (const step& one : text_of(m).steps) {
      if (one.what == step_kind::fail) {
        fail_in(m, world_.next_failure(static_cast<std::size_t>(one.number)));
      }
      if (one.what == step_kind::stash) {
        if (m.put_aside) continue;
        m.put_aside = true;
        return stash(this, m);
      }
      take(one);
    }
    return make_ready_future(static_cast<int>(handled_));
  }

  task<int> handle(long_message m) {
    world_.emit({.what = event_kind::handles, .a = number_, .b = m.number, .c = ++handled_});
    for (const step& one : text_of(m).steps) {
      if (one.what == step_kind::fail) {
        fail_in(m, world_.next_failure(static_cast<std::size_t>(one.number)));
      }
      take(one);
    }
    const result<int> outcome = co_await as_result(world_.wait_at(text_of(m).gate));
    world_.emit({.what = event_kind::resumes, .a = number_, .b = m.number});
    if (!outcome) fail_in(m, outcome.error());
    co_return static_cast<int>(handled_);
  }

  void handle(const terminated& t) {
    world_.emit({.what = event_kind::told,
                 .a = number_,
                 .b = world_.number_of_actor(t.id),
                 .c = t.reason ? failure_number(*t.reason) : 0});
  }

 protected:
  supervision supervise() const override {
    supervision s = kind_.looks_after;
    s.decider = decider_of[static_cast<std::size_t>(kind_.decider)];
    return s;
  }
  void pre_start() override { begin(0); }
  void post_restart(const error& reason) override { begin(failure_number(reason)); }
  void pre_restart(const error& reason) noexcept override {
    world_.emit(
        {.what = event_kind::ended, .a = number_, .b = incarnation_, .c = failure_number(reason)});
  }
  void post_stop() noexcept override {
    world_.emit({.what = event_kind::stopped, .a = number_, .b = incarnation_});
  }

 private:
  void begin(std::int32_t restarted_for) {
    world_.emit({.what = event_kind::started, .a = number_, .b = incarnation_, .c = restarted_for});
    for (const std::int32_t kind : kind_.children)
      spawn_child(kind);
    for (const std::int32_t kind : kind_.watches) {
      if (const auto* other = world_.latest(kind)) watch(this, *other);
    }
    if (kind_.stops_at_start) stop();
    if (fails_) fail_to_start();
  }

  [[nodiscard]] const script& text_of(const message& m) const {
    return world_.scene().scripts[static_cast<std::size_t>(m.script)];
  }

  [[noreturn]] void fail_in(const message& m, const error& e) {
    world_.emit({.what = event_kind::fails, .a = number_, .b = m.number, .c = failure_number(e)});
    throw failure(e);
  }

  [[noreturn]] void fail_to_start() {
    const error e = world_.next_failure(static_cast<std::size_t>(incarnation_) % error_codes);
    world_.emit({.what = event_kind::start_failed,
                 .a = number_,
                 .b = incarnation_,
                 .c = failure_number(e)});
    throw failure(e);
  }

  void spawn_child(std::int32_t kind) {
    world_.spawn(number_, kind,
                 [this, kind](spawn_options options, std::int32_t number) -> any_actor_ref {
                   const auto& k = world_.scene().kinds[static_cast<std::size_t>(kind)];
                   if (k.reentrant) return spawn<subject<true>>(std::move(options), number);
                   return spawn<subject<false>>(std::move(options), number);
                 });
  }

  void take(const step& one) {
    if (one.what == step_kind::spawn) {
      if (one.kind >= 0) spawn_child(one.kind);
      return;
    }
    const any_actor_ref self = reference(this);
    const auto* target = one.kind < 0 ? &self : world_.latest(one.kind);
    if (target == nullptr) return;
    switch (one.what) {
      case step_kind::tell:
        return world_.tell(*target, one.script);
      case step_kind::ask:
        return world_.ask(*target, one.script, one.time, one.number);
      case step_kind::stop:
        return target->stop();
      case step_kind::stop_after_mailbox:
        return target->stop_after_mailbox();
      case step_kind::watch:
        return watch(this, *target);
      case step_kind::unwatch:
        return unwatch(*target);
      case step_kind::unstash:
        return unstash_all();
      case step_kind::after:
        return set_timer(one.script, [&](auto m) { return after(this, one.time, m); });
      case step_kind::every:
        return set_timer(one.script, [&](auto m) { return every(this, one.time * 5, m); });
      case step_kind::cancel_timer:
        return last_timer_.cancel();
      case step_kind::cancel_asks:
        return world_.cancel_asks(one.number);
      case step_kind::open_gate:
        return world_.open_gate(one.number, one.script);
      case step_kind::fail:
      case step_kind::stash:
      case step_kind::spawn:
        return;
    }
  }

  template <class Set>
  void set_timer(std::int32_t script, Set&& how) {
    const message m = world_.new_message(script);
    last_timer_ = text_of(m).gate < 0 ? how(m) : how(long_message(m));
  }

  world& world_;
  std::int32_t number_;
  const actor_kind& kind_;
  std::int32_t incarnation_;
  bool fails_;
  std::int32_t handled_ = 0;
  timer last_timer_;
};

std::size_t drawing_dispatcher::choose(const std::deque<detail::actor_cell*>& ready) noexcept {
  by_age_.clear();
  for (const detail::actor_cell* cell : ready)
    by_age_.emplace_back(cell->id(), by_age_.size());
  std::ranges::sort(by_age_);
  const auto [who, at] = by_age_[draw_.below(ready.size())];
  this_world->emit({.what = event_kind::turn,
                    .a = this_world->number_of_actor(who),
                    .b = static_cast<std::int32_t>(ready.size())});
  return at;
}

template <std::size_t Which>
directive decide(const error& e) noexcept {
  const directive d = this_world->scene().verdicts[Which][code_index(e.code)];
  this_world->emit({.what = event_kind::decides,
                    .a = static_cast<std::int32_t>(Which),
                    .b = failure_number(e),
                    .c = static_cast<std::int32_t>(d)});
  return d;
}

directive last_word(const error& e) noexcept {
  const directive d = this_world->scene().last_words[code_index(e.code)];
  this_world->emit(
      {.what = event_kind::last_word, .b = failure_number(e), .c = static_cast<std::int32_t>(d)});
  return d;
}

world::world(const scenario& s)
    : scene_(s),
      dispatcher_(std::make_shared<drawing_dispatcher>(s.seed)),
      latest_(s.kinds.size()) {
  this_world = this;
  system_config config;
  config.supervision = s.root;
  config.supervision.decider = decider_of[static_cast<std::size_t>(s.root_decider)];
  if (s.has_last_word) config.on_escalation = &last_word;
  config.log = [this](const log_entry& e) {
    const std::string_view name = e.source.substr(e.source.rfind('/') + 1);
    auto what = static_cast<std::int32_t>(directive::restart);
    if (e.event.ends_with("goes on")) what = static_cast<std::int32_t>(directive::resume);
    if (e.event.ends_with("stopped")) what = static_cast<std::int32_t>(directive::stop);
    if (e.event.ends_with("spent")) what = -1;
    emit({.what = event_kind::logged,
          .a = std::stoi(std::string(name)),
          .b = failure_number(e.reason),
          .c = what});
  };
  core_ = std::make_shared<detail::system_core>(config, timers_, dispatcher_);
  system_ = std::make_unique<troupe::system>(core_);
  numbers_.emplace(core_->root().id(), 0);
  system_->on_dead_letter([this](const dead_letter& d) {
    emit({.what = event_kind::dead_letter,
          .a = number_of_actor(d.target),
          .b = static_cast<std::int32_t>(d.reason)});
  });
  run_until_idle();
}

template <class Spawn>
void world::spawn(std::int32_t parent, std::int32_t kind, Spawn&& how) {
  if (people_.size() > scenario::most_actors) return;
  const auto number = static_cast<std::int32_t>(people_.size());
  people_.push_back({.kind = kind});
  const actor_kind& k = scene_.kinds[static_cast<std::size_t>(kind)];
  any_actor_ref made = how(
      spawn_options{
          .name = std::to_string(number), .mailbox = k.mailbox, .stash_capacity = k.stash_capacity},
      number);
  numbers_.emplace(made.id(), number);
  latest_[static_cast<std::size_t>(kind)] = std::move(made);
  emit({.what = event_kind::spawned, .a = number, .b = parent, .c = kind});
}

// Calls `how` with the receiver by its type and with what it is sent.
template <class Send>
auto world::send(const any_actor_ref& to, const message& m, Send&& how) const {
  const bool is_long = scene_.scripts[static_cast<std::size_t>(m.script)].gate >= 0;
  const auto by_type = [&](const auto& receiver) {
    return is_long ? how(receiver, long_message(m)) : how(receiver, m);
  };
  if (kind_of(number_of_actor(to.id())).reentrant) {
    return by_type(actor_ref<subject<true>>(to.cell()));
  }
  return by_type(actor_ref<subject<false>>(to.cell()));
}

void world::tell(const any_actor_ref& to, std::int32_t script) {
  const message m = new_message(script);
  // The sender may wait, and the latest be another one by then.
  const std::int32_t receiver = number_of_actor(to.id());
  const bool taken = send(to, m, [](const auto& who, const auto& what) { return who.tell(what); });
  emit({.what = event_kind::sent, .a = m.number, .b = receiver, .c = taken ? 1 : 0});
}

void world::ask(const any_actor_ref& to, std::int32_t script, std::chrono::nanoseconds timeout,
                std::int32_t token) {
  const message m = new_message(script);
  emit({.what = event_kind::asks, .a = m.number, .b = number_of_actor(to.id())});
  ask_options options{.timeout = timeout};
  if (token >= 0) options.stop = tokens_[static_cast<std::size_t>(token)].get_token();
  future<int> reply =
      send(to, m, [&](const auto& who, const auto& what) { return who.ask(what, options); });
  auto ignored = std::move(reply).then([this, number = m.number](result<int> answer) {
    emit({.what = event_kind::answered,
          .a = number,
          .b = answer ? 0 : static_cast<std::int32_t>(answer.error().code),
          .c = answer ? *answer : 0});
  });
}

void world::cancel_asks(std::int32_t token) {
  const auto before = static_cast<std::ptrdiff_t>(events_.size());
  tokens_[static_cast<std::size_t>(token)].request_stop();
  // The callbacks of a token run in no order that one could rely on.
  std::ranges::sort(events_.begin() + before, events_.end(), {}, &event::a);
}

void world::open_gate(std::int32_t gate, std::int32_t code) {
  for (promise<int>& waiting : std::exchange(waiting_[static_cast<std::size_t>(gate)], {})) {
    if (code < 0) {
      waiting.set_value(0);
    } else {
      waiting.set_error(next_failure(static_cast<std::size_t>(code)));
    }
  }
}

void world::await_end(const any_actor_ref& who) {
  auto ignored = who.when_terminated().then([this](const result<terminated>& end) {
    emit({.what = event_kind::terminated,
          .a = number_of_actor(end->id),
          .c = end->reason ? failure_number(*end->reason) : 0});
  });
}

void world::shut_down() {
  auto ignored = system_->shutdown(last_timeout).then([this](const result<void>& end) {
    emit({.what = event_kind::shut_down,
          .b = end ? 0 : static_cast<std::int32_t>(end.error().code)});
  });
}

void world::act(const action& a) {
  const auto* target = latest(a.kind);
  switch (a.what) {
    case action_kind::spawn:
      return spawn(0, a.kind, [&](spawn_options options, std::int32_t number) -> any_actor_ref {
        if (scene_.kinds[static_cast<std::size_t>(a.kind)].reentrant) {
          return system_->spawn<subject<true>>(std::move(options), number);
        }
        return system_->spawn<subject<false>>(std::move(options), number);
      });
    case action_kind::tell:
      if (target != nullptr) tell(*target, a.script);
      return;
    case action_kind::ask:
      if (target != nullptr) ask(*target, a.script, a.time, a.number);
      return;
    case action_kind::stop:
      if (target != nullptr) target->stop();
      return;
    case action_kind::stop_after_mailbox:
      if (target != nullptr) target->stop_after_mailbox();
      return;
    case action_kind::await_end:
      if (target != nullptr) await_end(*target);
      return;
    case action_kind::cancel_asks:
      return cancel_asks(a.number);
    case action_kind::open_gate:
      return open_gate(a.number, a.script);
    case action_kind::take_turns:
      for (std::int32_t n = 0; n < a.number && dispatcher_->step(); ++n) {
      }
      return;
    case action_kind::run_until_idle:
      return run_until_idle();
    case action_kind::ring:
      timers_->ring_next(timers_->now() + a.time);
      return;
    case action_kind::advance:
      return advance(a.time);
    case action_kind::shut_down:
      return shut_down();
  }
}

}  // namespace

trace run_runtime(const scenario& s) { return world(s).run(); }

}  // namespace troupe::model
