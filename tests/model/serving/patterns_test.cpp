// Replicas, cascades and versions of models, under a virtual clock.
#include <troupe/core/system.hpp>
#include <troupe/serving.hpp>
#include <troupe/testing/test_kit.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe::serving {
namespace {

using namespace std::chrono_literals;
using text_model = model<std::string, std::string>;

class Patterns : public ::testing::Test {
 protected:
  /// Answers "name:item" when the test says so.
  struct simulated_model {
    std::string name;
    device_state state = device_state::ready;
    std::vector<std::pair<std::string, promise<std::string>>> asked{};

    void answer_all() {
      for (auto& [item, to] : std::exchange(asked, {}))
        to.set_value(name + ":" + item);
    }
    void fail_all(errc code) {
      for (auto& [item, to] : std::exchange(asked, {}))
        to.set_result(error{.code = code});
    }
  };
  text_model make(const std::string& name) {
    simulated_model& made = models_[name] = {.name = name};
    return [&made](std::string item, const item_terms& terms) {
      if (terms.deadline == time_point::min())
        return make_failed_future<std::string>(error{.code = errc::deadline_exceeded});
      made.asked.emplace_back(std::move(item), promise<std::string>());
      return made.asked.back().second.get_future();
    };
  }
  replica<std::string, std::string> on(const std::string& name) {
    auto made = make(name);
    return {std::move(made), [&one = models_.at(name)] { return one.state; }};
  }
  std::size_t waiting(const std::string& name) {
    kit_.run_until_idle();
    return models_.at(name).asked.size();
  }

  troupe::testing::test_kit kit_;
  std::map<std::string, simulated_model> models_;
};

TEST_F(Patterns, AreModelsForEachOther) {
  troupe::system& system = kit_.system();
  const text_model on_first = make("a"), on_second = make("b"), small = make("s"), next = make("n");
  const auto state = [] { return device_state::ready; };
  const auto weights = std::make_shared<int>(1);
  // region: patterns
  replicas<std::string, std::string> all(system, {{on_first, state}, {on_second, state}});
  cascade<std::string, std::string> read(system, {small, all},
                                         [](const std::string& s) { return s != "unsure"; });
  versions<std::string, std::string> labels(all);
  labels.bring(next, weights, 0.05);  // a share of the items; `weights` are let go of at its end
  labels.finish();                    // all of them; the old one answers those that it has
  // endregion: patterns
  auto said = labels.ask("x");
  models_.at("n").answer_all();
  kit_.run_until_idle();
  EXPECT_EQ(said.get().answer, "n:x");
  auto label = read.ask("y");
  kit_.run_until_idle();
  models_.at("s").asked.front().second.set_value("unsure");
  kit_.run_until_idle();
  models_.at("a").answer_all();
  models_.at("b").answer_all();
  kit_.run_until_idle();
  EXPECT_EQ(label.get().stage, 1U);
}

TEST_F(Patterns, ReplicasShareTheWorkByCost) {
  replicas<std::string, std::string> all(kit_.system(), {on("a"), on("b")});
  auto large = all.ask("large", {.cost = 100});
  kit_.run_until_idle();
  std::vector<future<std::string>> small;
  for (int i = 0; i < 10; ++i) {
    small.push_back(all.ask("small", {.cost = 10}));
    kit_.run_until_idle();
  }
  const bool first_is_a = models_.at("a").asked.size() < models_.at("b").asked.size();
  EXPECT_EQ(waiting(first_is_a ? "b" : "a"), 10U);
  models_.at("a").answer_all();
  models_.at("b").answer_all();
  kit_.run_until_idle();
  EXPECT_EQ(large.get(), first_is_a ? "a:large" : "b:large");
  // Those that have been answered count no more.
  auto one = all.ask("x");
  auto two = all.ask("y");
  EXPECT_EQ(waiting("a"), 1U);
  EXPECT_EQ(waiting("b"), 1U);
}

TEST_F(Patterns, ReplicasSendNothingToAStoppedDevice) {
  replicas<std::string, std::string> all(kit_.system(), {on("a"), on("b"), on("c")});
  models_.at("a").state = device_state::stopped;
  models_.at("b").state = device_state::recovering;
  auto one = all.ask("x", {.cost = 1000});
  auto two = all.ask("y");
  EXPECT_EQ(waiting("c"), 2U);
  models_.at("c").state = device_state::stopped;
  auto three = all.ask("z");
  EXPECT_EQ(waiting("b"), 1U);
}

TEST_F(Patterns, ReplicasMoveWhatHasNotBeenAnswered) {
  replicas<std::string, std::string> all(kit_.system(), {on("a"), on("b")});
  models_.at("b").state = device_state::recovering;
  auto moves = all.ask("x");
  ASSERT_EQ(waiting("a"), 1U);
  models_.at("a").fail_all(errc::device_stopped);
  ASSERT_EQ(waiting("b"), 1U);
  models_.at("b").answer_all();
  kit_.run_until_idle();
  EXPECT_EQ(moves.get(), "b:x");
  // An item's own failure does not move, nor does one that all are gone for.
  auto fails = all.ask("y");
  ASSERT_EQ(waiting("a"), 1U);
  models_.at("a").fail_all(errc::device_fault);
  kit_.run_until_idle();
  EXPECT_EQ(fails.get_result().error().code, errc::device_fault);
  auto lost = all.ask("z");
  kit_.run_until_idle();
  models_.at("a").fail_all(errc::device_stopped);
  kit_.run_until_idle();
  models_.at("b").fail_all(errc::device_condemned);
  kit_.run_until_idle();
  EXPECT_EQ(lost.get_result().error().code, errc::device_condemned);
}

TEST_F(Patterns, NothingToChooseFromIsRefused) {
  using all = replicas<std::string, std::string>;
  EXPECT_THROW(all(kit_.system(), {}), failure);
  using stages = cascade<std::string, std::string>;
  EXPECT_THROW(stages(kit_.system(), {}, [](const std::string&) { return true; }), failure);
}

TEST_F(Patterns, ACascadeGoesOnWhereAnAnswerIsNotAccepted) {
  cascade<std::string, std::string> read(
      kit_.system(), {make("small"), make("large")},
      [](const std::string& answer) { return answer != "small:hard"; });
  auto easy = read.ask("easy");
  auto hard = read.ask("hard");
  EXPECT_EQ(waiting("small"), 2U);
  models_.at("small").answer_all();
  EXPECT_EQ(waiting("large"), 1U);
  const auto first = easy.get();
  EXPECT_EQ(first.answer, "small:easy");
  EXPECT_TRUE(first.stage == 0 && first.accepted);
  models_.at("large").answer_all();
  kit_.run_until_idle();
  const auto second = hard.get();
  EXPECT_EQ(second.answer, "large:hard");
  EXPECT_TRUE(second.stage == 1 && second.accepted);
}

TEST_F(Patterns, ACascadeGivesTheBestAnswerThatThereIs) {
  cascade<std::string, std::string> read(kit_.system(), {make("small"), make("large")},
                                         [](const std::string&) { return false; });
  for (const errc code : {errc::deadline_exceeded, errc::mailbox_full}) {
    auto late = read.ask("x");
    ASSERT_EQ(waiting("small"), 1U);
    models_.at("small").answer_all();
    ASSERT_EQ(waiting("large"), 1U);
    models_.at("large").fail_all(code);
    kit_.run_until_idle();
    const auto found = late.get();
    EXPECT_EQ(found.answer, "small:x");
    EXPECT_TRUE(found.stage == 0 && !found.accepted);
  }
  auto none = read.ask("x", {.deadline = time_point::min()});
  kit_.run_until_idle();
  EXPECT_EQ(none.get_result().error().code, errc::deadline_exceeded);
}

TEST_F(Patterns, ACascadeFailsOrGoesOnWhereAStageFaults) {
  const auto never = [](const std::string&) { return false; };
  for (const on_fault how : {on_fault::fail, on_fault::next}) {
    cascade<std::string, std::string> read(kit_.system(), {make("small"), make("large")}, never,
                                           how);
    auto asked = read.ask("x");
    ASSERT_EQ(waiting("small"), 1U);
    models_.at("small").fail_all(errc::device_fault);
    kit_.run_until_idle();
    if (how == on_fault::fail) {
      EXPECT_EQ(asked.get_result().error().code, errc::device_fault);
      continue;
    }
    models_.at("large").answer_all();
    kit_.run_until_idle();
    EXPECT_EQ(asked.get().answer, "large:x");
  }
}

TEST_F(Patterns, AVersionEndsWhenItHasAnsweredItsOwnItems) {
  auto old_weights = std::make_shared<int>(1);
  const std::weak_ptr<int> kept = old_weights;
  versions<std::string, std::string> model(make("1"), old_weights);
  old_weights.reset();
  auto early = model.ask("x");
  model.swap(make("2"));
  auto later = model.ask("y");
  EXPECT_EQ(model.version(), 2U);
  EXPECT_FALSE(kept.expired());
  models_.at("1").answer_all();
  models_.at("2").answer_all();
  kit_.run_until_idle();
  const auto first = early.get();
  const auto second = later.get();
  EXPECT_TRUE(first.answer == "1:x" && first.version == 1);
  EXPECT_TRUE(second.answer == "2:y" && second.version == 2);
  EXPECT_TRUE(kept.expired());
}

TEST_F(Patterns, AVersionThatComesGetsItsShareAndMayBeGivenUp) {
  versions<std::string, std::string> model(make("1"));
  model.bring(make("2"), {}, 0.25);
  std::vector<future<versioned<std::string>>> all;
  all.reserve(102);
  for (int i = 0; i < 100; ++i)
    all.push_back(model.ask("x"));
  EXPECT_EQ(models_.at("1").asked.size(), 75U);
  EXPECT_EQ(models_.at("2").asked.size(), 25U);
  model.shift(1);
  all.push_back(model.ask("x"));
  EXPECT_EQ(models_.at("2").asked.size(), 26U);
  model.give_up();
  all.push_back(model.ask("x"));
  EXPECT_EQ(models_.at("1").asked.size(), 76U);
  EXPECT_EQ(model.version(), 1U);
  model.finish();  // nothing is coming
  EXPECT_EQ(model.version(), 1U);
}

}  // namespace
}  // namespace troupe::serving
