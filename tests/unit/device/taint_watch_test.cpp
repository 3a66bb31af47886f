#include "device/completion/taint_watch.hpp"

#include "device/mailbox/operands.hpp"

#include <troupe/graph/run.hpp>
#include <troupe/lane/marker.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace troupe {
namespace {

std::shared_ptr<memory_pool> make_pool(memory_space space) {
  return memory_pool::create({.space = space, .limit_bytes = 1 << 20, .granule_bytes = 4096})
      .value();
}

// Requests are sent in the order of their slots; the ticket is the slot.
class TaintWatch : public testing::Test {
 protected:
  struct use {
    any_tensor what;
    access role;
  };

  any_tensor make() {
    return any_tensor::owned(device_->allocate(4096, 1).value(), dtype::f32, {8, 8});
  }
  static use reads(const any_tensor& t) { return {t, access::read}; }
  static use writes(const any_tensor& t) { return {t, access::write}; }

  std::uint16_t send(std::initializer_list<use> uses) {
    const auto slot = static_cast<std::uint16_t>(sent_++);
    record& r = records_[slot];
    r.type = type_;
    r.taint_changes = watch_.changes();
    outgoing_operands operands(*type_, *device_, *host_, r.operands);
    for (const use& u : uses) {
      any_tensor t = u.what;
      EXPECT_TRUE(operands.locate("x", t, u.role)) << "slot " << slot;
    }
    if (operands.watched()) watch_.announce(slot);
    return slot;
  }
  // As the reactor takes it up; true unless it is refused.
  bool take_up(std::uint16_t slot) {
    record& r = records_[slot];
    r.ticket = slot;
    r.now = record::stage::in_flight;
    if (!r.watched && r.taint_changes == watch_.changes()) return true;
    return !watch_.screen(slot);
  }
  std::uint16_t in_flight(std::initializer_list<use> uses) {
    const std::uint16_t slot = send(uses);
    EXPECT_TRUE(take_up(slot)) << "slot " << slot;
    return slot;
  }
  // As the reactor ends it; true when it is answered as a success.
  bool succeeds(std::uint16_t slot) {
    EXPECT_FALSE(watch_.must_wait(slot)) << "slot " << slot;
    return end(slot, true);
  }
  bool end(std::uint16_t slot, bool success) {
    record& r = records_[slot];
    if (r.watched) {
      if (const auto undefined = watch_.conclude(slot, success)) {
        success = false;
        watch_.taint_outputs(slot, *undefined);
      }
    }
    r.now = record::stage::unseen;
    r.operands.clear();
    return success;
  }
  void fault(std::uint16_t slot) {
    watch_.taint_outputs(slot, {.code = errc::device_fault});
    end(slot, false);
  }
  bool tainted(const any_tensor& t) const {
    return device_->taints().tainted_for({}, *t.buffer().get(), 0, 4096) != nullptr;
  }

  std::shared_ptr<memory_pool> device_ = make_pool(memory_space::device);
  std::shared_ptr<memory_pool> host_ = make_pool(memory_space::host);
  std::array<record, 16> records_;
  const request_type* type_ = &request_type_of<lane::marker>();
  taint_watch watch_{records_, device_, host_};
  std::size_t sent_ = 1;
};

TEST_F(TaintWatch, AnOverwriteDefinesWhenItSucceeds) {
  const any_tensor a = make();
  fault(in_flight({writes(a)}));
  const auto overwrite = in_flight({writes(a)});
  const auto reader = in_flight({reads(a)});
  EXPECT_TRUE(tainted(a)) << "not when it is sent";
  EXPECT_TRUE(watch_.must_wait(reader));
  EXPECT_TRUE(succeeds(overwrite));
  EXPECT_FALSE(tainted(a));
  EXPECT_TRUE(succeeds(reader));
}

TEST_F(TaintWatch, AnOverwriteThatDoesNotRunDefinesNothing) {
  const any_tensor a = make();
  const any_tensor b = make();
  fault(in_flight({writes(a)}));
  const auto overwrite = in_flight({writes(a)});
  const auto copy = in_flight({reads(a), writes(b)});
  const auto reader = in_flight({reads(b)});
  end(overwrite, false);
  EXPECT_TRUE(watch_.take_invalidation());
  EXPECT_TRUE(watch_.screen(copy)) << "nobody is going to overwrite it any more";
  EXPECT_FALSE(succeeds(copy)) << "it ran meanwhile";
  EXPECT_TRUE(tainted(b));
  EXPECT_FALSE(succeeds(reader)) << "what it read comes from the undefined";
}

TEST_F(TaintWatch, OfTwoOverwritesEachServesItsReaders) {
  const any_tensor a = make();
  fault(in_flight({writes(a)}));
  const auto first = in_flight({writes(a)});
  const auto between = in_flight({reads(a)});
  const auto second = in_flight({writes(a)});
  const auto after = in_flight({reads(a)});
  EXPECT_TRUE(watch_.must_wait(second));
  end(first, false);
  EXPECT_FALSE(succeeds(between));
  EXPECT_TRUE(succeeds(second));
  EXPECT_TRUE(succeeds(after));
}

TEST_F(TaintWatch, WhatWasInFlightBeforeTheFaultIsJudgedInOrder) {
  const any_tensor a = make();
  const any_tensor b = make();
  const auto culprit = in_flight({writes(a)});
  const auto copy = in_flight({reads(a), writes(b)});
  const auto overwrite = in_flight({writes(a)});
  const auto reader = in_flight({reads(a)});
  fault(culprit);
  EXPECT_TRUE(watch_.screen(copy));
  EXPECT_FALSE(watch_.screen(overwrite));
  EXPECT_FALSE(watch_.screen(reader));
  end(copy, false);
  EXPECT_TRUE(succeeds(overwrite));
  EXPECT_TRUE(succeeds(reader));
}

TEST_F(TaintWatch, FindsWhoWasCheckedBeforeTheTaintAndSentAfterIt) {
  const any_tensor a = make();
  const auto culprit = in_flight({writes(a)});
  const auto late = send({reads(a)});
  fault(culprit);
  EXPECT_FALSE(take_up(late));
}

TEST_F(TaintWatch, ANewcomerThatReliesOnAnUncertainRequestIsWatched) {
  const any_tensor a = make();
  const any_tensor b = make();
  fault(in_flight({writes(a)}));
  const auto overwrite = in_flight({writes(a)});
  const auto early = send({reads(b)});  // checked before anybody writes b
  const auto copy = in_flight({reads(a), writes(b)});
  records_[early].ticket = copy + 1;  // and published after
  records_[early].now = record::stage::in_flight;
  EXPECT_NE(records_[early].taint_changes, watch_.changes());
  EXPECT_FALSE(watch_.screen(early));
  EXPECT_TRUE(watch_.must_wait(early));
  end(overwrite, false);
  EXPECT_FALSE(succeeds(copy));
  EXPECT_FALSE(succeeds(early));
}

TEST_F(TaintWatch, DoubtEndsWithItsCauseAndIsNotHandedOn) {
  const any_tensor a = make();
  const any_tensor b = make();
  const any_tensor elsewhere = make();
  fault(in_flight({writes(elsewhere)}));
  fault(in_flight({writes(a)}));
  const auto overwrite = in_flight({writes(a)});
  const auto copy = in_flight({reads(a), writes(b)});
  EXPECT_TRUE(records_[in_flight({reads(b)})].watched);
  EXPECT_TRUE(succeeds(overwrite));
  EXPECT_FALSE(records_[copy].watched) << "what it reads is defined now";
  EXPECT_FALSE(records_[in_flight({reads(b)})].watched);
  EXPECT_EQ(b.buffer()->state.load(), 0u);
  EXPECT_TRUE(tainted(elsewhere));
}

TEST_F(TaintWatch, AnEarlierRequestThatRunsAgainReadsWhatWasThereBeforeTheCulprit) {
  const any_tensor a = make();
  const auto reader = in_flight({reads(a)});
  fault(in_flight({writes(a)}));
  EXPECT_FALSE(watch_.screen(reader));
  EXPECT_TRUE(succeeds(reader));
}

TEST_F(TaintWatch, AnUpdateThatIsMissedFailsThoseSentBeforeItsAnswer) {
  const any_tensor a = make();
  const auto missed = in_flight({{a, access::update}});
  const auto before = in_flight({reads(a)});
  watch_.taint_outputs(missed, {.code = errc::cancelled}, {.updated = sent_});
  end(missed, false);
  const auto after = in_flight({reads(a)});
  EXPECT_FALSE(records_[after].watched);
  EXPECT_TRUE(succeeds(after));
  EXPECT_FALSE(succeeds(before));
  EXPECT_FALSE(tainted(a));
  EXPECT_EQ(a.buffer()->state.load(), 0u) << "it lasts no longer than they do";
}

TEST_F(TaintWatch, AnUpdateThatIsMissedAndThatNobodyCountsOnLeavesNoTrace) {
  const any_tensor a = make();
  const auto missed = in_flight({{a, access::update}});
  watch_.taint_outputs(missed, {.code = errc::cancelled}, {.updated = sent_});
  EXPECT_EQ(a.buffer()->state.load(), 0u);
}

TEST_F(TaintWatch, WhatARequestOverwritesFirstItDoesNotRead) {
  type_ = &request_type_of<graph::run>();
  const any_tensor all = make();
  const any_tensor rows = *all.slice(0, 0, 4);
  fault(in_flight({writes(rows)}));
  const auto again = in_flight({writes(rows), reads(all)});
  EXPECT_TRUE(records_[again].watched);
  EXPECT_TRUE(succeeds(again));
  EXPECT_FALSE(tainted(all));
}

TEST_F(TaintWatch, AnUnrelatedRequestIsNotWatched) {
  const any_tensor a = make();
  fault(in_flight({writes(*a.slice(0, 0, 4))}));
  EXPECT_FALSE(records_[in_flight({reads(*a.slice(0, 4, 8))})].watched) << "the other half";
  EXPECT_FALSE(records_[in_flight({reads(make())})].watched);
}

}  // namespace
}  // namespace troupe
