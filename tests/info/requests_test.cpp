#include "run_program.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace {

using troupe::test::has;
using troupe::test::outcome;

outcome requests(const std::string& arguments) {
  return troupe::test::run_program(TROUPE_PROGRAM " requests " + arguments);
}

TEST(Requests, AreListedByLibrary) {
  const outcome all = requests("");
  EXPECT_EQ(all.status, 0);
  EXPECT_TRUE(has(all, "blas.gemm ")) << all.text;
  EXPECT_TRUE(has(all, "fft.c2c ")) << all.text;
  const outcome some = requests("fft");
  EXPECT_EQ(some.status, 0);
  EXPECT_TRUE(has(some, "fft.c2c ")) << some.text;
  EXPECT_FALSE(has(some, "blas.")) << some.text;
}

TEST(Requests, ShowAllThatOneTakes) {
  const outcome got = requests("blas.gemm");
  EXPECT_EQ(got.status, 0);
  for (const char* line :
       {"| `a` | reads | [m, k] | f32, f64, c64, c128, f16, bf16, i8 | | left factor |",
        "| `c` | updates where beta is not 0, else writes | [m, n] |", "only where a is f32 or c64",
        "i8 i8 i32"}) {
    EXPECT_TRUE(has(got, line)) << line << " in " << got.text;
  }
  const outcome json = requests("--json blas.gemm");
  EXPECT_TRUE(has(json, R"("role_where": ["beta is not 0"], "role_otherwise": "writes")"))
      << json.text;
}

TEST(Requests, SayWhichLibrariesThereAreWhereANameIsUnknown) {
  const outcome got = requests("blas.gem");
  EXPECT_EQ(got.status, 2);
  EXPECT_TRUE(has(got, "blas.gem")) << got.text;
  EXPECT_TRUE(has(got, "libraries: blas, blaslt")) << got.text;
}

TEST(Requests, AreThePageInTheDocuments) {
  std::ifstream file(REQUESTS_PAGE);
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_EQ(requests("--index").text, page)
      << "make it anew: troupe requests --index > docs/requests.md";
}

}  // namespace
