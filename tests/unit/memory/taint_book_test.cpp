#include "memory/taint_book.hpp"

#include "memory/memory_pool.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe {
namespace {

constexpr std::uint32_t stripes = 77;  // some pattern with gaps

std::string name_of(const taint_cause& culprit) { return culprit ? culprit->name : ""; }

class TaintBook : public testing::Test {
 protected:
  [[nodiscard]] static taint_cause named(const std::string& name) {
    return std::make_shared<failed_writer>(failed_writer{.name = name, .why = {}});
  }
  [[nodiscard]] bool flagged() const { return (buffer_.state.load() & buffer_watched) != 0; }
  [[nodiscard]] std::string culprit(std::uint64_t begin, std::uint64_t end) const {
    return name_of(book_.tainted_for(here(99, taint_book::unsent), buffer_, begin, end));
  }
  [[nodiscard]] std::string undefined_for(std::uint64_t ticket, std::uint64_t begin,
                                          std::uint64_t end) const {
    return name_of(
        book_.undefined_for({.device = &here_, .slot = 99, .ticket = ticket}, buffer_, begin, end));
  }
  [[nodiscard]] bool doubtful_for(std::uint64_t ticket) const {
    return book_.doubtful_for({.device = &here_, .slot = 99, .ticket = ticket}, buffer_, 0, 1000);
  }
  void taint(const footprint& where, const std::string& culprit, std::uint64_t ticket = 1) {
    book_.taint(buffer_, where, here(98, ticket), named(culprit));
  }
  void define(const footprint& where, std::uint64_t ticket = 2) {
    book_.define(buffer_, where, here(97, ticket));
  }
  [[nodiscard]] taint_book::request here(std::uint16_t slot, std::uint64_t ticket) const {
    return {.device = &here_, .slot = slot, .ticket = ticket};
  }

  char here_ = 0;
  detail::buffer buffer_;
  taint_book book_;
};

TEST_F(TaintBook, CoversItsBytesAndNoOthers) {
  taint({100, 200}, "culprit");
  EXPECT_TRUE(flagged());
  EXPECT_EQ(culprit(0, 100), "");
  EXPECT_EQ(culprit(200, 300), "");
  EXPECT_EQ(culprit(199, 200), "culprit");
  EXPECT_EQ(culprit(0, 1000), "culprit");
}

TEST_F(TaintBook, AnOverwriteInFlightBeforeTheFaultIsToDefineNothingOfIt) {
  book_.expect(buffer_, here(1, 3), {0, 100}, {.overwrites = true, .uncertain = false});
  taint({0, 100}, "culprit", 4);
  EXPECT_EQ(undefined_for(5, 0, 100), "culprit");
  book_.expect(buffer_, here(2, 5), {0, 100}, {.overwrites = true, .uncertain = false});
  EXPECT_EQ(undefined_for(6, 0, 100), "");
}

TEST_F(TaintBook, LeavesWhatLiesBetweenTwoPlacesGood) {
  taint({0, 100}, "one");
  taint({900, 1000}, "two");
  EXPECT_EQ(culprit(100, 900), "");
  EXPECT_EQ(culprit(50, 60), "one");
  EXPECT_EQ(culprit(950, 960), "two");
}

TEST_F(TaintBook, IsDefinedPieceByPiece) {
  taint({100, 200}, "culprit");
  define({100, 130});
  EXPECT_EQ(culprit(100, 130), "");
  EXPECT_EQ(culprit(130, 131), "culprit");
  define({140, 150});
  EXPECT_EQ(culprit(140, 150), "");
  EXPECT_EQ(culprit(130, 140), "culprit");
  EXPECT_EQ(culprit(150, 200), "culprit");
  define({0, 141});
  EXPECT_TRUE(flagged());
  define({149, 1000});
  EXPECT_EQ(culprit(0, 1000), "");
  EXPECT_FALSE(flagged());
}

TEST_F(TaintBook, AWriteWithGapsDefinesWhatWasTaintedInTheSamePattern) {
  taint({100, 200, stripes}, "culprit");
  define({100, 200, stripes + 1});
  define({100, 199, stripes});
  EXPECT_EQ(culprit(100, 200), "culprit");
  define({100, 200, stripes});
  EXPECT_EQ(culprit(100, 200), "");
}

TEST_F(TaintBook, WhatIsLeftOfAPatternIsDefinedByAWriteWithoutGapsOnly) {
  taint({100, 200, stripes}, "culprit");
  define({0, 150});
  define({150, 200, stripes});
  EXPECT_EQ(culprit(150, 200), "culprit");
  define({150, 200});
  EXPECT_EQ(culprit(0, 1000), "");
}

TEST_F(TaintBook, AWriteWithGapsLeavesAnUnbrokenTaint) {
  taint({100, 200}, "culprit");
  define({100, 200, stripes});
  EXPECT_EQ(culprit(100, 200), "culprit");
}

TEST_F(TaintBook, WhatALaterRequestLeftUndefinedDoesNotConcernAnEarlierOne) {
  taint({0, 100}, "culprit", 10);
  EXPECT_EQ(book_.tainted_for(here(1, 9), buffer_, 0, 100), nullptr);
  EXPECT_EQ(undefined_for(9, 0, 100), "");
  EXPECT_FALSE(doubtful_for(9));
  EXPECT_EQ(undefined_for(11, 0, 100), "culprit");
  define({0, 100}, 9);
  EXPECT_EQ(undefined_for(11, 0, 100), "culprit") << "it was written before, run again";
  taint({0, 100}, "earlier", 5);
  EXPECT_EQ(undefined_for(9, 0, 100), "earlier") << "is not covered by the later one";
}

TEST_F(TaintBook, AnOverwriteInFlightDefinesTheTaintBeforeItAndNotTheOneAfterIt) {
  taint({0, 100}, "before", 1);
  book_.expect(buffer_, here(5, 2), {0, 100}, {.overwrites = true});
  taint({0, 100}, "after", 3);
  book_.expect_no_more(buffer_, here(5, 2));
  define({0, 100}, 2);
  EXPECT_EQ(culprit(0, 100), "after");
  define({0, 100}, 4);
  EXPECT_FALSE(flagged());
}

TEST_F(TaintBook, CountsWhatEarlierRequestsOfTheDeviceAreToOverwriteAsDefined) {
  taint({0, 100}, "culprit");
  book_.expect(buffer_, here(1, 10), {0, 60}, {.overwrites = true});
  book_.expect(buffer_, here(2, 20), {60, 100}, {.overwrites = true});
  EXPECT_EQ(undefined_for(5, 0, 60), "culprit") << "sent before the first";
  EXPECT_EQ(undefined_for(15, 0, 60), "");
  EXPECT_EQ(undefined_for(15, 0, 100), "culprit");
  EXPECT_EQ(undefined_for(25, 0, 100), "");
  EXPECT_EQ(undefined_for(taint_book::unsent, 0, 100), "");
  const char elsewhere = 0;
  EXPECT_EQ(name_of(book_.undefined_for({.device = &elsewhere}, buffer_, 0, 60)), "culprit")
      << "devices do not wait for each other";
  EXPECT_EQ(culprit(0, 100), "culprit") << "nothing has been written yet";
  book_.expect_no_more(buffer_, here(1, 10));
  EXPECT_EQ(undefined_for(25, 0, 100), "culprit");
}

TEST_F(TaintBook, ARequestWithoutASlotComesAfterThatInEverySlot) {
  taint({0, 100}, "culprit");
  book_.expect(buffer_, here(0, 10), {0, 100}, {.overwrites = true});
  EXPECT_EQ(book_.undefined_for({.device = &here_}, buffer_, 0, 100), nullptr);
}

TEST_F(TaintBook, AnUpdateOverwritesNothing) {
  taint({0, 100}, "culprit");
  book_.expect(buffer_, here(1, 10), {0, 100}, {.overwrites = false});
  EXPECT_EQ(undefined_for(20, 0, 100), "culprit");
}

TEST_F(TaintBook, ARequestDoesNotPrecedeItself) {
  taint({0, 100}, "culprit");
  book_.expect(buffer_, here(1, taint_book::unsent), {0, 100}, {.overwrites = true});
  EXPECT_EQ(name_of(book_.undefined_for(here(1, taint_book::unsent), buffer_, 0, 100)), "culprit");
}

TEST_F(TaintBook, DoubtsWhatAnUncertainRequestWrites) {
  book_.expect(buffer_, here(1, 10), {0, 100}, {.overwrites = true, .uncertain = true});
  EXPECT_TRUE(flagged());
  EXPECT_TRUE(doubtful_for(20));
  EXPECT_FALSE(doubtful_for(5));
  EXPECT_EQ(undefined_for(20, 0, 100), "") << "only doubtful";
  book_.expect(buffer_, here(1, 10), {0, 100}, {.overwrites = true, .uncertain = false});
  EXPECT_FALSE(doubtful_for(20)) << "the later word counts";
  book_.expect_no_more(buffer_, here(1, 10));
  EXPECT_FALSE(flagged());
}

TEST_F(TaintBook, ChangesWheneverMoreIsToBeWatched) {
  const std::uint32_t first = book_.changes();
  taint({0, 100}, "culprit");
  const std::uint32_t second = book_.changes();
  EXPECT_NE(second, first);
  book_.expect(buffer_, here(1, 10), {0, 100}, {.overwrites = true});
  EXPECT_NE(book_.changes(), second);
}

}  // namespace
}  // namespace troupe
