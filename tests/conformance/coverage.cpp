#include "coverage.hpp"

#include "scene.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

struct expectation {
  std::vector<covered_operations> rows;
  std::string_view of_scalars;
};

/// By library. In a function: the static objects that fill it are made in any order.
std::map<std::string_view, expectation>& expectations() {
  static std::map<std::string_view, expectation> by_library;
  return by_library;
}

std::map<std::string, std::map<dtype, long>, std::less<>> covered;
std::map<bool, std::set<std::string, std::less<>>> laid_out;  // operations, by `packed`

class coverage final : public testing::Environment {
 public:
  void TearDown() override {
    long cases = 0;
    for (const auto& [operation, types] : covered) {
      std::string line;
      for (const auto& [type, count] : types) {
        line += " " + std::string(troupe::to_string(type)) + ":" + std::to_string(count);
        cases += count;
      }
      std::printf("  %-28s%s\n", operation.c_str(), line.c_str());
    }
    std::printf("%zu operations, %ld cases\n", covered.size(), cases);
    const char* const parts = std::getenv("GTEST_TOTAL_SHARDS");  // NOLINT(concurrency-mt-unsafe)
    if (GTEST_FLAG_GET(filter) == "*" && parts == nullptr) check();
  }

 private:
  static bool names(std::string_view list, std::string_view one) {
    for (std::size_t at = 0; (at = list.find(one, at)) != std::string_view::npos; ++at) {
      const std::size_t end = at + one.size();
      if ((at == 0 || list[at - 1] == ' ') && (end == list.size() || list[end] == ' ')) return true;
    }
    return false;
  }

  static void check() {
    std::set<std::string> libraries;
    for (const auto& [operation, types] : covered)
      libraries.insert(operation.substr(0, operation.find('.')));
    for (const operation& o : all_operations()) {
      const std::string name(o.type->name);
      const std::string library(o.type->library());
      if (!libraries.contains(library)) continue;
      bool listed = false;
      const expectation& wanted = expectations()[library];
      for (const covered_operations& r : wanted.rows) {
        if (!names(r.names, name.substr(library.size() + 1))) continue;
        listed = true;
        for (const dtype type : r.types) {
          EXPECT_TRUE(covered[name].contains(type))
              << name << " was not tested with " << troupe::to_string(type);
        }
      }
      EXPECT_TRUE(listed) << name << " has no row in what its library must cover";
      EXPECT_TRUE(laid_out[true].contains(name)) << name << " was not tested with packed operands";
      EXPECT_TRUE(laid_out[false].contains(name) ||
                  names(wanted.of_scalars, name.substr(library.size() + 1)))
          << name << " was only tested with packed operands";
    }
  }
};

[[maybe_unused]] testing::Environment* const registered =
    testing::AddGlobalTestEnvironment(new coverage);

}  // namespace

must_cover::must_cover(std::string_view library, std::vector<covered_operations> rows,
                       std::string_view of_scalars) {
  expectations()[library] = {std::move(rows), of_scalars};
}

void cover(std::string_view operation, dtype type) {
  auto place = covered.find(operation);
  if (place == covered.end()) place = covered.try_emplace(std::string(operation)).first;
  ++place->second[type];
}

void cover_layout(std::string_view operation, bool packed) { laid_out[packed].emplace(operation); }

}  // namespace troupe::conformance
