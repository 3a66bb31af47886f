// Findings of the history checker, and cases without findings.

#include "ledger.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace troupe::gpu_test {
namespace {

constexpr std::size_t counter = 0;
constexpr std::size_t cell = 1;
constexpr std::size_t other = 2;

class Ledger : public testing::Test {
 protected:
  struct ended {
    action what;
    std::size_t cell;
    double operand = 0;
    double got = 0;
    errc code{};
    int ends = 1;
    std::size_t source = 0;
  };
  // Judges these requests, in this order.
  findings judge(std::initializer_list<ended> requests) {
    findings found;
    for (const ended& r : requests) {
      entry one[1];
      one[0].what = r.what;
      one[0].cell = static_cast<std::uint16_t>(r.cell);
      one[0].source = static_cast<std::uint16_t>(r.source);
      one[0].operand = r.operand;
      one[0].got = r.got;
      one[0].code = r.code;
      one[0].ends = static_cast<std::uint8_t>(r.ends);
      ledger_.judge(one, found);
    }
    return found;
  }

 private:
  ledger ledger_{3, 1};
};

using enum action;

TEST_F(Ledger, FindsNothingInARightHistory) {
  const findings found = judge({{fill, cell, 5},
                                {add, cell, 2},
                                {sum, cell, 0, 7},
                                {.what = copy, .cell = other, .source = cell},
                                {add, cell, 1},
                                {read, other, 0, 7},
                                {read, cell, 0, 8}});
  EXPECT_TRUE(found.clean()) << found.first;
  EXPECT_EQ(found.succeeded, 7u);
}

TEST_F(Ledger, FindsWorkDoneTwiceAndWorkNotDone) {
  EXPECT_EQ(judge({{add, counter, 1}, {sum, counter, 0, 2}}).duplicated, 1u);
  EXPECT_EQ(judge({{add, counter, 1}, {sum, counter, 0, 2}}).lost, 1u);
  EXPECT_EQ(judge({{fill, cell, 3}, {sum, cell, 0, 4}}).wrong, 1u);
}

TEST_F(Ledger, FindsElementsThatDiffer) {
  EXPECT_EQ(judge({{read, cell, 0, std::numeric_limits<double>::quiet_NaN()}}).wrong, 1u);
}

TEST_F(Ledger, FindsRequestsThatNeverEndedOrEndedTwice) {
  EXPECT_EQ(judge({{.what = fill, .cell = cell, .ends = 0}}).lost, 1u);
  EXPECT_EQ(judge({{.what = fill, .cell = cell, .ends = 2}}).duplicated, 1u);
}

TEST_F(Ledger, TakesARefusalOfWhatAnAbortedUpdateLeftUndefined) {
  const findings found = judge({{.what = add, .cell = cell, .operand = 1, .code = errc::aborted},
                                {.what = sum, .cell = cell, .code = errc::tainted_buffer},
                                {fill, cell, 4},
                                {sum, cell, 0, 4}});
  EXPECT_TRUE(found.clean()) << found.first;
  EXPECT_EQ(found.aborted, 1u);
  EXPECT_EQ(found.tainted, 1u);
}

TEST_F(Ledger, FindsASuccessOnWhatAFaultLeftUndefined) {
  for (const action on : {sum, read, add}) {
    EXPECT_EQ(judge({{fill, cell, 0},
                     {.what = add, .cell = cell, .operand = 1, .code = errc::aborted},
                     {on, cell, 0, 0}})
                  .wrong,
              1u);
  }
  EXPECT_EQ(judge({{.what = fill, .cell = cell, .code = errc::device_fault},
                   {.what = copy, .cell = other, .source = cell}})
                .wrong,
            1u);
}

TEST_F(Ledger, FindsARefusalWithoutAReason) {
  EXPECT_EQ(judge({{.what = sum, .cell = cell, .code = errc::tainted_buffer}}).unexpected, 1u);
  EXPECT_EQ(judge({{fill, other, 1}, {.what = fill, .cell = other, .code = errc::tainted_buffer}})
                .unexpected,
            1u);
  // Overwritten, it is defined again.
  EXPECT_EQ(judge({{.what = add, .cell = other, .code = errc::aborted},
                   {fill, other, 2},
                   {.what = sum, .cell = other, .code = errc::tainted_buffer}})
                .unexpected,
            1u);
}

TEST_F(Ledger, FindsAnAbortedRequestThatCouldHaveBeenRunAgain) {
  EXPECT_EQ(judge({{.what = sum, .cell = cell, .code = errc::aborted}}).unexpected, 1u);
  EXPECT_EQ(judge({{.what = fill, .cell = cell, .code = errc::aborted}}).unexpected, 1u);
}

TEST_F(Ledger, LeavesOpenWhetherARefusedCopyHasTouchedItsTarget) {
  const std::initializer_list<ended> lost = {
      {fill, other, 9},
      {.what = add, .cell = cell, .code = errc::aborted},
      {.what = copy, .cell = other, .code = errc::tainted_buffer, .source = cell}};
  EXPECT_TRUE(judge(lost).clean());
  EXPECT_TRUE(judge({{sum, other, 0, 9}}).clean());
  EXPECT_TRUE(judge(lost).clean());
  EXPECT_TRUE(judge({{.what = sum, .cell = other, .code = errc::tainted_buffer}}).clean());
}

TEST_F(Ledger, CountsThoseThatTookTheBlame) {
  const findings found = judge({{.what = add, .cell = cell, .code = errc::device_fault},
                                {fill, cell, 1},
                                {.what = sum, .cell = cell, .code = errc::poisonous},
                                {sum, cell, 0, 1}});
  EXPECT_TRUE(found.clean()) << found.first;
  EXPECT_EQ(found.blamed, 2u);
}

}  // namespace
}  // namespace troupe::gpu_test
