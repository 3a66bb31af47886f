#include "run_program.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using troupe::test::has;
using troupe::test::outcome;

outcome troupe_says(const std::string& arguments) {
  return troupe::test::run_program(TROUPE_PROGRAM " " + arguments);
}

TEST(Commands, HelpAndVersionEndWell) {
  for (const char* asked : {"help", "--help", "-h", "info --help", "requests blas.gemm -h"}) {
    const outcome got = troupe_says(asked);
    EXPECT_EQ(got.status, 0) << asked;
    for (const char* command : {"\n  info ", "\n  requests ", "\n  demo ", "\n  version "})
      EXPECT_TRUE(has(got, command)) << asked << got.text;
  }
  const outcome version = troupe_says("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_EQ(version.text, troupe_says("version").text);
}

TEST(Commands, ThatDoNotExistAreRefusedWithACloseOne) {
  const auto refuses = [](const std::string& arguments, const std::string& why) {
    const outcome got = troupe_says(arguments);
    EXPECT_EQ(got.status, 2) << arguments;
    EXPECT_TRUE(has(got, why)) << got.text;
  };
  refuses("", "usage: troupe COMMAND");
  refuses("inof", "there is no command inof; did you mean info?");
  refuses("--no-such-option", "there is no command --no-such-option");
  refuses("info --json now", "info takes no more words: now");
  refuses("xyzzy", "there is no command xyzzy\n");
  refuses("info --jsn", "info has no option --jsn; did you mean --json?");
  refuses("version please", "version takes no more words: please");
  refuses("requests blas.gem", "blas.gem; did you mean blas.gemm?");
}

TEST(Commands, EndQuietlyWhenTheirReaderHasEnough) {
  // As under Python, which ignores the signal of a closed pipe.
  const outcome got = troupe::test::run_program("bash -c 'trap \"\" PIPE; " TROUPE_PROGRAM
                                                " requests | head -1; echo ${PIPESTATUS[0]}'");
  EXPECT_FALSE(has(got, "abort")) << got.text;
  EXPECT_FALSE(has(got, "terminate")) << got.text;
  EXPECT_TRUE(has(got, "\n141\n") || has(got, "\n0\n")) << got.text;
}

TEST(Commands, TheDemoLosesNothing) {
  const outcome got = troupe::test::run_program("env TROUPE_BACKEND=cpu " TROUPE_PROGRAM " demo");
  EXPECT_EQ(got.status, 0) << got.text;
  EXPECT_TRUE(has(got, "under 50 products: 50 right, 0 wrong, 0 lost\ngeneration 4;")) << got.text;
}

}  // namespace
