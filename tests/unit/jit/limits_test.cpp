// A compiler's misbehaviour in its own process, and the program's errors. The compiler is a fake
// that does as its source says, so this needs no NVRTC.

#include "device/selection/locate.hpp"
#include "jit/client/job.hpp"
#include "under_sanitizers.hpp"
#include "unit/core/no_more_threads.hpp"
#include "unit/jit/jit_sources.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace troupe::jit {
namespace {

using namespace std::chrono_literals;
using testing_jit::cache_folder;

class JitLimits : public testing::Test {
 protected:
  [[nodiscard]] compiler_config config() const {
    return {.cache_folder = (folder_.path() / "kernels").string(), .nvrtc_path = FAKE_NVRTC};
  }
  static error failure_of(compiler& c, std::string text) {
    auto made = c.compile({.text = std::move(text), .architecture = "sm_90"}).get_result();
    EXPECT_FALSE(made);
    return made ? error{} : std::move(made).error();
  }

  cache_folder folder_;
};

TEST_F(JitLimits, TheFakeCompilesWhatItIsNotToldOtherwise) {
  compiler c(config());
  const binary made =
      c.compile({.text = "anything", .names = {"name"}, .architecture = "sm_90"}).get();
  EXPECT_EQ(made.image.size(), 8u);
  EXPECT_EQ(made.log, "log");
  ASSERT_EQ(made.names.size(), 1u);
  EXPECT_EQ(made.names[0].lowered, "name");
}

TEST_F(JitLimits, AreSaidWhenTimeIsOver) {
  compiler_config short_time = config();
  short_time.limits.time = 200ms;
  compiler c(short_time);
  const error why = failure_of(c, "hang");
  EXPECT_EQ(why.code, errc::deadline_exceeded);
  EXPECT_NE(why.message.find("0.2 s (compile_limits::time)"), std::string::npos) << why.message;
  // The next one is as good as any.
  EXPECT_TRUE(c.compile({.text = "fine", .architecture = "sm_90"}).get_result());
}

TEST_F(JitLimits, AreSaidWhenMemoryIsShort) {
  if (test::under_sanitizers) GTEST_SKIP() << "a sanitizer's process cannot be bounded";
  compiler_config little = config();
  little.limits.memory_bytes = std::uint64_t{512} << 20;
  compiler c(little);
  for (const char* how : {"eat and say so", "eat and crash", "eat and throw", "eat and abort"}) {
    const error why = failure_of(c, how);
    EXPECT_EQ(why.code, errc::out_of_memory) << how << ": " << why.message;
    EXPECT_NE(why.message.find("536870912 bytes of memory (compile_limits::memory_bytes)"),
              std::string::npos)
        << why.message;
  }
  EXPECT_TRUE(c.compile({.text = "fine", .architecture = "sm_90"}).get_result());
}

TEST_F(JitLimits, ACrashIsAnErrorThatNamesTheSignal) {
  compiler c(config());
  for (const auto& [how, words] :
       {std::pair("crash", "signal 11"), std::pair("abort", "signal 6"),
        std::pair("overflow", "signal 11"), std::pair("exit", "status 7")}) {
    if (test::under_sanitizers && std::string_view(how) != "exit") continue;  // it tells otherwise
    const error why = failure_of(c, how);
    EXPECT_EQ(why.code, errc::library_error) << how;
    EXPECT_EQ(why.library, "nvrtc");
    EXPECT_NE(why.message.find(words), std::string::npos) << how << ": " << why.message;
  }
  EXPECT_EQ(c.statistics().failed, test::under_sanitizers ? 1u : 4u);
}

// Then the exit status of a child is lost.
TEST_F(JitLimits, ACrashIsNoBreachOfProtocolWhereSigchldIsIgnored) {
  if (test::under_sanitizers) GTEST_SKIP() << "it tells otherwise";
  compiler c(config());
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const error why = failure_of(c, "crash");
  const auto fine = c.compile({.text = "fine", .architecture = "sm_90"}).get_result();
  ::signal(SIGCHLD, before);
  EXPECT_EQ(why.code, errc::library_error) << why.message;
  EXPECT_NE(why.message.find("SIGCHLD"), std::string::npos) << why.message;
  EXPECT_TRUE(fine);
}

TEST_F(JitLimits, WhatFailedIsNotKept) {
  compiler c(config());
  EXPECT_EQ(failure_of(c, "refuse").code, errc::library_error);
  EXPECT_EQ(failure_of(c, "refuse").message, "log");
  EXPECT_EQ(c.statistics().failed, 2u);
}

TEST_F(JitLimits, ADestroyedCompilerEndsWhatItHas) {
  std::vector<future<binary>> all;
  const auto begun = std::chrono::steady_clock::now();
  {
    compiler c(config());
    for (int i = 0; i < 5; ++i)  // more than there are processes
      all.push_back(c.compile({.text = "hang", .architecture = "sm_90"}));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s) << "it waited for their limit";
  for (auto& one : all) {
    const auto made = one.get_result();
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, errc::cancelled);
  }
}

TEST_F(JitLimits, ACompilerMayBeLetGoOfInItsOwnContinuation) {
  auto c = std::make_unique<compiler>(config());
  auto hangs = c->compile({.text = "hang", .architecture = "sm_90"});
  auto done =
      c->compile({.text = "fine", .architecture = "sm_90"}).then([&](const binary&) { c.reset(); });
  ASSERT_TRUE(done.wait_for(30s));
  EXPECT_TRUE(done.get_result());
  EXPECT_EQ(hangs.get_result().error().code, errc::cancelled);
}

TEST_F(JitLimits, ACompilationForWhichNoThreadStartsFails) {
  if (test::under_sanitizers) GTEST_SKIP() << "they start threads their own way";
  compiler c(config());
  {
    const no_thread_starts now;
    EXPECT_EQ(failure_of(c, "fine").code, errc::system_error);
  }
  EXPECT_TRUE(c.compile({.text = "fine", .architecture = "sm_90"}).get_result());
}

TEST_F(JitLimits, RelativePathsBeginWhereTheProgramIsWhenItMakesTheCompiler) {
  const auto home = std::filesystem::current_path();
  compiler_config relative = config();
  relative.nvrtc_path = std::filesystem::relative(relative.nvrtc_path, home).string();
  compiler c(relative);
  std::filesystem::current_path("/");
  const auto made = c.compile({.text = "fine", .architecture = "sm_90"}).get_result();
  std::filesystem::current_path(home);
  EXPECT_TRUE(made) << made.error().to_string();
}

TEST_F(JitLimits, NvrtcThatIsNotThereIsOneClearLine) {
  compiler_config none = config();
  none.nvrtc_path = "/nowhere/libnvrtc.so.13";
  compiler c(none);
  const error why = failure_of(c, "");
  EXPECT_EQ(why.code, errc::library_missing);
  EXPECT_EQ(why.message,
            "NVRTC is not at /nowhere/libnvrtc.so.13, where compiler_config::nvrtc_path says");
  EXPECT_EQ(why.message.find('\n'), std::string::npos);
}

TEST_F(JitLimits, ALibraryThatCannotBeLoadedIsToldInTheLoadersWords) {
  const auto path = folder_.path() / "libnvrtc.so.13";
  std::ofstream(path) << "no library at all";
  compiler_config broken = config();
  broken.nvrtc_path = path.string();
  compiler c(broken);
  const error why = failure_of(c, "");
  EXPECT_EQ(why.code, errc::library_missing);
  EXPECT_NE(why.message.find(path.string()), std::string::npos) << why.message;
}

TEST_F(JitLimits, ACompilerProgramThatIsNotThereIsNamed) {
  compiler_config none = config();
  none.compiler_path = "/nowhere/troupe-compiler";
  compiler c(none);
  const error why = failure_of(c, "");
  EXPECT_EQ(why.code, errc::worker_not_found);
  EXPECT_NE(why.message.find("/nowhere/troupe-compiler"), std::string::npos);
}

TEST_F(JitLimits, AProgramThatIsNoCompilerIsFoundOut) {
  compiler_config other = config();
  other.compiler_path = "/bin/true";
  compiler c(other);
  EXPECT_EQ(failure_of(c, "").code, errc::protocol_violation);
}

TEST_F(JitLimits, AResultOfAnyLengthIsNotTakenIntoMemory) {
  const auto path = folder_.path() / "compiler";
  std::ofstream(path) << "#!/bin/sh\nexec truncate -s 1T /dev/fd/" << job_descriptor << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  compiler_config endless = config();
  endless.compiler_path = path.string();
  compiler c(endless);
  const error why = failure_of(c, "");
  EXPECT_EQ(why.code, errc::protocol_violation);
  EXPECT_NE(why.message.find("1099511627776 bytes"), std::string::npos) << why.message;
}

TEST_F(JitLimits, ACompilerWithoutItsProgramEndsAtOnce) {
  const std::string command = compiler_program() + " " + compiler_argument + " 1";
  // NOLINTNEXTLINE(concurrency-mt-unsafe,bugprone-command-processor)
  const int status = std::system(("exec " + command + " 3</dev/null").c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3) << command;
}

TEST_F(JitLimits, AFolderThatOthersMayEnterIsNoCache) {
  const auto open_folder = folder_.path() / "open";
  std::filesystem::create_directory(open_folder);
  std::filesystem::permissions(open_folder, std::filesystem::perms(0755));
  compiler_config shared = config();
  shared.cache_folder = open_folder.string();
  compiler c(shared);
  const auto used = c.disk_cache();
  ASSERT_FALSE(used);
  EXPECT_EQ(used.error().code, errc::invalid_argument);
  EXPECT_NE(used.error().message.find("rights 0755"), std::string::npos) << used.error().message;
  EXPECT_TRUE(c.compile({.text = "fine", .architecture = "sm_90"}).get_result());
  EXPECT_TRUE(std::filesystem::is_empty(open_folder));
}

}  // namespace
}  // namespace troupe::jit
