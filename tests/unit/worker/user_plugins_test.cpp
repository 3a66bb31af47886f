// The messages about a user's plugins, and the file of them that is meant.

#include "worker/plugins/user_plugins.hpp"

#include "wire/control.hpp"
#include "worker/plugins/plugin_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace troupe::worker {
namespace {

using paths = std::vector<std::string>;

TEST(UserPlugins, HaveAPartForABackendBesideThem) {
  EXPECT_EQ(plugin_part("/a/b/libmine.so", ""), "/a/b/libmine.so");
  EXPECT_EQ(plugin_part("/a/b/libmine.so", "cuda"), "/a/b/libmine-cuda.so");
  EXPECT_EQ(plugin_part("/a.b/libmine.1.so", "cuda"), "/a.b/libmine.1-cuda.so");
  EXPECT_EQ(plugin_part("/a/mine", "cuda"), "/a/mine-cuda");
}

TEST(UserPlugins, WithoutThatPartAreMissingAndSaySo) {
  operation_table none;
  const paths mine{"/nowhere/libmine.so"};
  const auto loaded = load_user_plugins(mine, "cuda", none);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, errc::library_missing);
  EXPECT_EQ(loaded.error().message,
            "plugin /nowhere/libmine-cuda.so: there is no such file; it would be the part of "
            "/nowhere/libmine.so for cuda, which troupe_add_plugin makes where that "
            "can be compiled");
}

TEST(UserPlugins, MayNotTakeTheNamesOfTroupesOwnLibraries) {
  for (const char* own : {"blas", "fault", "fft", "lane", "memory", "rng"})
    EXPECT_TRUE(is_own_library(own)) << own;
  for (const char* other : {"", "bla", "blas2", "image", "BLAS"})
    EXPECT_FALSE(is_own_library(other)) << other;
}

TEST(UserPlugins, AreOfThisBuildByVersionAndLayout) {
  static constexpr plugin_stamp good = plugin_stamp::of_this_build();
  EXPECT_TRUE(check_stamp(good));
  plugin_stamp other = good;
  other.layout ^= 1;
  EXPECT_EQ(check_stamp(other).error().code, errc::version_mismatch);
  other = good;
  std::ranges::fill(other.version, 'x');  // without an end
  const auto refused = check_stamp(other);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("built for Troupe " + std::string(32, 'x') + " with"),
            std::string::npos)
      << refused.error().message;
}

TEST(UserPlugins, AreListedInAMessageAndReadBack) {
  std::array<char, 16> room;
  for (const paths& some : {paths{}, paths{"/a"}, paths{"/a", "/bcd"}, paths{"/1234567890123/"},
                            paths{"/12345", "/1234567"}}) {
    ASSERT_TRUE(wire::list_paths(some, room));
    EXPECT_EQ(wire::listed_paths(room), some);
  }
  for (const paths& others : {paths{""}, paths{"/a", ""}, paths{std::string("a\0b", 3)},
                              paths{"/12345678901234/"}, paths{"/12345", "/12345678"}}) {
    EXPECT_FALSE(wire::list_paths(others, room));
  }
}

TEST(UserPlugins, OfBytesWithoutAnEndAreReadToTheEnd) {
  std::array<char, 4> room{'a', '\0', 'b', 'c'};
  EXPECT_EQ(wire::listed_paths(room), (paths{"a", "bc"}));
  EXPECT_EQ(wire::listed_paths({}), paths{});
}

}  // namespace
}  // namespace troupe::worker
