// Requests of operations that are written in Python, made from what their functions declare.
#include "operations/python_operation.hpp"

#include "arguments/given.hpp"
#include "binding.hpp"
#include "dtypes.hpp"

#include <troupe/request/catalogue.hpp>
#include <troupe/request/request_builder.hpp>

#include <algorithm>
#include <complex>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace troupe::python {
namespace {

struct registry {
  std::map<std::string, std::unique_ptr<python_operation>, std::less<>> by_name;
  std::map<const request_type*, python_operation*> by_type;
  std::set<std::string, std::less<>> libraries;
};
// With the GIL.
registry& all_operations() {
  static registry& all = *new registry;
  return all;
}

std::string text_at(nb::handle field, const char* name) {
  return given<std::string>(name, "a str", field[name]);
}

extent extent_from(request_builder& to, nb::handle one, std::map<std::string, extent>& symbols) {
  if (PyLong_Check(one.ptr())) return {nb::cast<std::int64_t>(one)};
  const std::string name = text_at(one, "symbol");
  auto known = symbols.find(name);
  if (known == symbols.end()) {
    const extent made = name == "..." ? to.sizes(name, 0) : to.size(name);
    known = symbols.emplace(name, made).first;
  }
  if (name == "...") return known->second;
  const auto number = [&](const char* key) { return nb::cast<std::int64_t>(one[key]); };
  extent scaled = known->second;
  if (number("times") != 1) scaled = number("times") * scaled;
  if (number("over") != 1) scaled = scaled / number("over");
  if (number("plus") != 0) scaled = scaled + number("plus");
  return scaled;
}

access role_from(const std::string& name) {
  if (name == "read") return access::read;
  return name == "write" ? access::write : access::update;
}

std::string bound_name(const std::string& list) { return list + ".bound"; }

void add_tensors(request_builder& to, nb::handle f, std::map<std::string, extent>& symbols) {
  const std::string name = text_at(f, "name");
  const access role = role_from(text_at(f, "role"));
  std::vector<extent> shape;
  if (!f["shape"].is_none()) {
    for (const nb::handle one : f["shape"])
      shape.push_back(extent_from(to, one, symbols));
  }
  const std::string text = text_at(f, "text");
  if (text_at(f, "kind") == "tensor") {
    to.tensor(name, role, request_builder::extents(shape), text);
    return;
  }
  to.tensors(name, role, request_builder::extents(shape), text);
  const std::vector<extent> any{to.size(bound_name(name))};
  to.tensor(bound_name(name), access::read, request_builder::extents(any),
            "of a set that was bound, what it consists of")
      .optional();
}

request_builder::default_value default_from(const std::string& kind, const std::string& name,
                                            nb::handle value) {
  const std::string what = "the default of " + name;
  if (kind == "bool") return given<bool>(what, "True or False", value);
  if (kind == "integer") return given<std::int64_t>(what, "an integer of 64 bits", value);
  if (kind == "real") return given<double>(what, "a number", value);
  if (kind == "text") return given<std::string>(what, "a str", value);
  if (kind == "integers") return integers_given(what, value);
  if (kind == "scalars") {
    std::vector<scalar> all;
    for (const nb::handle one : value)
      all.emplace_back(given<double>(what, "a list of numbers", one));
    return all;
  }
  const auto part = [&](std::size_t i) { return nb::cast<double>(value[i]); };
  if (part(1) == 0) return scalar(part(0));
  return scalar(std::complex<double>(part(0), part(1)));
}

void add_field(request_builder& to, nb::handle f, std::map<std::string, extent>& symbols) {
  const std::string kind = text_at(f, "kind");
  const std::string name = text_at(f, "name");
  if (kind == "tensor" || kind == "tensors") {
    add_tensors(to, f, symbols);
  } else if (kind == "enumeration") {
    to.enumeration(
        name, given<std::vector<std::string>>(name, "text that UTF-8 can encode", f["enumerators"]),
        text_at(f, "text"));
  } else {
    to.value(name, default_from(kind, name, f["default"]), text_at(f, "text"));
  }
}

// Tensors of one type each, and those that have another's.
void add_types(request_builder& to, nb::handle fields) {
  for (const nb::handle f : fields) {
    const std::string kind = text_at(f, "kind");
    if ((kind != "tensor" && kind != "tensors") || !f["like"].is_none()) continue;
    std::vector<std::string> group{text_at(f, "name")};
    for (const nb::handle other : fields) {
      if (other.attr("get")("like").equal(f["name"])) group.push_back(text_at(other, "name"));
    }
    if (group.size() == 1 && f["dtypes"].is_none()) continue;
    type_rows rows({});
    if (f["dtypes"].is_none()) {
      for (int type = 0; type < dtype_count; ++type)
        rows.rows.emplace_back(group.size(), static_cast<dtype>(type));
    } else {
      for (const nb::handle one : f["dtypes"])
        rows.rows.emplace_back(group.size(), dtype_from(one));
    }
    to.types(std::span<const std::string>(group), rows);
  }
}

const request_type& type_from(nb::handle spec) {
  request_builder made(text_at(spec, "name"));
  made.about(text_at(spec, "about"), "a function of Python");
  std::map<std::string, extent> symbols;
  const nb::object fields = spec["fields"];
  for (const nb::handle f : fields)
    add_field(made, f, symbols);
  add_types(made, fields);
  if (nb::cast<bool>(spec["replies"])) {
    made.reply_value("pickled", std::string(), "what the function has returned");
  }
  return *value_of(made.make());
}

PyObject* kept(nb::handle o) { return o.is_none() ? nullptr : nb::borrow(o).release().ptr(); }

// Replaces the function if the same request is defined again.
void define(nb::handle spec, nb::handle function, nb::handle convert, nb::handle on_stream) {
  registry& all = all_operations();
  const request_type& type = type_from(spec);
  auto made = std::make_unique<python_operation>();
  made->type = &type;
  const std::vector<field_view> views = fields_of(type);
  const auto view_of = [&](const std::string& name) -> const field_view& {
    return *std::ranges::find(views, name, &field_view::name);
  };
  nb::list names;
  for (const nb::handle f : spec["fields"]) {
    const std::string name = text_at(f, "name");
    python_operation::argument one{.field = view_of(name)};
    one.writes = one.field.may_write;
    one.overwrites = one.writes && text_at(f, "role") == "write";
    if (one.field.kind == field_kind::tensors) one.bound = view_of(bound_name(name)).offset;
    one.required = nb::cast<bool>(f.attr("get")("required", false));
    made->has_required = made->has_required || one.required;
    made->arguments.push_back(one);
    PyObject* interned = PyUnicode_InternFromString(name.c_str());
    names.append(nb::steal(interned));
  }
  made->names = nb::tuple(names).release().ptr();
  made->function = kept(function);
  made->convert = kept(convert);
  made->on_stream = kept(on_stream);
  all.libraries.emplace(type.library());
  auto& place = all.by_name[std::string(type.name)];
  // A request in flight may use the one before: that is left alone.
  if (place) [[maybe_unused]]
    const auto* const before = place.release();
  place = std::move(made);
  all.by_type[&type] = place.get();
}

}  // namespace

const python_operation* python_operation_of(const request_type& type) noexcept {
  const auto& known = all_operations().by_type;
  const auto found = known.find(&type);
  return found == known.end() ? nullptr : found->second;
}

bool is_python_library(std::string_view name) { return all_operations().libraries.contains(name); }

void add_python_operations(operation_table& table) {
  const nb::gil_scoped_acquire gil;
  for (const auto& [name, one] : all_operations().by_name) {
    if (one->function == nullptr) continue;
    table.insert({.type = one->type,
                  .run = &run_python,
                  .executor = one.get(),
                  .effort = effort::blocks_host,
                  .take_turn = &take_python_turn,
                  .end_turn = &end_python_turn});
  }
}

std::optional<nb::object> value_in(const any_reply& reply) {
  const auto fields = fields_of(*reply.type().described_reply);
  const auto& pickled = fields.front().in<std::string>(reply.data());
  if (pickled.empty()) return std::nullopt;
  return nb::module_::import_("pickle").attr("loads")(nb::bytes(pickled.data(), pickled.size()));
}

void add_python_operation(nb::module_& m) {
  m.def("_define_operation", &define, nb::arg("spec"), nb::arg("function").none(),
        nb::arg("convert").none(), nb::arg("on_stream").none());
  m.def("_own_libraries", [] {
    std::vector<std::string> names;
    for (const std::string_view one : libraries()) {
      if (!is_python_library(one)) names.emplace_back(one);
    }
    return names;
  });
}

}  // namespace troupe::python
