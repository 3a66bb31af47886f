#include "libraries/elementwise/requests/rules.hpp"

#include <troupe/elementwise/indexing.hpp>

namespace troupe::elementwise {
namespace {

using enum dtype;

// For each element type, both types of indices, as {elements, indices, elements}.
type_rows rows_of(std::initializer_list<dtype> elements) {
  type_rows types({});
  for (const dtype type : elements) {
    types.rows.push_back({type, i32, type});
    types.rows.push_back({type, i64, type});
  }
  return types;
}

constexpr int most_batch = max_rank - 1;

}  // namespace

void gather_rows::describe(description<gather_rows>& d) {
  using R = gather_rows;
  const extent batch = d.sizes("batch", 0, most_batch);
  const extent n = d.size("n");
  const extent w = d.size("w");
  d.about("Copies rows of a table by their numbers: y[k, j] = table[indices[k], j].");
  d.reads("table", &R::table, {n, w}, "rows");
  d.reads("indices", &R::indices, {batch}, "numbers of rows");
  d.writes("y", &R::y, {batch, w}, "result");
  d.types({&R::table, &R::indices, &R::y}, rows_of({f64, f32, f16, bf16, e4m3, e5m2, c64, c128, i8,
                                                    u8, i16, u16, i32, u32, i64, u64, boolean}));
  d.keeps_on_failure();
}

void gather_rows_backward::describe(description<gather_rows_backward>& d) {
  using R = gather_rows_backward;
  const extent batch = d.sizes("batch", 0, most_batch);
  const extent n = d.size("n");
  const extent w = d.size("w");
  d.about("The gradient of gather_rows by table: adds rows by their numbers.");
  d.reads("dy", &R::dy, {batch, w}, "gradient of y");
  d.reads("indices", &R::indices, {batch}, "numbers of rows");
  d.writes("dtable", &R::dtable, {n, w}, "gradient of table");
  d.types({&R::dy, &R::indices, &R::dtable}, rows_of(norm_types));
  d.keeps_on_failure();
}

void scatter_rows::describe(description<scatter_rows>& d) {
  using R = scatter_rows;
  const extent batch = d.sizes("batch", 0, most_batch);
  const extent n = d.size("n");
  const extent w = d.size("w");
  d.about("Writes rows of a table by their numbers, or adds to them.");
  d.reads("x", &R::x, {batch, w}, "rows");
  d.reads("indices", &R::indices, {batch}, "their numbers in table");
  d.updates("table", &R::table, {n, w}, "table that is updated");
  d.types({&R::x, &R::indices, &R::table}, rows_of(norm_types));
  d.value("mode", &R::mode, "what becomes of the old content");
  d.keeps_on_failure();
}

void cumulate::describe(description<cumulate>& d) {
  const extent all = d.sizes("shape", 1);
  d.about("Running sums or products along an axis: y[i] = x[0] + … + x[i].");
  d.reads("x", &cumulate::x, {all}, "numbers");
  d.writes("y", &cumulate::y, {all}, "result").may_be(&cumulate::x);
  d.same_type({&cumulate::x, &cumulate::y}, {f64, f32, f16, bf16, i32, i64});
  d.value("axis", &cumulate::axis, "the axis to go along; a negative one counts from the last");
  d.value("how", &cumulate::how, "sum or product");
  d.value("exclusive", &cumulate::exclusive, "each result is without its own element");
  d.value("reverse", &cumulate::reverse, "from the last element to the first");
  d.rule("the axis exists",
         [](argument_checks& check, const cumulate& r) { check_axis(check, r.axis, r.x.rank()); });
}

}  // namespace troupe::elementwise
