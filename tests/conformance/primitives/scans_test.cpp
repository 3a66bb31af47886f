#include "combining.hpp"

#include <troupe/primitives/scans.hpp>

namespace troupe::conformance {
namespace {

using primitives::combination;

void expect_scan(scene& s, const primitives::scan& r, const test_tensor& x, const test_tensor& y) {
  const dtype type = x.view.type();
  const auto before = bits_before(x);
  s.run(r);
  const auto now = bits_now(s, y);
  combined all = none(type, r.op);
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!r.exclusive) extend(all, type, before[i], r.op);
    expect_element(y.view.type(), now[i], type, all,
                   " at " + std::to_string(i) + (r.exclusive ? ", exclusive" : "") + s.note());
    if (r.exclusive) extend(all, type, before[i], r.op);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(PrimitivesScan, CombinesEverythingUpToEachElement) {
  for (const dtype type : ordered_types) {
    for (const combination op : combinations) {
      for (const dtype to : types_of_result(type, op)) {
        for (const std::int64_t n : lengths) {
          for (const content with : {content::any, content::special}) {
            if (n > 5000 && with == content::special) continue;
            for (const bool exclusive : {false, true}) {
              scene s;
              s.name(case_name(type, n, with) + " " + name_of(op));
              auto& x = s.vector(type, n, n % 2 == 0 ? 3 : 1);
              auto& y = s.vector(to, n, n % 3 == 0 ? 2 : 1);
              fill_to_combine(s, x, with, op);
              const bool deterministic = (n + (exclusive ? 1 : 0)) % 2 == 0;
              expect_scan(s,
                          {.x = x.view,
                           .y = y.view,
                           .op = op,
                           .exclusive = exclusive,
                           .deterministic = deterministic},
                          x, y);
            }
          }
        }
      }
    }
  }
}

TEST(PrimitivesScan, WorksInPlace) {
  for (const dtype type : ordered_types) {
    if (type == dtype::boolean) continue;
    for (const bool exclusive : {false, true}) {
      for (const bool deterministic : {false, true}) {
        for (const std::int64_t stride : {1, 2}) {
          scene s;
          s.name(case_name(type, 9001, content::any));
          auto& x = s.vector(type, 9001, stride);
          fill_to_combine(s, x, content::any, combination::sum);
          expect_scan(
              s, {.x = x.view, .y = x.view, .exclusive = exclusive, .deterministic = deterministic},
              x, x);
        }
      }
    }
  }
}

TEST(PrimitivesScan, GivesTheSameBitsEachTimeWhereThatIsAsked) {
  for (const dtype type : {dtype::f32, dtype::f64, dtype::f16}) {
    for (const combination op : {combination::sum, combination::product}) {
      scene s;
      auto& x = s.vector(type, long_length);
      auto& y = s.vector(type, long_length);
      fill_to_combine(s, x, content::any, op);
      const primitives::scan request{.x = x.view, .y = y.view, .op = op, .deterministic = true};
      s.run(request);
      const auto first = bits_now(s, y);
      for (int round = 0; round < 5; ++round) {
        s.run(request);
        EXPECT_EQ(bits_now(s, y), first);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::conformance
