#include "reply.hpp"

#include <troupe/request/fields.hpp>

#include <complex>
#include <string>

namespace troupe::python {
namespace {

nb::object list_of(const auto& all) {
  nb::list made;
  for (const auto& one : all) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, scalar>)
      made.append(object_of_scalar(one));
    else
      made.append(one);
  }
  return made;
}

}  // namespace

nb::object object_of_value(const field_view& f, const void* value) {
  switch (f.kind) {
    case field_kind::scalar:
      return object_of_scalar(f.in<scalar>(value));
    case field_kind::integer:
      return nb::int_(f.in<std::int64_t>(value));
    case field_kind::unsigned_integer:
      return nb::int_(f.in<std::uint64_t>(value));
    case field_kind::real:
      return nb::float_(f.in<double>(value));
    case field_kind::boolean:
      return nb::bool_(f.in<bool>(value));
    case field_kind::text: {
      const auto& text = f.in<std::string>(value);
      return nb::str(text.data(), text.size());
    }
    case field_kind::integers:
      return list_of(f.in<std::vector<std::int64_t>>(value));
    case field_kind::scalars:
      return list_of(f.in<std::vector<scalar>>(value));
    case field_kind::enumeration: {
      std::size_t number = 0;
      std::memcpy(&number, static_cast<const std::byte*>(value) + f.offset, f.enumeration_bytes);
      return nb::str(f.enumerators[number].data(), f.enumerators[number].size());
    }
    case field_kind::tensor:
    case field_kind::tensors:
    case field_kind::groups:
      break;  // no reply has these
  }
  return nb::none();
}

nb::object object_of_scalar(const scalar& value) {
  switch (value.what()) {
    case scalar::kind::integer:
      return nb::int_(value.as<std::int64_t>());
    case scalar::kind::unsigned_integer:
      return nb::int_(value.as<std::uint64_t>());
    case scalar::kind::real:
      return nb::float_(value.as<double>());
    case scalar::kind::complex: {
      const auto c = value.as<std::complex<double>>();
      return nb::steal(PyComplex_FromDoubles(c.real(), c.imag()));
    }
  }
  return nb::none();
}

nb::object object_of_reply(const any_reply& reply) {
  const request_type& type = reply.type();
  if (type.described_reply != nullptr) {
    nb::object made = nb::module_::import_("types").attr("SimpleNamespace")();
    for (const field_view& f : fields_of(*type.described_reply))
      nb::setattr(made, nb::str(f.name.data(), f.name.size()), object_of_value(f, reply.data()));
    return made;
  }
  if (type.reply_name == "scalar") return object_of_scalar(reply.as<scalar>());
  if (type.reply_name == "integer" && type.reply_bytes == sizeof(std::int64_t)) {
    return nb::int_(reply.as<std::int64_t>());
  }
  if (type.reply_name == "real" && type.reply_bytes == sizeof(double)) {
    return nb::float_(reply.as<double>());
  }
  if (type.reply_name == "bool") return nb::bool_(reply.as<bool>());
  // Plain data of a plugin that does not describe it.
  return nb::bytes(static_cast<const char*>(reply.data()), type.reply_bytes);
}

}  // namespace troupe::python
