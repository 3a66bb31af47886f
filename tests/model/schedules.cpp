#include "schedules.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>

namespace troupe::model {
namespace {

std::optional<std::uint64_t> setting(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  return std::stoull(text);
}

}  // namespace

void run_schedules(std::int64_t usual_count,
                   const std::function<std::string(std::uint64_t seed, bool print)>& run) {
  if (const auto only = setting("TROUPE_SEED")) {
    const std::string wrong = run(*only, true);
    EXPECT_TRUE(wrong.empty()) << "seed " << *only << '\n' << wrong;
    return;
  }
  const std::uint64_t first = setting("TROUPE_FIRST_SEED").value_or(1);
  const std::uint64_t count =
      setting("TROUPE_SCHEDULES").value_or(static_cast<std::uint64_t>(usual_count));
  const auto began = std::chrono::steady_clock::now();
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string wrong = run(seed, false);
    ASSERT_TRUE(wrong.empty()) << "seed " << seed << '\n'
                               << wrong << "again, with its trace:\n  TROUPE_SEED=" << seed
                               << " <this program> --gtest_filter=" << test->test_suite_name()
                               << '.' << test->name();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::cout << count << " schedules in " << took.count() << " s\n";
}

}  // namespace troupe::model
