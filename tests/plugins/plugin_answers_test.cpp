// A plugin's operations are operations like any other.

#include "plugin_device.hpp"

#include <troupe/fault/spin_until.hpp>
#include <troupe/memory/fill.hpp>
#include <troupe/plugin/executor.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe::plugin_test {
namespace {

using namespace std::chrono_literals;

class Plugin : public PluginDevice {};
INSTANTIATE_TEST_SUITE_P(On, Plugin, ::testing::Values(backend_kind::cpu, backend_kind::cuda),
                         backend_name);

std::vector<float> numbers(std::int64_t n) {
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    values.push_back(static_cast<float>(i % 17) / 4 - 2);
  return values;
}

// Every number here is a multiple of 1/8 and small, so the reference is exact.
void expect_affine(const std::vector<float>& x, const std::vector<float>& y, double a, double b) {
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(static_cast<double>(y[i]), a * static_cast<double>(x[i]) + b) << i;
}

TEST_P(Plugin, AnswersWhatItsExecutorComputes) {
  device gpu = ready();
  for (const std::int64_t n : {0, 1, 7, 1000, 4097}) {
    const std::vector<float> values = numbers(n);
    auto x = vector_of(gpu, values);
    auto y = gpu.tensor<float>({n}).value();
    ASSERT_TRUE(ended(gpu.ask(trial::affine{.x = x, .y = y, .a = 2, .b = 0.5})));
    expect_affine(values, values_of(gpu, y), 2, 0.5);
    double sum = 0;
    for (const float value : values)
      sum += static_cast<double>(value);
    EXPECT_EQ(gpu.ask(trial::total{.x = x}).get(), sum);
  }
}

TEST_P(Plugin, TakesStrides) {
  device gpu = ready();
  const std::vector<float> values = numbers(60);
  auto x = vector_of(gpu, values).slice(0, 1, 60, 3).value();
  auto y = gpu.tensor<float>({2, 40}, initial::zero).value();
  auto row = y.slice(0, 1, 2).value().as_strided({20}, std::vector<std::int64_t>{2}).value();
  ASSERT_TRUE(ended(gpu.ask(trial::affine{.x = x, .y = row, .a = -1, .b = 1})));
  const std::vector<float> got = values_of(gpu, y);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(got[40 + 2 * i], 1 - values[1 + 3 * i]);
    EXPECT_EQ(got[41 + 2 * i], 0.0F) << "between its elements nothing is written";
  }
}

TEST_P(Plugin, RefusesWhatItsDescriptionRefusesBeforeAnythingIsQueued) {
  device gpu = ready();
  auto x = gpu.tensor<float>({3}).value();
  auto y = gpu.tensor<float>({4}).value();
  const std::uint64_t sent = gpu.statistics().sent;
  const auto refused = ended(gpu.ask(trial::affine{.x = x, .y = y}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::shape_mismatch);
  EXPECT_TRUE(contains(refused.error().message, "y must have 3 elements (n) because x is [3]"))
      << refused.error().message;
  EXPECT_TRUE(contains(refused.error().request, "trial.affine")) << refused.error().request;
  EXPECT_EQ(gpu.statistics().sent, sent + 1);
  EXPECT_EQ(gpu.statistics().in_flight, 0u);
  EXPECT_EQ(ended(gpu.ask(trial::affine{.x = x, .y = x})).error().code, errc::aliasing);
}

TEST_P(Plugin, IsOrderedWithBuiltInOperationsByWhatEachReadsAndWrites) {
  device gpu = ready();
  shared_flag first(gpu);
  shared_flag second(gpu);
  auto x = gpu.tensor<float>({1000}, initial::zero).value();
  auto y = gpu.tensor<float>({1000}, initial::zero).value();
  // In three lanes, none of which waits for another but by its operands.
  auto written = gpu.ask(fault::spin_until{.flag = first.tensor(), .output = x, .value = 3});
  auto read = gpu.ask(trial::affine{.x = x, .y = y, .until = second.tensor(), .a = 2, .b = 1});
  auto overwritten = gpu.ask(memory::fill{.to = x, .value = 5});
  EXPECT_FALSE(read.wait_for(20ms));
  first.set();
  EXPECT_TRUE(ended(std::move(written)));
  EXPECT_FALSE(overwritten.wait_for(20ms)) << "it would write what the plugin still reads";
  second.set();
  ASSERT_TRUE(ended(std::move(read)));
  ASSERT_TRUE(ended(std::move(overwritten)));
  EXPECT_EQ(values_of(gpu, y), std::vector<float>(1000, 7.0F));
  EXPECT_EQ(values_of(gpu, x), std::vector<float>(1000, 5.0F));
}

TEST_P(Plugin, IsWarmBeforeItsFirstRequest) {
  device gpu = ready();
  EXPECT_GE(gpu.ask(trial::times_warm{}).get(), 1);
}

TEST_P(Plugin, ServesThreadsOfTheProgramToo) {
  device_config in_threads = config();
  in_threads.isolation = isolation::thread;
  device gpu = ready(in_threads);
  EXPECT_FALSE(gpu.worker_pid().has_value());
  const std::vector<float> values = numbers(100);
  auto x = vector_of(gpu, values);
  auto y = gpu.tensor<float>({100}).value();
  ASSERT_TRUE(ended(gpu.ask(trial::affine{.x = x, .y = y, .a = 4})));
  expect_affine(values, values_of(gpu, y), 4, 0);
  EXPECT_GE(gpu.ask(trial::times_warm{}).get(), 1);
}

TEST_P(Plugin, IsALibraryThatDevicesEnableByName) {
  device_config some = config();
  some.libraries = {"memory"};
  device without = ready(some);
  auto x = without.tensor<float>({1}, initial::zero).value();
  const auto refused = ended(without.ask(trial::total{.x = x}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::library_missing);
  EXPECT_TRUE(contains(refused.error().message, "trial")) << refused.error().message;
  some.libraries = {"memory", "trial"};
  some.gpu = gpu_choice::number(0);  // there may be no other one
  device with = system_.device(1, some);
  auto there = with.tensor<float>({1}, initial::zero).value();
  EXPECT_TRUE(ended(with.ask(trial::total{.x = there})));
}

TEST_P(Plugin, ThatIsNotNamedIsUnknown) {
  device_config none = config();
  none.plugins = {};
  device gpu = ready(none);
  auto x = gpu.tensor<float>({1}, initial::zero).value();
  const auto refused = ended(gpu.ask(trial::total{.x = x}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::unsupported) << refused.error().to_string();
  EXPECT_TRUE(contains(refused.error().message,
                       "any of the 0 plugins in device_config::plugins provides it"))
      << refused.error().message;
}

TEST_P(Plugin, WithoutAPartForTheBackendKeepsTheDeviceFromStarting) {
  if (!on_gpu()) GTEST_SKIP() << "the part for the CPU is the plugin itself";
  device_config cpu_only = config();
  cpu_only.plugins = {plugin("twin")};
  device gpu = system_.device(0, cpu_only);
  const auto started = gpu.wait_until_ready();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, errc::library_missing) << started.error().to_string();
  EXPECT_TRUE(contains(started.error().message, "libtwin-cuda.so: there is no such file"))
      << started.error().message;
}

// The part for CUDA can be tested on any machine: it is loaded without a driver.
std::vector<std::string> names_in(const std::string& path) {
  void* const file = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(file, nullptr) << ::dlerror();
  if (file == nullptr) return {};
  EXPECT_NE(::dlsym(file, "troupe_backend_stamp"), nullptr);
  auto* const add =
      reinterpret_cast<void (*)(operation_table&)>(::dlsym(file, "troupe_backend_operations"));
  operation_table table;
  add(table);
  std::vector<std::string> names;
  for (const operation& one : table.all())
    names.emplace_back(one.type->name);
  std::ranges::sort(names);
  return names;
}

TEST(PluginParts, BringTheSameOperationsForEachBackend) {
  const std::string cuda = plugin("trial-cuda");
  if (!std::filesystem::exists(cuda)) GTEST_SKIP() << "built without a CUDA compiler";
  EXPECT_EQ(names_in(cuda), names_in(plugin("trial")));
  EXPECT_EQ(names_in(cuda), (std::vector<std::string>{"trial.affine", "trial.misdeed",
                                                      "trial.times_warm", "trial.total"}));
}

}  // namespace
}  // namespace troupe::plugin_test
