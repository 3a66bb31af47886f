#include "actor_laws.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string_view>

namespace troupe::model {
namespace {

struct life {
  std::int32_t parent = -1;
  std::int32_t incarnation = 0;  // that lives, or 0
  std::int32_t handled = 0;
  bool stopped = false;
};

class keeper {
 public:
  // The law that the event breaks.
  std::string_view see(const event& e) {
    switch (e.what) {
      case event_kind::asks:
        return asked_.emplace(e.a, 0).second ? "" : "an ask of the same number";
      case event_kind::answered:
        if (!asked_.contains(e.a)) return "the answer to nothing";
        return ++asked_[e.a] == 1 ? "" : "a second answer";
      case event_kind::spawned:
        lives_[e.a].parent = e.b;
        return "";
      case event_kind::started:
        if (lives_[e.a].stopped) return "it has stopped";
        if (lives_[e.a].incarnation != 0) return "the incarnation before it lives";
        lives_[e.a].incarnation = e.b;
        lives_[e.a].handled = 0;
        return "";
      case event_kind::start_failed:
        if (lives_[e.a].stopped) return "it has stopped";
        lives_[e.a].incarnation = 0;
        return "";
      case event_kind::handles:
        if (lives_[e.a].incarnation == 0) return "there is no incarnation";
        return ++lives_[e.a].handled == e.c ? "" : "another incarnation";
      case event_kind::resumes:
      case event_kind::fails:
        return lives_[e.a].incarnation == 0 ? "there is no incarnation" : "";
      case event_kind::told:
        if (lives_[e.a].incarnation == 0) return "there is no incarnation";
        return lives_[e.b].incarnation != 0 ? "it lives" : "";
      case event_kind::terminated:
        return lives_[e.a].incarnation != 0 ? "it lives" : "";
      case event_kind::ended:
      case event_kind::stopped:
        if (lives_[e.a].incarnation != e.b) return "another incarnation";
        for (const auto& [number, one] : lives_) {
          if (one.parent == e.a && one.incarnation != 0) return "a child lives";
        }
        lives_[e.a].incarnation = 0;
        lives_[e.a].stopped = e.what == event_kind::stopped;
        return "";
      case event_kind::logged:
        return logged_.insert(e.b).second ? "" : "it has been logged";
      case event_kind::action:
      case event_kind::turn:
      case event_kind::sent:
      case event_kind::dead_letter:
      case event_kind::decides:
      case event_kind::last_word:
      case event_kind::shut_down:
        return "";
    }
    return "";
  }

  [[nodiscard]] std::string at_the_end() const {
    for (const auto& [number, answers] : asked_) {
      if (answers != 1) return fmt::format("message {} has {} answers", number, answers);
    }
    for (const auto& [number, one] : lives_) {
      if (one.incarnation != 0) return fmt::format("{} lives for ever", number);
    }
    return {};
  }

 private:
  std::map<std::int32_t, int> asked_;
  std::map<std::int32_t, life> lives_;
  std::set<std::int32_t> logged_;
};

}  // namespace

std::string broken_law(const trace& events) {
  keeper laws;
  for (const event& e : events) {
    if (const std::string_view broken = laws.see(e); !broken.empty()) {
      return fmt::format("{}\n  {}\n", to_string(e), broken);
    }
  }
  return laws.at_the_end();
}

}  // namespace troupe::model
