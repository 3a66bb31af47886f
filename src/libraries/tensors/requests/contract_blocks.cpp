#include "libraries/tensors/requests/blocks.hpp"

#include <troupe/request/argument_checks.hpp>

namespace troupe::tensors {
namespace {

void derive_elements(const contract_blocks& r, std::vector<std::int64_t>& extents) {
  if (const auto found = block_contraction::of(r)) extents = {found->d.elements};
}

void check_blocks(argument_checks& check, const contract_blocks& r) {
  check.rule(!r.c.null() || r.beta.is_zero(), errc::invalid_argument,
             [] { return "beta is not zero, and c is not given"; });
  if (!check.good()) return;
  const auto found = block_contraction::of(r);
  if (!found) {
    check.rule(false, found.error().code, [&] { return found.error().message; });
    return;
  }
  check.extents({"a", r.a}, {found->a.elements}, "the blocks of a_blocks");
  check.extents({"b", r.b}, {found->b.elements}, "the blocks of b_blocks");
  check.extents({"d", r.d}, {found->d.elements}, "the blocks of d_blocks");
}

}  // namespace

void contract_blocks::describe(description<contract_blocks>& d) {
  using self = contract_blocks;
  const extent of_a = d.size("of_a"), of_b = d.size("of_b"), of_d = d.size("of_d");
  d.about(
      "Contracts two block-sparse tensors with named dimensions: d = alpha · Σ a · b + beta · c.",
      "cuTENSOR documentation, cutensorCreateBlockSparseContraction");
  d.value("modes", &self::modes, "names of dimensions, \"ik,kj->ij\"");
  d.value("section_counts", &self::section_counts,
          "sections of each mode, as modes first names it");
  d.value("sections", &self::sections, "extents of the sections of all modes");
  d.reads("a", &self::a, {of_a}, "elements of the left factor, block by block");
  d.value("a_blocks", &self::a_blocks, "sections of each block of a");
  d.reads("b", &self::b, {of_b}, "elements of the right factor");
  d.value("b_blocks", &self::b_blocks, "sections of each block of b");
  d.reads("c", &self::c, {of_d}, "addend; not read where beta is 0").optional();
  d.updates("d", &self::d, {of_d}, "elements of the result")
      .updated_where(d.same_view(&self::d, &self::c))
      .may_be(&self::c);
  d.value("d_blocks", &self::d_blocks, "sections of each block of c and d");
  d.value("alpha", &self::alpha, "factor of the sums");
  d.value("beta", &self::beta, "factor of c");
  d.value("math", &self::math, "arithmetic of products")
      .only_where(d.is(&self::a, {dtype::f32, dtype::c64}));
  d.same_type({&self::a, &self::b, &self::c, &self::d},
              {dtype::f32, dtype::f64, dtype::c64, dtype::c128});
  d.layouts(layout::packed, {&self::a, &self::b, &self::c, &self::d});
  d.factors({&self::alpha, &self::beta}, &self::d);
  d.derived(of_d, derive_elements);
  d.rule(
      "the modes name the dimensions of a, b and d, each once in a tensor; those of d are in a or "
      "b; sections have at least one index; blocks are within the sections, none is stored twice; "
      "a tensor has the elements of its blocks; c is given where beta is not zero",
      check_blocks);
}

}  // namespace troupe::tensors
