#include "libraries/blaslt/requests/combinations.hpp"
#include "libraries/blaslt/requests/geometry.hpp"
#include "libraries/blaslt/requests/rules.hpp"
#include "libraries/sparse/requests/structured_rules.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe::sparse {
namespace {

constexpr std::initializer_list<dtype> structured_types = {dtype::f16, dtype::bf16, dtype::i8,
                                                           dtype::e4m3};

bool has_structured(blaslt::epilogue e) noexcept {
  return !blaslt::has_aux(e) && !blaslt::sums_operand(e);
}

/// Those of cuBLASLt's combinations whose weights can be 2:4.
std::vector<blaslt::combination> structured_combinations() {
  std::vector<blaslt::combination> all;
  for (const blaslt::combination& one : blaslt::combinations) {
    const bool weights = std::ranges::find(structured_types, one.b) != structured_types.end();
    const bool i8_to_f32 = one.a == dtype::i8 && one.d == dtype::f32;
    if (weights && one.a == one.b && one.c == one.d && !i8_to_f32) all.push_back(one);
  }
  return all;
}

void groups_fit(argument_checks& check, const operand& t, int along) {
  check.rule(t.view.extent(along) % structured_group == 0, errc::shape_mismatch, [&] {
    return fmt::format("k must be a multiple of {}, it is {}: {} is {}", structured_group,
                       t.view.extent(along), t.name, t.view.to_string());
  });
}

void compressed_fits(argument_checks& check, const any_tensor& compressed, std::int64_t n,
                     std::int64_t k, dtype type) {
  if (compressed.null()) return;
  check.extents({"compressed", compressed}, {structured_bytes(n, k, size_of(type))},
                fmt::format("the room for weights [{}, {}] of {}", n, k, to_string(type)));
  blaslt::begins_at_multiple(check, {"compressed", compressed}, structured_alignment);
}

template <class R>
void describe_weights(description<R>& d, const extent& n, const extent& k) {
  d.reads("x", &R::x, {n, k}, "weights; groups of four lie along the last extent");
  d.layouts(layout::matrix, {&R::x});
  d.rule("k is a multiple of 4",
         [](argument_checks& check, const R& r) { groups_fit(check, {"x", r.x}, 1); });
}

template <argument_checks& (*Checks)(argument_checks&, const blaslt::matmul&)>
void check_by(argument_checks& check, const structured_matmul& r) {
  Checks(check, as_dense(r));
}

}  // namespace

void structured_prune::describe(description<structured_prune>& d) {
  using R = structured_prune;
  const extent n = d.size("n"), k = d.size("k");
  d.about("Keeps the two elements of largest magnitude of each four and sets the others to zero.");
  describe_weights(d, n, k);
  d.writes("y", &R::y, {n, k}, "the pruned weights").may_be(&R::x);
  d.layouts(layout::matrix, {&R::y});
  d.same_type({&R::x, &R::y}, structured_types);
}

void structured_check::describe(description<structured_check>& d) {
  using R = structured_check;
  const extent n = d.size("n"), k = d.size("k");
  d.about("Fails if a matrix is not 2:4.");
  describe_weights(d, n, k);
  d.same_type({&R::x}, structured_types);
}

void structured_compress::describe(description<structured_compress>& d) {
  using R = structured_compress;
  const extent n = d.size("n"), k = d.size("k"), bytes = d.size("bytes");
  d.about("Compresses 2:4 weights for products that read them many times.",
          "cuSPARSELt documentation, cusparseLtSpMMACompress2");
  describe_weights(d, n, k);
  d.writes("compressed", &R::compressed, {bytes}, "what products read beside the weights");
  d.derived(bytes, [](const R& r, std::vector<std::int64_t>& extents) {
    if (r.x.rank() != 2) return;
    extents.push_back(structured_bytes(r.x.extent(0), r.x.extent(1), size_of(r.x.type())));
  });
  d.layouts(layout::packed, {&R::compressed});
  d.same_type({&R::x}, structured_types);
  d.same_type({&R::compressed}, {dtype::u8});
  d.rule("compressed has the bytes that weights of these extents need",
         [](argument_checks& check, const R& r) {
           compressed_fits(check, r.compressed, r.x.extent(0), r.x.extent(1), r.x.type());
         });
}

void structured_matmul::describe(description<structured_matmul>& d) {
  using R = structured_matmul;
  using blaslt::combination;
  const extent m = d.size("m"), n = d.size("n"), k = d.size("k"), bytes = d.size("bytes");
  d.about(
      "Multiplies by 2:4 weights and applies an epilogue: d = epilogue(alpha · a · b + beta · c).",
      "cuSPARSELt documentation, cusparseLtMatmul");
  d.reads("a", &R::a, {m, k}, "left factor");
  d.reads("b", &R::b, {k, n}, "the weights' transposed view: groups of four lie along k");
  d.reads("compressed", &R::compressed, {bytes}, "what structured_compress has made of the weights")
      .optional();
  d.value("alpha", &R::alpha, "factor of the product");
  d.value("beta", &R::beta, "factor of c");
  d.value("epilogue", &R::epilogue, "last step of the product before it is stored");
  d.reads("c", &R::c, {m, n}, "addend").given_where(!d.zero(&R::beta));
  d.updates("d", &R::d, {m, n}, "result").updated_where(d.same_view(&R::c, &R::d)).may_be(&R::c);
  d.reads("bias", &R::bias, {n}, "added along d's last extent")
      .given_where(d.is(&R::epilogue, blaslt::has_bias));
  d.value("tuning", &R::tuning, "how the kernel is chosen");
  d.layouts(layout::matrix, {&R::a, &R::b, &R::c, &R::d});
  d.layouts(layout::packed, {&R::compressed});
  d.types({&R::a, &R::b, &R::d, &R::c, &R::bias},
          type_rows::of(structured_combinations(), &combination::a, &combination::b,
                        &combination::d, &combination::c, &combination::bias));
  d.same_type({&R::compressed}, {dtype::u8});
  d.factors({&R::alpha, &R::beta}, &R::d);
  d.rule("k is a multiple of 4",
         [](argument_checks& check, const R& r) { groups_fit(check, {"b", r.b}, 0); });
  d.rule("epilogue is none, bias, relu, gelu, relu_bias or gelu_bias",
         [](argument_checks& check, const R& r) {
           check.rule(has_structured(r.epilogue), errc::unsupported, [&] {
             return fmt::format(
                 "epilogue is {}, but products with 2:4 weights have none, bias, "
                 "relu, gelu, relu_bias and gelu_bias",
                 blaslt::epilogue_name(r.epilogue));
           });
         });
  d.rule("compressed has the bytes that weights of these extents need",
         [](argument_checks& check, const R& r) {
           compressed_fits(check, r.compressed, r.b.extent(1), r.b.extent(0), r.b.type());
         });
  d.rule("c and d have one order", check_by<blaslt::one_order>);
  d.rule("the epilogue is there for these types", check_by<blaslt::types_have_epilogue>);
  d.rule("bias is contiguous, and d in its order", check_by<blaslt::epilogue_vector_fits>);
  d.rule("extents, strides and addresses are as cuBLASLt takes them",
         check_by<blaslt::library_takes>);
}

}  // namespace troupe::sparse
