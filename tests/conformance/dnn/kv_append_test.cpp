#include "conformance/scene.hpp"

#include <troupe/dnn/kv_append.hpp>

namespace troupe::conformance {
namespace {

constexpr dtype kv_types[] = {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::e4m3};

TEST(DnnKvAppend, CopiesEachPieceToItsRowsAndNothingElse) {
  for (const dtype type : kv_types) {
    for (const std::int64_t pieces : {0, 1, 3, 130}) {
      for (const std::int64_t n : {0, 1, 5}) {
        if (pieces == 130 && (n != 1 || type != dtype::f16)) continue;
        for (const bool turned : {false, true}) {
          scene s;
          s.name(std::string(to_string(type)) + " pieces " + std::to_string(pieces) + " n " +
                 std::to_string(n));
          // [pieces, h, n, d] and [pieces, n, h, d] in memory.
          auto& k = turned ? s.tensor(type, {pieces, n, 2, 8}, {n * 16, 8, n * 8, 1})
                           : s.tensor(type, {pieces, n, 2, 8}, {n * 16, 16, 8, 1});
          auto& v = s.tensor(type, {pieces, n, 1, 3}, {n * 4 + 1, 4, 3, 1});
          dnn::kv_append r{.k = k.view, .v = v.view};
          std::vector<test_tensor*> rows_k;
          std::vector<test_tensor*> rows_v;
          for (std::int64_t i = 0; i < pieces; ++i) {
            rows_k.push_back(&s.tensor(type, {n, 2, 8}, {16, 8, 1}));
            rows_v.push_back(&s.tensor(type, {n, 1, 3}, {3, 3, 1}));
            r.rows_k.push_back(rows_k.back()->view);
            r.rows_v.push_back(rows_v.back()->view);
          }
          s.run(r);
          for (std::size_t i = 0; i < rows_k.size(); ++i) {
            const auto part = [&](const test_tensor& t, std::int64_t width) {
              const auto first = t.values.begin() + static_cast<std::ptrdiff_t>(i) * n * width;
              return std::vector<number>(first, first + n * width);
            };
            EXPECT_EQ(s.elements_now(*rows_k[i]), part(k, 16)) << s.note();
            EXPECT_EQ(s.elements_now(*rows_v[i]), part(v, 3)) << s.note();
          }
        }
      }
    }
  }
}

TEST(DnnKvAppend, RefusesWhatDoesNotGoTogether) {
  scene s;
  auto& k = s.tensor(dtype::f16, {2, 3, 1, 8}, {24, 8, 8, 1});
  auto& a = s.tensor(dtype::f16, {3, 1, 8}, {8, 8, 1});
  auto& b = s.tensor(dtype::f16, {3, 1, 8}, {8, 8, 1});
  auto& c = s.tensor(dtype::f16, {3, 1, 8}, {8, 8, 1});
  auto& d = s.tensor(dtype::f32, {3, 1, 8}, {8, 8, 1});
  using dnn::kv_append;
  s.refuse(kv_append{.k = k.view, .v = k.view, .rows_k = {a.view}, .rows_v = {b.view, c.view}},
           errc::shape_mismatch,
           "rows_k must have one view for each of the 2 pieces of k; it has 1");
  s.refuse(
      kv_append{.k = k.view, .v = k.view, .rows_k = {a.view, b.view}, .rows_v = {c.view, d.view}},
      errc::type_mismatch, "rows_v[1] must have the type of v, f16; it is f32");
  s.refuse(
      kv_append{.k = k.view, .v = k.view, .rows_k = {a.view, b.view}, .rows_v = {c.view, a.view}},
      errc::aliasing);
  s.refuse(
      kv_append{.k = k.view, .v = k.view, .rows_k = {a.view, a.view}, .rows_v = {b.view, c.view}},
      errc::aliasing);
}

}  // namespace
}  // namespace troupe::conformance
