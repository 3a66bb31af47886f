#include <troupe/dnn/kv_append.hpp>
#include <troupe/request/argument_checks.hpp>

#include <fmt/format.h>

#include <string>

namespace troupe::dnn {
namespace {

void one_view_for_each_piece(argument_checks& check, const kv_append& r) {
  const auto counted = [&](std::string_view name, const std::vector<any_tensor>& rows) {
    check.rule(static_cast<std::int64_t>(rows.size()) == r.k.extent(0), errc::shape_mismatch, [&] {
      return fmt::format("{} must have one view for each of the {} pieces of k; it has {}", name,
                         r.k.extent(0), rows.size());
    });
  };
  counted("rows_k", r.rows_k);
  counted("rows_v", r.rows_v);
}

void types_are_kept(argument_checks& check, const kv_append& r) {
  const auto kept = [&](std::string_view name, const std::vector<any_tensor>& rows, operand from) {
    for (std::size_t i = 0; check.good() && i < rows.size(); ++i) {
      check.rule(rows[i].type() == from.view.type(), errc::type_mismatch, [&] {
        return fmt::format("{}[{}] must have the type of {}, {}; it is {}", name, i, from.name,
                           to_string(from.view.type()), to_string(rows[i].type()));
      });
    }
  };
  kept("rows_k", r.rows_k, {"k", r.k});
  kept("rows_v", r.rows_v, {"v", r.v});
}

}  // namespace

void kv_append::describe(description<kv_append>& d) {
  using R = kv_append;
  const extent pieces = d.size("pieces");
  const extent n = d.size("n");
  const extent h_k = d.size("h_k");
  const extent h_v = d.size("h_v");
  const extent width_k = d.size("d");
  const extent width_v = d.size("d_v");
  d.about("Copies keys and values of new tokens into rows of pages.");
  d.reads("k", &R::k, {pieces, n, h_k, width_k}, "keys");
  d.reads("v", &R::v, {pieces, n, h_v, width_v}, "values");
  d.writes("rows_k", &R::rows_k, {n, h_k, width_k}, "where each piece of k goes");
  d.writes("rows_v", &R::rows_v, {n, h_v, width_v}, "where each piece of v goes");
  d.rule("there is one view for each piece", one_view_for_each_piece);
  d.rule("views have the types of k and v", types_are_kept);
}

}  // namespace troupe::dnn
