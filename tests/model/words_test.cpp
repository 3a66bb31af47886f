// The protocol of words under random schedules: ranks lose their workers at any access, all at once
// too, and parts fail for good. Memory is sequentially consistent here, and a lost worker stores
// nothing any more.
#include "libraries/collective/shared/words.hpp"

#include "schedules.hpp"
#include "turn.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace troupe::model {
namespace {

using collective::protocol;
using collective::slot_of;
using collective::staging_slots;
using collective::step_of;
using collective::then;

constexpr std::uint64_t operations = 8;
constexpr std::size_t chunk = 2;  // elements

enum class mutant : std::uint8_t {
  none,
  no_start_barrier,
  no_done_barrier,
  staged_again,
  dropped_early,
  no_begin,
  not_begun,
  blind_trust,  // in the result of another library whose connection is broken
};

// `sliced` is in place: slots have results. `by_library`: another library makes the result, and the
// step verifies it.
enum class kind : std::uint8_t { staged, staged_in_place, sliced, direct, two_shot, by_library };
constexpr unsigned kinds = 6;
bool is_in_place(kind k) { return k == kind::staged_in_place || k == kind::sliced; }
bool has_slots(kind k) { return k == kind::staged || is_in_place(k); }

using numbers = std::vector<std::uint64_t>;

struct rank_state {
  std::uint64_t own = 0, staged = 0;
  std::vector<std::uint64_t> start, done;
  std::array<numbers, staging_slots> slots;
  std::array<numbers, operations + 1> given, x, y;
  enum class part : std::uint8_t { waits, ended, failed };
  std::array<part, operations + 1> parts{};
  bool is_connected = true;  // its present worker is; the next one never is
  std::array<bool, operations + 1> has_entered{};
};

struct killed {};
struct given_up {};

class world {
 public:
  world(std::uint64_t seed, mutant which, bool with_drops)
      : random_(seed), mutant_(which), drops_(with_drops), ranks_(2 + random_() % 3) {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      kinds_[n] = static_cast<kind>(random_() % kinds);
      chunks_[n] = has_slots(kinds_[n]) ? 1 + random_() % 4 : 2;
    }
    for (std::size_t r = 0; r < ranks_; ++r) {
      auto& state = *states_.emplace_back(std::make_unique<rank_state>());
      state.start.assign(ranks_, 0);
      state.done.assign(ranks_, 0);
      for (numbers& slot : state.slots)
        slot.assign(chunk, 0);
      for (std::uint64_t n = 1; n <= operations; ++n) {
        numbers& x = state.given[n];
        x.resize(chunk * chunks_[n]);
        state.x[n].assign(x.size(), 5);
        state.y[n].assign(x.size(), 0);
        wanted_[n].resize(x.size());
        for (std::size_t i = 0; i < x.size(); ++i)
          wanted_[n][i] += x[i] = 1 + random_() % 1'000'000;
      }
      const auto never_run = [&] { return drops_ && random_() % (4 * ranks_) == 0; };
      for (std::uint64_t n = 1; n <= operations; ++n)
        fails_at_[n].push_back(never_run() ? random_() % 40 : ~std::uint64_t{0});
    }
    kills_left_ = random_() % 7;
  }

  /// \returns what is wrong
  std::string run() {
    for (std::size_t r = 0; r < ranks_; ++r)
      turns_.push_back(std::make_unique<turn>());
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < ranks_; ++r)
      threads.emplace_back([this, r] { serve(r); });
    constexpr int most_turns = 100'000;
    int turns = 0;
    for (; left_ > 0 && turns < most_turns; ++turns) {
      std::size_t r = random_() % ranks_;
      while (has_served_[r])
        r = (r + 1) % ranks_;
      if (kills_left_ > 0 && random_() % 400 == 0) {
        --kills_left_;
        dies_.fill(true);
      }
      quantum_ = random_() % 12;
      turns_[r]->release();
      program_.acquire();
      drop();
    }
    const bool hangs = left_ > 0;
    ends_ = true;
    for (std::size_t r = 0; r < ranks_; ++r) {
      if (!has_served_[r]) turns_[r]->release(), program_.acquire();
    }
    return hangs ? "it hangs" : wrong();
  }

 private:
  /// The words as one rank sees them.
  struct words {
    world& w;
    std::size_t me;

    [[nodiscard]] int ranks() const { return static_cast<int>(w.ranks_); }
    [[nodiscard]] std::uint64_t own() { return w.at(me).own; }
    void set_own(std::uint64_t step) { w.at(me).own = step; }
    [[nodiscard]] std::uint64_t staged() {
      const std::uint64_t step = w.at(me).staged;
      return w.mutant_ == mutant::staged_again ? 0 : step;
    }
    void set_staged(std::uint64_t step) { w.at(me).staged = step; }
    void put_start(int peer, std::uint64_t step) { w.at(me, peer).start[me] = step; }
    [[nodiscard]] bool all_started(std::uint64_t step) {
      return are_at(step, &rank_state::start) || w.mutant_ == mutant::no_start_barrier;
    }
    void put_done(int peer, std::uint64_t step) { w.at(me, peer).done[me] = step; }
    [[nodiscard]] bool all_done(std::uint64_t step) {
      return are_at(step, &rank_state::done) || w.mutant_ == mutant::no_done_barrier;
    }
    [[nodiscard]] std::uint64_t dropped() { return w.access(me), w.dropped_; }
    void pause() { w.hand_over(me); }

   private:
    [[nodiscard]] bool are_at(std::uint64_t step, std::vector<std::uint64_t> rank_state::* of) {
      bool all = true;
      for (std::size_t peer = 0; peer < w.ranks_; ++peer)
        all = (w.at(me).*of)[peer] >= step && all;
      return all;
    }
  };

  /// A rank's state, after a place where its worker may be lost or another rank may go on.
  rank_state& at(std::size_t me, int of) {
    access(me);
    return *states_[static_cast<std::size_t>(of)];
  }
  rank_state& at(std::size_t me) { return at(me, static_cast<int>(me)); }
  void access(std::size_t me) {
    if (quantum_-- == 0) hand_over(me);
    if (accesses_[me]++ >= fails_at_[now_[me]][me]) throw given_up();
    const bool dies = kills_left_ > 0 && random_() % 100 == 0;
    if (dies) --kills_left_;
    if (dies || dies_[me]) {
      dies_[me] = false;
      throw killed();
    }
  }
  void hand_over(std::size_t me) {
    program_.release();
    turns_[me]->acquire();
    if (ends_) throw given_up();
  }

  // A rank: its device runs the parts in order, and a part again whose worker is lost.
  void serve(std::size_t me) {
    turns_[me]->acquire();
    for (std::uint64_t n = 1; n <= operations && !ends_; ++n) {
      now_[me] = n;
      accesses_[me] = 0;
      rank_state& mine = *states_[me];
      mine.x[n] = mine.given[n];  // written by the request before it on this device
      for (bool again = true; again && !ends_;) {
        try {
          mine.parts[n] = part(me, n) ? rank_state::part::ended : rank_state::part::failed;
          again = false;
        } catch (const killed&) {
          mine.is_connected = false;  // runs again
        } catch (const given_up&) {
          mine.parts[n] = rank_state::part::failed;
          again = false;
        }
      }
      // The next request on this device may overwrite the input.
      if (!is_in_place(kinds_[n])) mine.x[n].assign(mine.x[n].size(), 7);
    }
    has_served_[me] = true;
    --left_;
    program_.release();
  }

  bool part(std::size_t me, std::uint64_t n) {
    words mine{*this, me};
    protocol steps(mine);
    if (mutant_ != mutant::no_begin) steps.begin(n);
    numbers& x = states_[me]->x[n];
    numbers& y = is_in_place(kinds_[n]) ? x : states_[me]->y[n];
    if (!has_slots(kinds_[n])) {
      if (!make_whole(steps, me, n)) return false;
      steps.end(n);
      return true;
    }
    const bool is_sliced = kinds_[n] == kind::sliced;
    bool good = !is_sliced || mutant_ == mutant::not_begun || steps.begun(step_of(n, 0));
    for (std::size_t c = 0; good && c < chunks_[n]; ++c) {
      const std::uint64_t step = step_of(n, c + (is_sliced ? 1 : 0));
      const auto stage = [&](std::uint64_t of) {
        const std::size_t from = (of == step ? c : c + 1) * chunk;
        numbers& slot = at(me).slots[slot_of(of)];
        for (std::size_t i = 0; i < chunk; ++i) {
          if (!is_sliced) {
            access(me), slot[i] = x[from + i];
          } else if (i % ranks_ == me) {  // each rank has one element in so many
            slot[i] = sum_of([&](rank_state& of_rank) { return of_rank.x[n][from + i]; }, me);
          }
        }
      };
      const then next = c + 1 < chunks_[n]   ? then::more
                        : random_() % 2 == 0 ? then::another
                                             : then::nothing;
      good = steps.staged(step, next, stage, [&](bool stages_next) {
        // In any order: other threads do the one than the other.
        const bool first = random_() % 2 == 0;
        if (stages_next && first) stage(step + 1);
        const auto in_slot = [&](std::size_t i) {
          return [&, i](rank_state& of_rank) { return of_rank.slots[slot_of(step)][i]; };
        };
        for (std::size_t i = 0; i < chunk; ++i) {
          y[c * chunk + i] =
              is_sliced ? in_slot(i)(at(me, static_cast<int>(i % ranks_))) : sum_of(in_slot(i), me);
        }
        if (stages_next && !first) stage(step + 1);
      });
    }
    if (good) steps.end(n);
    return good;
  }

  template <class Element>
  std::uint64_t sum_of(Element&& element, std::size_t me) {
    std::uint64_t sum = 0;
    for (std::size_t p = 0; p < ranks_; ++p)
      sum += element(at(me, static_cast<int>(p)));
    return sum;
  }

  template <class Steps>
  bool make_whole(Steps& steps, std::size_t me, std::uint64_t n) {
    const std::uint64_t step = step_of(n, 0);
    const auto pull = [&](std::size_t first, std::size_t stride) {
      numbers& y = states_[me]->y[n];
      for (std::size_t i = first; i < y.size(); i += stride)
        y[i] = sum_of([&](rank_state& of_rank) { return of_rank.x[n][i]; }, me);
    };
    if (kinds_[n] == kind::direct) return steps.direct(step, [&] { pull(0, 1); });
    if (kinds_[n] == kind::two_shot) {
      return steps.two_shot(
          step, [&] { pull(me, ranks_); },  // each rank has one element in so many
          [&] {
            numbers& y = states_[me]->y[n];
            for (std::size_t i = 0; i < y.size(); ++i)
              if (i % ranks_ != me) y[i] = at(me, static_cast<int>(i % ranks_)).y[n][i];
          });
    }
    const bool is_made = call_library(me, n);
    const auto trusts = [&] {
      access(me);
      return is_made && (!is_broken_ || mutant_ == mutant::blind_trust);
    };
    return steps.verified(step, trusts, [&] { pull(0, 1); });
  }

  // It ends when all have called it, or when the connection is broken, with anything as its result.
  bool call_library(std::size_t me, std::uint64_t n) {
    access(me);
    if (!states_[me]->is_connected) is_broken_ = true;
    if (is_broken_) return false;
    states_[me]->has_entered[n] = true;
    const auto all_have = [&] {
      for (const auto& state : states_)
        if (!state->has_entered[n]) return false;
      return true;
    };
    while (!all_have() && !is_broken_)
      hand_over(me), access(me);
    numbers& y = states_[me]->y[n];
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = is_broken_ ? 13 : wanted_[n][i];
    return true;
  }

  // The program: drops the first operation that has not ended, if one of its parts has failed.
  void drop() {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      bool failed = false, ended = true;
      for (const auto& state : states_) {
        failed = failed || state->parts[n] == rank_state::part::failed;
        ended = ended && state->parts[n] != rank_state::part::waits;
      }
      if (failed && dropped_ < n) {
        is_broken_ = is_broken_ || kinds_[n] == kind::by_library;
        dropped_ = n;
      }
      if (!ended && mutant_ != mutant::dropped_early) return;
    }
  }

  std::string wrong() const {
    for (std::uint64_t n = 1; n <= operations; ++n) {
      bool may_fail = false;
      for (const std::uint64_t at : fails_at_[n])
        may_fail = may_fail || at != ~std::uint64_t{0};
      for (std::size_t r = 0; r < ranks_; ++r) {
        const rank_state& state = *states_[r];
        const bool ended = state.parts[n] == rank_state::part::ended;
        if (!ended && !may_fail) return fmt::format("operation {} failed on rank {}", n, r);
        const numbers& y = is_in_place(kinds_[n]) ? state.x[n] : state.y[n];
        if (ended && y != wanted_[n]) return fmt::format("operation {} on rank {} is wrong", n, r);
      }
    }
    return {};
  }

  std::mt19937_64 random_;
  const mutant mutant_;
  const bool drops_;
  const std::size_t ranks_;
  std::array<kind, operations + 1> kinds_{};
  std::array<std::size_t, operations + 1> chunks_{};
  std::array<numbers, operations + 1> wanted_;
  std::array<std::vector<std::uint64_t>, operations + 1> fails_at_;  // by rank, in accesses
  std::vector<std::unique_ptr<rank_state>> states_;
  std::uint64_t dropped_ = 0;
  bool is_broken_ = false;
  std::uint64_t kills_left_ = 0;

  // One thread runs at a time: the program, or the rank that has its turn.
  turn program_;
  std::vector<std::unique_ptr<turn>> turns_;
  std::uint64_t quantum_ = 0;
  std::size_t left_ = ranks_;
  bool ends_ = false;
  std::array<bool, 4> has_served_{}, dies_{};
  std::array<std::uint64_t, 4> now_{}, accesses_{};
};

TEST(Words, LoseNothingWhateverIsKilled) {
  run_schedules(150,
                [](std::uint64_t seed, bool) { return world(seed, mutant::none, false).run(); });
}

TEST(Words, FailTheOthersWherePartsFail) {
  run_schedules(250,
                [](std::uint64_t seed, bool) { return world(seed, mutant::none, true).run(); });
}

// The schedules are hard enough: each of these is found.
class WordsMutant : public testing::TestWithParam<mutant> {};

TEST_P(WordsMutant, IsFound) {
  std::string wrong;
  for (std::uint64_t seed = 1; seed <= 3000 && wrong.empty(); ++seed)
    wrong = world(seed, GetParam(), true).run();
  EXPECT_NE(wrong, "");
}

INSTANTIATE_TEST_SUITE_P(All, WordsMutant,
                         testing::Values(mutant::no_start_barrier, mutant::no_done_barrier,
                                         mutant::staged_again, mutant::dropped_early,
                                         mutant::no_begin, mutant::not_begun, mutant::blind_trust));

}  // namespace
}  // namespace troupe::model
