#include "libraries/primitives/requests/rules.hpp"

#include <troupe/primitives/selection.hpp>

#include <fmt/format.h>

#include <vector>

namespace troupe::primitives {
namespace {

template <class R>
void describe_count(description<R>& d, std::string_view of) {
  d.writes("count", &R::count, {1}, of).optional();
  d.same_type({&R::count}, {dtype::i64});
  d.keeps_outcomes(errc::capacity_exceeded, d.given(&R::count));
}

template <class R>
void describe_flagged(description<R>& d, const extent& n) {
  d.reads("x", &R::x, {n}, "vector");
  d.reads("flags", &R::flags, {n}, "which elements are selected: those where it is not 0");
  d.same_type({&R::flags}, {dtype::boolean, dtype::u8});
}

}  // namespace

void select::describe(description<select>& d) {
  const extent n = d.size("n"), capacity = d.size("capacity");
  d.about("Keeps the elements of a vector that are flagged.");
  describe_flagged(d, n);
  d.writes("y", &select::y, {capacity}, "takes the selected elements in their order");
  describe_count(d, "takes the number of selected elements");
  d.layouts(layout::vector, {&select::x, &select::flags, &select::y});
  d.same_type({&select::x, &select::y}, every_type);
}

void partition::describe(description<partition>& d) {
  const extent n = d.size("n");
  d.about("Puts the elements of a vector that are flagged before the others.");
  describe_flagged(d, n);
  d.writes("y", &partition::y, {n}, "takes the selected elements, then the others");
  describe_count(d, "takes the number of selected elements");
  d.layouts(layout::vector, {&partition::x, &partition::flags, &partition::y});
  d.same_type({&partition::x, &partition::y}, every_type);
}

void unique::describe(description<unique>& d) {
  const extent n = d.size("n"), capacity = d.size("capacity");
  d.about(
      "Drops each element of a vector that equals the one before it, or with sort each that equals "
      "any other.");
  d.reads("x", &unique::x, {n}, "vector");
  d.writes("y", &unique::y, {capacity}, "takes the first element of each run");
  describe_count(d, "takes the number of runs");
  d.value("sort", &unique::sort, "as if x were sorted first");
  d.writes("counts", &unique::counts, {capacity}, "takes the length of each run").optional();
  d.writes("inverse", &unique::inverse, {n}, "takes which element of y each one of x equals")
      .optional();
  d.layouts(layout::vector, {&unique::x, &unique::y, &unique::counts, &unique::inverse});
  d.same_type({&unique::x, &unique::y}, every_type);
  d.same_type({&unique::counts}, {dtype::i64});
  d.same_type({&unique::inverse}, {dtype::i64});
  d.derived(capacity, [](const unique& r, std::vector<std::int64_t>& extents) {
    if (r.x.rank() == 1) extents.push_back(r.x.extent(0));
  });
  d.rule("what is sorted has an order, and fewer than 2^31 elements have an inverse",
         [](argument_checks& check, const unique& r) {
           if (!r.sort) return;
           check.rule(!is_complex(r.x.type()), errc::type_mismatch, [&] {
             return fmt::format("x is {}, which has no order to sort by", to_string(r.x.type()));
           });
           if (!r.inverse.null()) are_counted(check, "x has", r.x.extent(0));
         });
}

void run_length::describe(description<run_length>& d) {
  const extent n = d.size("n"), capacity = d.size("capacity");
  d.about("Finds the runs of equal elements of a vector, and their lengths.");
  d.reads("x", &run_length::x, {n}, "vector");
  d.writes("values", &run_length::values, {capacity}, "takes the element of each run");
  d.writes("lengths", &run_length::lengths, {capacity}, "takes the length of each run");
  describe_count(d, "takes the number of runs");
  d.layouts(layout::vector, {&run_length::x, &run_length::values, &run_length::lengths});
  d.same_type({&run_length::x, &run_length::values}, every_type);
  d.same_type({&run_length::lengths}, {dtype::i64});
}

}  // namespace troupe::primitives
