// A plugin that cannot be used: the device does not start, and says why.

#include "plugin_device.hpp"

#include <troupe/lane/marker.hpp>
#include <troupe/plugin/executor.hpp>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace troupe::plugin_test {
namespace {

class PluginRefusal : public ::testing::TestWithParam<isolation> {
 protected:
  [[nodiscard]] device_config config(std::vector<std::string> plugins) const {
    return {.isolation = GetParam(),
            .backend = backend_kind::cpu,
            .memory_limit_bytes = std::uint64_t{64} << 20,
            .plugins = std::move(plugins)};
  }
  // For every request, the device reports the plugin's defect, with all of `parts`.
  void expect_refused(const device_config& with, errc code, const std::vector<std::string>& parts) {
    device cpu = system_.device(next_++, with);
    const auto outcome = ended(cpu.ask(lane::marker{}));
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, code) << outcome.error().to_string();
    for (const std::string& part : parts)
      EXPECT_TRUE(contains(outcome.error().message, part)) << outcome.error().message;
    EXPECT_EQ(cpu.health().state, device_state::stopped);
    EXPECT_EQ(cpu.health().restarts, 0u) << "another try finds the same plugin";
  }

  troupe::system system_;
  std::int32_t next_ = 0;
};
INSTANTIATE_TEST_SUITE_P(In, PluginRefusal,
                         ::testing::Values(isolation::process, isolation::thread),
                         [](const auto& where) {
                           return where.param == isolation::process ? "Process" : "Thread";
                         });

TEST_P(PluginRefusal, OfAFileThatIsNotThereNamesIt) {
  expect_refused(config({"/nowhere/libmine.so"}), errc::library_missing,
                 {"plugin /nowhere/libmine.so: there is no such file"});
}

TEST_P(PluginRefusal, OfAFileThatIsNoLibrarySaysWhatTheLoaderSays) {
  const std::string path = ::testing::TempDir() + "libtext-" + std::to_string(::getpid()) + ".so";
  std::ofstream(path)
      << "a text, longer than the header of any library would have to be, to be one";
  expect_refused(config({path}), errc::library_missing, {"plugin " + path, "invalid ELF header"});
  std::remove(path.c_str());
}

TEST_P(PluginRefusal, OfALibraryThatIsNoPluginSaysSo) {
  expect_refused(config({plugin("no_entry")}), errc::library_missing,
                 {plugin("no_entry"), "it is no plugin of Troupe", "troupe_add_plugin"});
}

TEST_P(PluginRefusal, OfOneForAnotherVersionNamesBoth) {
  expect_refused(config({plugin("other_version")}), errc::version_mismatch,
                 {plugin("other_version"), "built for Troupe 0.0.1", "this is Troupe 0.1.0"});
}

TEST_P(PluginRefusal, OfOneWithAnotherLayoutNamesBoth) {
  expect_refused(config({plugin("other_layout")}), errc::version_mismatch,
                 {"layout 0000000000000077", "this is Troupe 0.1.0 with layout "});
}

TEST_P(PluginRefusal, OfATakenNameSaysWhoHasIt) {
  expect_refused(
      config({plugin("trial"), plugin("twin")}), errc::invalid_argument,
      {"plugin " + plugin("twin"), "\"trial.affine\"", "taken, by plugin " + plugin("trial")});
  expect_refused(config({plugin("trial"), plugin("trial")}), errc::invalid_argument,
                 {"by plugin " + plugin("trial")});
}

TEST_P(PluginRefusal, OfANameThatTheProgramHasItselfSaysSo) {
  if (GetParam() == isolation::process) GTEST_SKIP() << "this program is no worker";
  device_config with = config({plugin("twin")});
  with.own_operations = [](operation_table& table) {
    table.add<trial::affine>(
        [](const trial::affine&, lane_context&) -> result<void> { return {}; });
  };
  expect_refused(with, errc::invalid_argument, {"\"trial.affine\"", "by this program"});
}

TEST_P(PluginRefusal, OfTwoExecutorsOfOneRequestNamesIt) {
  expect_refused(config({plugin("twice")}), errc::invalid_argument,
                 {plugin("twice"), "\"trial.total\"", "two executors"});
}

TEST_P(PluginRefusal, OfALibraryOfTroupesOwnNamesIt) {
  expect_refused(config({plugin("usurper")}), errc::invalid_argument,
                 {plugin("usurper"), "\"blas.of_mine\"", "library blas is Troupe's own"});
  // Also where the device was not to have that library.
  device_config few = config({plugin("usurper")});
  few.libraries = {"memory"};
  expect_refused(few, errc::invalid_argument, {"library blas is Troupe's own"});
}

TEST_P(PluginRefusal, OfANameWithoutALibrarySaysTheForm) {
  expect_refused(config({plugin("nameless")}), errc::invalid_argument,
                 {"\"alone\"", "library.operation"});
}

TEST_P(PluginRefusal, OfWhatIsNoPathIsSaidWhenTheDeviceIsMade) {
  const auto refused = [&](std::vector<std::string> plugins) -> error {
    try {
      (void)system_.device(next_++, config(std::move(plugins)));
    } catch (const failure& why) {
      return why.error();
    }
    return {};
  };
  EXPECT_EQ(refused({""}).code, errc::invalid_argument);
  EXPECT_EQ(refused({std::string("/a\0b", 4)}).code, errc::invalid_argument);
  const error many = refused(std::vector<std::string>(100, "/" + std::string(99, 'a') + ".so"));
  EXPECT_EQ(many.code, errc::invalid_argument);
  EXPECT_TRUE(contains(many.message, "must take at most 4096 bytes; the 100 paths take more"))
      << many.message;
}

TEST_P(PluginRefusal, IsNotOfAPathThatBeginsWhereTheProgramIs) {
  namespace fs = std::filesystem;
  const fs::path before = fs::current_path();
  fs::current_path(fs::path(plugin("trial")).parent_path());
  device cpu = system_.device(next_++, config({"libtrial.so"}));
  fs::current_path(before);
  EXPECT_TRUE(cpu.wait_until_ready());
}

}  // namespace
}  // namespace troupe::plugin_test
