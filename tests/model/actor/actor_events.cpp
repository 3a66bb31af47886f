#include "actor_events.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::model {

std::string to_string(const event& e) {
  const auto text = [&]() -> std::string {
    switch (e.what) {
      case event_kind::action:
        return fmt::format("-- action {}", e.a);
      case event_kind::turn:
        return fmt::format("turn of {} ({} ready)", e.a, e.b);
      case event_kind::spawned:
        return fmt::format("{} is spawned by {}, kind {}", e.a, e.b, e.c);
      case event_kind::start_failed:
        return fmt::format("{} fails to start, incarnation {}, failure {}", e.a, e.b, e.c);
      case event_kind::started:
        return fmt::format("{} starts, incarnation {}, for failure {}", e.a, e.b, e.c);
      case event_kind::ended:
        return fmt::format("{} ends incarnation {}, for failure {}", e.a, e.b, e.c);
      case event_kind::stopped:
        return fmt::format("{} stops, incarnation {}", e.a, e.b);
      case event_kind::handles:
        return fmt::format("{} handles message {}, its {}.", e.a, e.b, e.c);
      case event_kind::resumes:
        return fmt::format("{} goes on with message {}", e.a, e.b);
      case event_kind::fails:
        return fmt::format("{} fails in message {}, failure {}", e.a, e.b, e.c);
      case event_kind::sent:
        return fmt::format("message {} to {}: {}", e.a, e.b, e.c != 0 ? "taken" : "refused");
      case event_kind::asks:
        return fmt::format("message {} asks {}", e.a, e.b);
      case event_kind::answered:
        return fmt::format("message {} is answered: code {}, value {}", e.a, e.b, e.c);
      case event_kind::dead_letter:
        return fmt::format("dead letter to {}: code {}", e.a, e.b);
      case event_kind::decides:
        return fmt::format("decider {} on failure {}: {}", e.a, e.b, e.c);
      case event_kind::last_word:
        return fmt::format("the last word on failure {}: {}", e.b, e.c);
      case event_kind::logged:
        return fmt::format("failure {} of {} is logged: {}", e.b, e.a, e.c);
      case event_kind::told:
        return fmt::format("{} is told that {} has stopped, failure {}", e.a, e.b, e.c);
      case event_kind::terminated:
        return fmt::format("{} has stopped, failure {}", e.a, e.c);
      case event_kind::shut_down:
        return fmt::format("shut down, code {}", e.b);
    }
    return "?";
  }();
  return fmt::format("{:>10.3f} ms  {}", static_cast<double>(e.at.count()) / 1e6, text);
}

void print(std::ostream& out, const trace& events, std::size_t end, std::size_t count) {
  end = std::min(end, events.size());
  for (std::size_t i = end - std::min(end, count); i < end; ++i)
    out << to_string(events[i]) << '\n';
}

}  // namespace troupe::model
