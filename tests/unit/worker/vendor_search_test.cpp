// The search for vendor libraries that the loader does not find. One process: a library loaded once
// stays loaded.

#include "worker/plugins/vendor_search.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace troupe::worker {
namespace {

namespace fs = std::filesystem;

class VendorSearch : public testing::Test {
 protected:
  VendorSearch() { fs::remove_all(folder_); }
  ~VendorSearch() override { fs::remove_all(folder_); }
  std::string made(const fs::path& path) const {
    fs::create_directories(folder_ / path);
    return fs::canonical(folder_ / path).string();
  }

  const fs::path folder_ =
      fs::path(testing::TempDir()) / ("troupe-vendor-" + std::to_string(::getpid()));
};

TEST_F(VendorSearch, ReadsWhatTheLoaderHasNotFound) {
  EXPECT_EQ(file_not_found("libcudnn.so.9: cannot open shared object file: No such file or "
                           "directory"),
            "libcudnn.so.9");
  EXPECT_EQ(file_not_found("/a/libb.so: cannot open shared object file: No such file"), "");
  EXPECT_EQ(file_not_found("libcudnn.so.9: undefined symbol: x"), "");
  EXPECT_EQ(file_not_found(""), "");
}

TEST_F(VendorSearch, GoesThroughToolkitsAndPythonsPackages) {
  const std::string toolkit = made("toolkit/targets/x86_64-linux/lib");
  const std::string wheel = made("environment/lib/python3.11/site-packages/nvidia/cudnn/lib");
  const std::string tensor = made("environment/lib/python3.11/site-packages/cutensor/lib");
  const std::string beside = made("app/lib/python3.12/site-packages/nvidia/cu13/lib");
  ::setenv("CUDA_HOME", (folder_ / "toolkit").c_str(), 1);        // NOLINT(concurrency-mt-unsafe)
  ::setenv("VIRTUAL_ENV", (folder_ / "environment").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto folders = vendor_folders(made("app/lib/python3.12/site-packages/troupe/lib/troupe") +
                                      "/libtroupe-cuda.so")
                           .folders;
  ::unsetenv("CUDA_HOME");    // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("VIRTUAL_ENV");  // NOLINT(concurrency-mt-unsafe)
  const auto place = [&](const std::string& of) { return std::ranges::find(folders, of); };
  for (const std::string& one : {toolkit, wheel, tensor, beside})
    EXPECT_NE(place(one), folders.end()) << one;
  EXPECT_LT(place(toolkit), place(wheel));
  auto sorted = folders;
  std::ranges::sort(sorted);
  EXPECT_EQ(std::ranges::adjacent_find(sorted), sorted.end()) << "each once";
}

TEST_F(VendorSearch, RefusesRelativePathsAndWhatAnyUserMayWrite) {
  const std::string toolkit = made("toolkit/lib");
  const std::string below = made("environment/lib/python3.11/site-packages/nvidia/cudnn/lib");
  fs::permissions(folder_ / "environment", fs::perms::all);
  const std::string relative = fs::proximate(folder_ / "toolkit").string();
  ::setenv("CUDA_HOME", relative.c_str(), 1);                     // NOLINT(concurrency-mt-unsafe)
  ::setenv("VIRTUAL_ENV", (folder_ / "environment").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const vendor_places places = vendor_folders("");
  const auto said = open_with_vendor_libraries(VENDOR_PLUGIN, {.refused = places.refused});
  ::unsetenv("CUDA_HOME");    // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("VIRTUAL_ENV");  // NOLINT(concurrency-mt-unsafe)
  for (const std::string& one : {toolkit, below})
    EXPECT_EQ(std::ranges::count(places.folders, one), 0) << one;
  ASSERT_FALSE(said);
  EXPECT_NE(
      said.error().message.find("it was not looked for in CUDA_HOME=" + relative +
                                " (no absolute path), " + below + " (any user may write there)"),
      std::string::npos)
      << said.error().message;
}

/// The folders searched by this program if it is called `name` and runs in `folder`: by itself, or
/// by a child of it, which is a worker or is none.
std::string looked_in(const fs::path& folder, const std::string& name, const std::string& who) {
  const std::string command = "cd '" + folder.string() + "' && TROUPE_WHO=" + who + " exec -a '" +
                              name + "' '" + fs::canonical("/proc/self/exe").string() +
                              "' --gtest_filter=VendorSearch.Prints*";
  std::FILE* const out = ::popen(("exec bash -c \"" + command + "\"").c_str(), "r");
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out))
    text += static_cast<char>(c);
  EXPECT_EQ(::pclose(out), 0) << text;
  return text;
}

// For `looked_in`, in the program that it starts.
TEST_F(VendorSearch, PrintsItsFoldersWhereItIsStartedForThat) {
  const char* const said = std::getenv("TROUPE_WHO");  // NOLINT(concurrency-mt-unsafe)
  const std::string who = said != nullptr ? said : "";
  if (who == "worker" || who == "child") {
    ::setenv("TROUPE_WHO", (who + "_itself").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    const std::string self = fs::canonical("/proc/self/exe").string();
    // NOLINTNEXTLINE(concurrency-mt-unsafe,bugprone-command-processor)
    ASSERT_EQ(std::system(("exec '" + self + "' --gtest_filter=VendorSearch.Prints*").c_str()), 0);
  } else if (!who.empty()) {
    if (who == "worker_itself") look_beside_parent();
    for (const std::string& folder : vendor_folders("").folders)
      std::printf("looked in %s\n", folder.c_str());
  }
}

TEST_F(VendorSearch, TakesThePythonOfAWorkersParentAndNoOthers) {
  const std::string wheel = made("environment/lib/python3.11/site-packages/nvidia/cudnn/lib");
  const std::string python = made("environment/bin") + "/python3";
  const std::string data = made("data");
  const std::string beside = made("data/environment/lib/python3.11/site-packages/nvidia/cudnn/lib");
  const auto looks_in = [&](const std::string& name, const std::string& who,
                            const std::string& one) {
    return looked_in(data, name, who).find("looked in " + one + "\n") != std::string::npos;
  };
  EXPECT_TRUE(looks_in(python, "itself", wheel));
  EXPECT_TRUE(looks_in(python, "worker", wheel));
  EXPECT_FALSE(looks_in(python, "child", wheel));
  for (const char* const who : {"itself", "worker"})
    EXPECT_FALSE(looks_in("environment/bin/python3", who, beside)) << who;
}

TEST_F(VendorSearch, OpensALibraryThatAPluginUsesWhereItIsThere) {
  const auto missing = open_vendor_library("libtroupe_has_no_such.so.7");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::library_missing);
  EXPECT_NE(missing.error().message.find("libtroupe_has_no_such.so.7: cannot open"),
            std::string::npos)
      << missing.error().message;
  EXPECT_NE(missing.error().message.find("it is in none of "), std::string::npos)
      << missing.error().message;

  const auto known = open_vendor_library("libm.so.6");
  ASSERT_TRUE(known) << known.error().message;
  EXPECT_NE(::dlsym(*known, "cos"), nullptr);

  const std::string wheel = made("environment/lib/python3.11/site-packages/nvidia/other/lib");
  fs::create_symlink(OTHER_VENDOR, wheel + "/libtroupe_has_no_such.so.7");
  ::setenv("VIRTUAL_ENV", (folder_ / "environment").c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto found = open_vendor_library("libtroupe_has_no_such.so.7");
  ::unsetenv("VIRTUAL_ENV");  // NOLINT(concurrency-mt-unsafe)
  EXPECT_TRUE(found) << found.error().message;
}

TEST_F(VendorSearch, LoadsWhatAPluginNeedsAndThenThePlugin) {
  const std::string empty = made("empty");
  const std::string bad = made("bad");
  std::ofstream(bad + "/libfake_vendor.so.13") << "no library";
  const std::string good = made("good");
  fs::create_symlink(FAKE_VENDOR, good + "/libfake_vendor.so.13");

  const auto refused = open_with_vendor_libraries(VENDOR_PLUGIN, {.folders = {empty}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::library_missing);
  EXPECT_NE(refused.error().message.find("libfake_vendor.so.13: cannot open"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("it is in none of " + empty), std::string::npos)
      << refused.error().message;

  const auto useless = open_with_vendor_libraries(VENDOR_PLUGIN, {.folders = {empty, bad}});
  ASSERT_FALSE(useless);
  EXPECT_NE(useless.error().message.find("the files found cannot be used: " + bad +
                                         "/libfake_vendor.so.13: "),
            std::string::npos)
      << useless.error().message;

  const auto opened = open_with_vendor_libraries(VENDOR_PLUGIN, {.folders = {empty, bad, good}});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(opened->find<void()>("troupe_backend_operations"), nullptr);
}

TEST_F(VendorSearch, LeavesAnotherFailureAsItIs) {
  const auto refused =
      open_with_vendor_libraries("/nowhere/libplugin.so", {.folders = {made("empty")}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("none of"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace troupe::worker
