#include "conformance/scene.hpp"

#include <troupe/blaslt/matmul.hpp>

#include <cmath>

namespace troupe::conformance {
namespace {

// x · x + x, where rows and matrices are so far apart that only the first of them is aligned: a
// kernel that is chosen by addresses alone reads or writes vectors across the others.
TEST(BlasltMatmul, TakesRowsAndProductsThatAreLessAlignedThanTheFirst) {
  constexpr std::int64_t n = 2;
  for (const dtype type : {dtype::f16, dtype::bf16, dtype::f32, dtype::f64}) {
    for (const auto& [row, product] :
         {std::pair<std::int64_t, std::int64_t>{4, 12}, {5, 40}, {8, 17}, {3, 7}, {16, 33}}) {
      for (const auto& [result_row, result_product] :
           {std::pair<std::int64_t, std::int64_t>{5, 40}, {8, 17}, {2, 6}}) {
        scene s;
        s.keep_layouts();
        s.name(std::string(to_string(type)) + " x " + std::to_string(product) + " " +
               std::to_string(row) + " d " + std::to_string(result_product) + " " +
               std::to_string(result_row));
        auto& x = s.tensor(type, {2, n, n}, {product, row, 1});
        auto& d = s.tensor(type, {2, n, n}, {result_product, result_row, 1});
        if (!s.run_if_offered(
                blaslt::matmul{.a = x.view, .b = x.view, .c = x.view, .d = d.view, .beta = 1}))
          continue;
        for (std::int64_t batch = 0; batch < 2; ++batch) {
          const matrix before = x.before(batch);
          const matrix now = s.now(d, batch);
          for (std::int64_t i = 0; i < n; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              number sum = before(i, j);
              double bound = std::abs(sum);
              for (std::int64_t k = 0; k < n; ++k) {
                sum += before(i, k) * before(k, j);
                bound += std::abs(before(i, k) * before(k, j));
              }
              s.expect_near(type, now(i, j), sum, bound, n,
                            type == dtype::f64 ? dtype::f64 : dtype::f32,
                            "row " + std::to_string(i) + " column " + std::to_string(j));
            }
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
