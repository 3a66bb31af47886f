#include "coverage.hpp"

#include "scene.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::conformance {
namespace {

using enum dtype;

struct row {
  std::string_view operations;  // separated by spaces, without the library
  std::vector<dtype> types;
};

/// What each operation must be tested with: the type of its first operand.
const std::map<std::string_view, std::vector<row>> rows = {
    {"blas",
     {
         {"gemm gemm_strided_batched gemm_batched gemm_grouped",
          {f32, f64, c64, c128, f16, bf16, i8}},
         {"gemv_batched trsm_batched", {f32, f64, c64, c128}},
         {"getrf_batched getrs_batched getri_batched geqrf_batched", {f32, f64, c64, c128}},
         {"axpy scal nrm2", {f32, f64, c64, c128, f16, bf16}},
         {"dot", {f32, f64, f16, bf16}},
         {"rotm rotmg ger", {f32, f64}},
         {"copy swap rot rotg asum iamax iamin", {f32, f64, c64, c128}},
         {"gemv trmv trsv symv syr syr2", {f32, f64, c64, c128}},
         {"gbmv sbmv tbmv tbsv spmv tpmv tpsv", {f32, f64, c64, c128}},
         {"geam dgmm symm syrk syr2k trmm trsm", {f32, f64, c64, c128}},
         {"dotc dotu geru gerc hemv her her2 hbmv hpmv hemm herk her2k", {c64, c128}},
     }},
    {"fft",
     {
         {"c2c c2r", {c64, c128, f16, bf16}},
         {"r2c", {f32, f64, f16, bf16}},
     }},
    {"memory",
     {
         {"copy fill set_bytes convert",
          {f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8, u8, i16, u16, i32, u32, i64, u64,
           boolean}},
     }},
    {"rng",
     {
         {"bits", {u32, u64}},
         {"uniform normal log_normal exponential cauchy gamma beta", {f32, f64}},
         {"integers", {i8, u8, i16, u16, i32, u32, i64, u64}},
         {"bernoulli", {boolean, u8, i32, f32, f64}},
         {"poisson", {i32, u32, i64}},
         {"discrete permutation", {i32, i64}},
     }},
};

// Their operands have nothing to lay out.
constexpr std::string_view of_scalars = "blas.rotg blas.rotmg";

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
    if (GTEST_FLAG_GET(filter) == "*") check();
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
      for (const row& r : rows.at(library)) {
        if (!names(r.operations, name.substr(library.size() + 1))) continue;
        listed = true;
        for (const dtype type : r.types) {
          EXPECT_TRUE(covered[name].contains(type))
              << name << " was not tested with " << troupe::to_string(type);
        }
      }
      EXPECT_TRUE(listed) << name << " has no row in coverage.cpp";
      EXPECT_TRUE(laid_out[true].contains(name)) << name << " was not tested with packed operands";
      EXPECT_TRUE(laid_out[false].contains(name) || names(of_scalars, name))
          << name << " was only tested with packed operands";
    }
  }
};

[[maybe_unused]] testing::Environment* const registered =
    testing::AddGlobalTestEnvironment(new coverage);

}  // namespace

void cover(std::string_view operation, dtype type) {
  auto place = covered.find(operation);
  if (place == covered.end()) place = covered.try_emplace(std::string(operation)).first;
  ++place->second[type];
}

void cover_layout(std::string_view operation, bool packed) { laid_out[packed].emplace(operation); }

}  // namespace troupe::conformance
