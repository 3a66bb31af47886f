// Where vendor libraries are looked for that the loader does not find. One process: what is loaded
// once, stays.

#include "worker/plugins/vendor_search.hpp"

#include <troupe/plugin/vendor_library.hpp>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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
                                      "/libtroupe-cuda.so");
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

  const auto refused = open_with_vendor_libraries(VENDOR_PLUGIN, {empty});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::library_missing);
  EXPECT_NE(refused.error().message.find("libfake_vendor.so.13: cannot open"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("it is in none of " + empty), std::string::npos)
      << refused.error().message;

  const auto useless = open_with_vendor_libraries(VENDOR_PLUGIN, {empty, bad});
  ASSERT_FALSE(useless);
  EXPECT_NE(useless.error().message.find("what was found is of no use: " + bad +
                                         "/libfake_vendor.so.13: "),
            std::string::npos)
      << useless.error().message;

  const auto opened = open_with_vendor_libraries(VENDOR_PLUGIN, {empty, bad, good});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(opened->find<void()>("troupe_backend_operations"), nullptr);
}

TEST_F(VendorSearch, LeavesAnotherFailureAsItIs) {
  const auto refused = open_with_vendor_libraries("/nowhere/libplugin.so", {made("empty")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("none of"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace troupe::worker
