#pragma once

#include <troupe/testing/test_kit.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

// Actors that write down their lives and fail on demand, for the tests of supervision.
namespace troupe::supervised {

using namespace std::chrono_literals;
using log = std::shared_ptr<std::vector<std::string>>;

inline log new_log() { return std::make_shared<std::vector<std::string>>(); }

struct poke {};
struct raise {
  errc code;
};
struct count {};

class child : public actor {
 public:
  explicit child(log l, std::string name = "c") : log_(std::move(l)), name_(std::move(name)) {}
  void pre_start() override { log_->push_back(name_ + " start"); }
  void post_stop() noexcept override { log_->push_back(name_ + " stop"); }

  int handle(poke) { return ++pokes_; }
  int handle(raise r) { throw failure(error{.code = r.code}); }

 private:
  log log_;
  std::string name_;
  int pokes_ = 0;
};

inline system_config deciding(directive (*decider)(const error&) noexcept,
                              restart_budget budget = {}, backoff wait = {.initial = 0ns}) {
  return {.supervision = {.decider = decider, .budget = budget, .backoff = wait}};
}

inline directive always_restart(const error&) noexcept { return directive::restart; }
inline directive always_resume(const error&) noexcept { return directive::resume; }
inline directive always_stop(const error&) noexcept { return directive::stop; }
inline directive always_escalate(const error&) noexcept { return directive::escalate; }

// Has three children and forwards by position.
struct to_child {
  std::size_t index;
  errc code;
};
struct poke_child {
  std::size_t index;
};
struct stop_child {
  std::size_t index;
};
class parent : public actor {
 public:
  parent(log l, supervision s) : log_(std::move(l)), supervision_(s) {}
  void pre_start() override {
    log_->emplace_back("parent start");
    for (const char* name : {"a", "b", "c"})
      children_.push_back(spawn<child>(log_, name));
  }
  void handle(to_child m) { children_[m.index].tell(raise{m.code}); }
  future<int> handle(poke_child m) { return children_[m.index].ask(poke{}); }
  void handle(stop_child m) { children_[m.index].stop(); }

 protected:
  supervision supervise() const override { return supervision_; }

 private:
  log log_;
  supervision supervision_;
  std::vector<actor_ref<child>> children_;
};

}  // namespace troupe::supervised
