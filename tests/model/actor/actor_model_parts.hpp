#pragma once

#include "actor_events.hpp"
#include "actor_scenario.hpp"
#include "model/turn_draw.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

// The parts of the model: only its own sources use this.
namespace troupe::model {

using nanoseconds = std::chrono::nanoseconds;

struct failure_of {
  std::int32_t number = 0;
  std::size_t code = 0;
};
using maybe_failure = std::optional<failure_of>;

inline std::int32_t number_of(const maybe_failure& f) { return f ? f->number : 0; }

struct timer_of {
  bool cancelled = false;
  bool in_mailbox = false;
  std::uint64_t alarm = 0;
};

struct person;

struct letter {
  enum class sort : std::uint8_t { user, timer, notice, last, settle } what = sort::user;
  std::int32_t number = 0;
  std::int32_t script = 0;
  std::int64_t bytes = 0;  // 0: neither counted nor a dead letter
  bool asked = false;
  bool put_aside = false;
  std::shared_ptr<timer_of> timer{};
  std::int32_t gone = 0;             // for a notice
  maybe_failure why{};               // for a notice
  std::shared_ptr<void> counted{};   // as unfinished, while it is answered later
  std::shared_ptr<void> settling{};  // for a shutdown
};

struct person {
  enum class being : std::uint8_t { starting, active, failed, clearing, vacant, stopping, stopped };

  std::int32_t number = 0;
  person* parent = nullptr;
  const actor_kind* kind = nullptr;
  being is = being::starting;
  bool alive = false;  // has an incarnation
  bool in_turn = false;
  std::int32_t incarnation = 0;
  std::int32_t handled = 0;
  maybe_failure why{};  // for the restart or stop in progress
  std::deque<std::function<void()>> orders;

  std::deque<letter> front;  // messages that were put aside, and are back
  std::deque<letter> mailbox;
  std::vector<letter> aside;
  struct wait {
    letter m;
    bool over = false;
  };
  std::deque<std::shared_ptr<wait>> waits;  // those of coroutines; the newest first
  bool draining = false;
  // The shutdown continues when no actor holds this: an actor that has not answered earlier
  // messages does.
  std::shared_ptr<void> settling;
  bool settles = false;
  std::array<std::int32_t, 2> unfinished{};  // begun before the shutdown came, and after
  std::vector<std::shared_ptr<timer_of>> timers;

  std::vector<std::int32_t> watching;
  std::vector<std::pair<std::int32_t, std::function<void(const maybe_failure&)>>> watchers;

  struct child {
    person* who;
    std::vector<nanoseconds> restarts;
  };
  std::vector<child> children;
  bool takes_children = true;
  std::vector<person*> escalated;
  std::vector<nanoseconds> group_restarts;
  std::map<const person*, std::uint64_t> put_off;  // alarms

  struct group {
    enum class stage : std::uint8_t { ending, waiting, beginning } now = stage::ending;
    std::vector<person*> members;
    std::size_t up = 0;  // members before this one have an incarnation
    failure_of why{};
    std::size_t nth = 0;
  };
  std::optional<group> together;
  std::uint64_t step = 0;                 // the last that a child was asked for
  std::optional<std::uint64_t> asked_to;  // by the parent

  [[nodiscard]] bool takes_messages() const {
    return is == being::active && !draining && (waits.empty() || kind->reentrant);
  }
  [[nodiscard]] bool has_a_message() const {
    return takes_messages() && !(front.empty() && mailbox.empty());
  }
  [[nodiscard]] bool has_something() const {
    return is != being::stopped && (!orders.empty() || has_a_message());
  }
};
using being = person::being;
using stage = person::group::stage;

/// The model itself. An actor gets other actors' demands as orders, which it obeys in its next
/// turn, before it handles a message.
class reference {
 public:
  explicit reference(const scenario& s);
  trace run();

 private:
  struct question {
    std::optional<std::pair<std::int32_t, std::int32_t>> early{};  // before anybody listens
    bool listening = false;
    bool answered = false;
    std::int32_t token = -1;
    std::uint64_t alarm = 0;
  };

  person& root() { return people_.front(); }
  void emit(event e);
  static std::int32_t code_of(errc e) { return static_cast<std::int32_t>(e); }

  // Actions from outside.
  void act(const action& a);
  void run_until_idle();
  void advance(nanoseconds by);
  void shut_down();

  // The clock.
  std::uint64_t add_alarm(nanoseconds when, std::function<void()> ring);
  void cancel_alarm(std::uint64_t number);
  bool ring_next(nanoseconds limit);

  // Turns.
  bool turn_of_somebody();
  static void obey(person& p);
  static void order(person& p, std::function<void()> what);

  // Messages.
  bool post(person& to, letter m, const person* sender);
  void refuse(const person& to, const letter& m, errc why);
  void tell(person& to, std::int32_t script, const person* sender);
  letter message(std::int32_t number, std::int32_t script) const;
  void ask(person& to, std::int32_t script, nanoseconds timeout, std::int32_t token,
           const person* sender);
  void end_question(std::int32_t number, std::int32_t code, std::int32_t value);
  void answer(const letter& m, std::int32_t code, std::int32_t value);
  void cancel_asks(std::size_t token);
  void handle(person& p, letter m);
  void fail_in(person& p, const letter& m, const failure_of& f);
  void open_gate(std::size_t number, std::int32_t code);
  void abandon_waits(person& p, std::int32_t code);
  void drained(person& p);
  void settle(person& p, std::shared_ptr<void> all);
  static std::shared_ptr<void> count(person& p);
  void put_aside(person& p, letter m);
  static void unstash(person& p);
  void take(person& p, const step& one);

  // Timers.
  void set_timer(person& p, std::int32_t script, nanoseconds delay, nanoseconds period);
  void arm(person& p, letter m, nanoseconds delay, nanoseconds period);
  void cancel(timer_of& t);
  void cancel_timers(person& p);

  // Death watch.
  void watch(person& p, person& other);
  void await_end(person& p);

  // Lives.
  void spawn(person& parent, std::int32_t kind);
  void start(person& p);
  void begin(person& p, const maybe_failure& restarted_for);
  void end(person& p, const failure_of& why);
  void has_ended(person& p);
  void tell_to_stop(person& p);
  void stop_after_mailbox(person& p);
  void stop(person& p, const maybe_failure& why, bool drain);
  void stop_children(person& p, bool drain);
  void has_stopped(person& p);
  void gone(person& p, person& child);

  // Supervision.
  void fail(person& p, const failure_of& f);
  struct verdict {
    directive what;
    bool unasked;  // the program has not decided that
  };
  verdict decide(const person& p, const failure_of& f);
  void child_failed(person& p, person& c, const failure_of& f, bool resumable);
  void resume(person& p);
  void after_backoff(person& p, person& who, std::size_t nth, std::function<void()> what);
  void cancel_put_off(person& p, const person& who);
  static bool ends_with_others(const person& p, const person& c);
  void restart_together(person& p, std::vector<person*> members, const failure_of& f,
                        std::size_t nth);
  void next_step(person& p);
  void end_with_others(person& p, const failure_of& why, std::uint64_t step);
  void step_done(person& p, std::uint64_t step);
  void go_on(person& p, std::uint64_t step);
  void leave_group(person& p, const person& child);

  const scenario& s_;
  turn_draw draw_;
  actor_kind root_kind_;
  std::deque<person> people_;
  std::vector<person*> latest_;
  trace events_;
  nanoseconds now_{0};
  std::map<std::pair<nanoseconds, std::uint64_t>, std::function<void()>> alarms_;
  std::uint64_t last_alarm_ = 0;
  std::map<std::int32_t, question> questions_;
  std::array<bool, stop_tokens> cancelled_{};
  std::array<std::vector<std::pair<person*, std::shared_ptr<person::wait>>>, gates> waiting_;
  std::vector<letter> dropped_;
  std::int32_t messages_ = 0;
  std::int32_t failures_ = 0;
  std::int32_t waiting_for_the_end_ = 0;
  bool shutting_down_ = false;
  std::uint64_t timeout_ = 0;
};

}  // namespace troupe::model
